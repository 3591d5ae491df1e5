// SPDX-License-Identifier: ISC
#include "mail/origin.h"
#include "base/attributes.h"

/* "192.0.2.7:53112" or "[2001:db8::7]:53112"; "local" is no address. */
static void take_origin_address(struct str text, struct mail_origin *origin)
{
	ptrdiff_t colon = str_find_last(text, ':');

	if (colon <= 0 || !str_to_u64(str_skip(text, (size_t)colon + 1), &origin->port))
		return;
	origin->address = str_slice(text.data, (size_t)colon);
	if (origin->address.length > 2 && origin->address.data[0] == '[')
		origin->address = str_slice(origin->address.data + 1, origin->address.length - 2);
}

static void take_origin_word(struct str word, struct mail_origin *origin)
{
	const struct {
		struct str prefix;
		struct str *value;
	} values[] = {{STR("name="), &origin->name},
		      {STR("helo="), &origin->helo},
		      {STR("tls="), &origin->tls},
		      {STR("user="), &origin->user}};

	for (size_t i = 0; i < COUNT_OF(values); i++)
		if (str_starts_with(word, values[i].prefix))
			*values[i].value = str_skip(word, values[i].prefix.length);
	if (str_starts_with(word, STR("uid=")))
		origin->has_uid = str_to_u64(str_skip(word, 4), &origin->uid);
}

struct mail_origin mail_origin_parse(struct str text)
{
	struct mail_origin origin = {.protocol = text};
	struct str word;

	if (!str_split(&text, ' ', &origin.protocol))
		return origin;
	for (bool is_first = true; str_split(&text, ' ', &word); is_first = false) {
		if (is_first)
			take_origin_address(word, &origin);
		take_origin_word(word, &origin);
	}
	return origin;
}
