// SPDX-License-Identifier: ISC
#include "smtp/server/complete.h"
#include <netinet/in.h>

static bool give_domain(struct mail_address *address, const char *domain, struct buffer *text)
{
	struct mail_address named;

	buffer_reset(text);
	buffer_append_str(text, address->local);
	buffer_append_format(text, "@%s", domain);
	if (mail_address_parse(buffer_view(text), MAIL_ADDRESS_UTF8, &named) < 0)
		return false;
	*address = named;
	return true;
}

static bool complete_postmaster(const struct smtp_service *service, struct buffer *text,
				struct mail_address *address)
{
	const struct str name = STR("postmaster");

	if (!str_equal_nocase(address->local, name))
		return false;
	address->local = name;
	return give_domain(address, service->hostname, text);
}

static void complete_literal(const struct smtp_service *service, void *context, struct buffer *text,
			     struct mail_address *address)
{
	struct in6_addr ours;

	if (address->is_literal && service->is_our_address != NULL &&
	    mail_literal_parse(address->domain, &ours) && service->is_our_address(context, &ours))
		(void)give_domain(address, service->local_domain, text);
}

bool smtp_complete_recipient(const struct smtp_service *service, void *context, bool may_be_short,
			     struct buffer *text, struct mail_address *address)
{
	if (address->domain.length > 0) {
		complete_literal(service, context, text, address);
		return true;
	}
	return complete_postmaster(service, text, address) ||
	       (may_be_short && service->local_domain != NULL &&
		give_domain(address, service->local_domain, text));
}

bool smtp_complete_sender(const struct smtp_service *service, bool may_be_short,
			  struct buffer *text, struct mail_address *address)
{
	if (address->domain.length > 0 || mail_sender_is_null(address->text))
		return true;
	return may_be_short && service->local_domain != NULL &&
	       give_domain(address, service->local_domain, text);
}
