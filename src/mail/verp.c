// SPDX-License-Identifier: ISC
#include "mail/verp.h"
#include "mail/localpart.h"

static const struct str SUFFIX = {"-@[]", 4};

bool mail_verp_is(struct str sender)
{
	struct mail_address address;

	if (sender.length <= SUFFIX.length ||
	    !str_equal(str_skip(sender, sender.length - SUFFIX.length), SUFFIX))
		return false;
	return mail_address_parse(str_slice(sender.data, sender.length - SUFFIX.length),
				  MAIL_ADDRESS_UTF8, &address) == 0;
}

struct str mail_verp_whole(struct str sender)
{
	if (!mail_verp_is(sender))
		return sender;
	return str_slice(sender.data, sender.length - SUFFIX.length);
}

void mail_verp_expand(struct str sender, struct str recipient, struct buffer *out)
{
	struct str whole = mail_verp_whole(sender);
	struct mail_parts from = mail_parts_of(whole);
	struct mail_parts to = mail_parts_of(recipient);
	struct mail_address address;
	struct buffer local CLEANUP(buffer_clear) = {0};
	size_t start = out->length;
	int error;

	if (whole.length == sender.length || to.domain.length == 0) {
		buffer_append_str(out, whole);
		return;
	}
	mail_local_unquote(from.local, &local);
	mail_local_unquote(to.local, &local);
	buffer_append_byte(&local, '=');
	buffer_append_str(&local, to.domain);
	mail_address_write(buffer_view(&local), from.domain, out);
	error = mail_address_parse(str_skip(buffer_view(out), start), MAIL_ADDRESS_UTF8, &address);
	if (error == 0 && address.local.length <= MAIL_LOCAL_MAX)
		return;
	buffer_truncate(out, start);
	buffer_append_str(out, whole);
}
