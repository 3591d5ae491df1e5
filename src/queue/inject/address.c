// SPDX-License-Identifier: ISC
#include "queue/inject/address.h"
#include "mail/address.h"
#include "mail/unicode.h"
#include "mail/verp.h"
#include <errno.h>

int inject_address_form(struct str address, struct str domain, struct buffer *out)
{
	const unsigned flags = MAIL_ADDRESS_UTF8 | MAIL_ADDRESS_ROOT |
			       (domain.length > 0 ? MAIL_ADDRESS_NO_DOMAIN : 0);
	size_t before = out->length;
	struct mail_address parsed;
	struct mail_address whole;
	int error = mail_address_parse(address, flags, &parsed);

	if (error < 0)
		return error == -ENAMETOOLONG ? error : -EBADMSG;
	buffer_append_str(out, parsed.local);
	buffer_append_byte(out, '@');
	if (parsed.domain.length == 0)
		buffer_append_str(out, domain);
	else if (str_is_ascii(parsed.domain))
		buffer_append_str(out, parsed.domain);
	else
		error = mail_unicode_domain(parsed.domain, out);
	if (error == 0)
		error = mail_address_parse(str_skip(buffer_view(out), before), MAIL_ADDRESS_UTF8,
					   &whole);
	if (error == 0)
		return 0;
	buffer_truncate(out, before);
	return error == -ENAMETOOLONG ? error : -EBADMSG;
}

void inject_address_note(struct mail_envelope *envelope, struct str address)
{
	envelope->utf8 |= !str_is_ascii(address);
}

int inject_address_set_sender(struct mail_envelope *envelope, struct str address, struct str domain)
{
	struct str whole = mail_verp_whole(address);
	struct buffer form CLEANUP(buffer_clear) = {0};

	int error = 0;

	if (mail_sender_is_null(address))
		buffer_append_str(&form, address);
	else
		error = inject_address_form(whole, domain, &form);
	if (error < 0)
		return error;
	buffer_append_str(&form, str_skip(address, whole.length));
	envelope->sender = arena_copy_str(envelope->arena, buffer_view(&form));
	inject_address_note(envelope, envelope->sender);
	return 0;
}
