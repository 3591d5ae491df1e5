// SPDX-License-Identifier: ISC
#include "deliver/remote/attempt/origin.h"
#include <string.h>
#include <strings.h>

bool remote_origin_is_told(const struct config *config, const char *relay)
{
	for (size_t i = 0; i < config->xforward_to_count; i++)
		if (strcasecmp(config->xforward_to[i], relay) == 0)
			return true;
	return false;
}

/* "192.0.2.7:53112" or "[2001:db8::7]:53112"; "local" is no address. */
static void take_address(struct str text, struct smtp_client_origin *origin)
{
	ptrdiff_t colon = str_find_last(text, ':');

	if (colon <= 0)
		return;
	origin->port = str_skip(text, (size_t)colon + 1);
	origin->address = str_slice(text.data, (size_t)colon);
	if (origin->address.length > 2 && origin->address.data[0] == '[')
		origin->address = str_slice(origin->address.data + 1, origin->address.length - 2);
}

static void take_word(struct str word, struct smtp_client_origin *origin)
{
	if (str_starts_with(word, STR("name=")))
		origin->name = str_skip(word, 5);
	else if (str_starts_with(word, STR("helo=")))
		origin->helo = str_skip(word, 5);
	else if (str_starts_with(word, STR("user=")))
		origin->is_local = true;
}

/* "smtp 192.0.2.7:53112 name=mail.example.com helo=mail.example.com" */
const struct smtp_client_origin *remote_origin_of(const struct deliver_helper_job *job)
{
	struct smtp_client_origin *origin = arena_alloc(job->arena, sizeof *origin);
	char *ident = arena_alloc(job->arena, MAIL_ID_SIZE);
	struct str rest = job->received;
	struct str door = STR("");
	struct str word;

	mail_id_format(job->id, ident);
	origin->ident = str_from(ident);
	(void)str_split(&rest, ' ', &door);
	if (str_equal(door, STR("smtp")))
		origin->protocol = STR("ESMTP");
	if (str_split(&rest, ' ', &word))
		take_address(word, origin);
	origin->is_local = origin->address.length == 0;
	while (str_split(&rest, ' ', &word))
		take_word(word, origin);
	return origin;
}
