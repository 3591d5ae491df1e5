// SPDX-License-Identifier: ISC
#include "smtp/server/recipient.h"
#include <netinet/in.h>

static bool complete_postmaster(const struct smtp_service *service, struct buffer *text,
				struct mail_address *address)
{
	if (!str_equal_nocase(address->local, STR("postmaster")))
		return false;
	buffer_reset(text);
	buffer_append_format(text, "postmaster@%s", service->hostname);
	return mail_address_parse(buffer_view(text), 0, address) == 0;
}

static void complete_literal(const struct smtp_service *service, void *context, struct buffer *text,
			     struct mail_address *address)
{
	struct mail_address named;
	struct in6_addr ours;

	if (!address->is_literal || service->is_our_address == NULL ||
	    !mail_literal_parse(address->domain, &ours) || !service->is_our_address(context, &ours))
		return;
	buffer_reset(text);
	buffer_append_str(text, address->local);
	buffer_append_format(text, "@%s", service->local_domain);
	if (mail_address_parse(buffer_view(text), MAIL_ADDRESS_UTF8, &named) == 0)
		*address = named;
}

bool smtp_recipient_complete(const struct smtp_service *service, void *context, struct buffer *text,
			     struct mail_address *address)
{
	if (address->domain.length == 0)
		return complete_postmaster(service, text, address);
	complete_literal(service, context, text, address);
	return true;
}
