// SPDX-License-Identifier: ISC
#include "smtp/server/recipient.h"
#include <netinet/in.h>
#include <string.h>

static bool complete_postmaster(const struct smtp_service *service, struct arena *arena,
				const char **postmaster, struct mail_address *address)
{
	const char *hostname = service->hostname;
	char *text;

	if (address->domain.length > 0)
		return true;
	if (!str_equal_nocase(address->local, STR("postmaster")))
		return false;
	if (*postmaster == NULL) {
		text = arena_alloc(arena, sizeof "postmaster@" + strlen(hostname));
		strcat(strcat(text, "postmaster@"), hostname);
		*postmaster = text;
	}
	return mail_address_parse(str_from(*postmaster), 0, address) == 0;
}

static void complete_literal(const struct smtp_service *service, void *context, struct arena *arena,
			     struct mail_address *address)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct mail_address named;
	struct in6_addr ours;

	if (!address->is_literal || service->is_our_address == NULL ||
	    !mail_literal_parse(address->domain, &ours) || !service->is_our_address(context, &ours))
		return;
	buffer_append_str(&text, address->local);
	buffer_append_format(&text, "@%s", service->local_domain);
	if (mail_address_parse(arena_copy_str(arena, buffer_view(&text)), MAIL_ADDRESS_UTF8,
			       &named) == 0)
		*address = named;
}

bool smtp_recipient_complete(const struct smtp_service *service, void *context, struct arena *arena,
			     const char **postmaster, struct mail_address *address)
{
	if (!complete_postmaster(service, arena, postmaster, address))
		return false;
	complete_literal(service, context, arena, address);
	return true;
}
