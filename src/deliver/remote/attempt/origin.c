// SPDX-License-Identifier: ISC
#include "deliver/remote/attempt/origin.h"
#include "mail/origin.h"
#include <string.h>
#include <strings.h>

bool remote_origin_is_told(const struct config *config, const char *relay)
{
	for (size_t i = 0; i < config->xforward_to_count; i++)
		if (strcasecmp(config->xforward_to[i], relay) == 0)
			return true;
	return false;
}

const struct smtp_client_origin *remote_origin_of(const struct deliver_helper_job *job)
{
	const struct mail_origin from = mail_origin_parse(job->received);
	struct smtp_client_origin *origin = arena_alloc(job->arena, sizeof *origin);
	char *ident = arena_alloc(job->arena, MAIL_ID_SIZE);
	struct buffer port CLEANUP(buffer_clear) = {0};

	mail_id_format(job->id, ident);
	if (from.port > 0)
		buffer_append_number(&port, from.port);
	*origin = (struct smtp_client_origin){
		.ident = str_from(ident),
		.protocol = str_equal(from.protocol, STR("smtp")) ? STR("ESMTP") : STR(""),
		.address = from.address,
		.port = arena_copy_str(job->arena, buffer_view(&port)),
		.name = from.name,
		.helo = from.helo,
		.is_local = from.address.length == 0 || from.user.length > 0,
	};
	return origin;
}
