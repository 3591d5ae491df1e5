// SPDX-License-Identifier: ISC
#include "deliver/remote/route/sender.h"
#include "mail/localpart.h"
#include "mail/unicode.h"
#include <string.h>

bool remote_sender_of(struct str address, struct remote_sender *out)
{
	struct mail_parts parts = mail_parts_of(address);
	struct mail_localpart local;
	struct mail_domain domain;
	struct str whole;

	if (mail_sender_is_null(address) || parts.domain.length == 0 ||
	    parts.domain.data[0] == '[' || !mail_domain_form(parts.domain, &domain) ||
	    mail_localpart_parse(parts.local, &local) < 0)
		return false;
	whole = mail_localpart_whole(&local);
	memcpy(out->text, whole.data, whole.length);
	out->text[whole.length] = '@';
	memcpy(out->text + whole.length + 1, domain.text, domain.length);
	out->first = str_slice(out->text, whole.length + 1 + domain.length);
	out->domain = str_skip(out->first, whole.length + 1);
	return true;
}

struct str remote_sender_next(const struct remote_sender *sender, struct str key)
{
	ptrdiff_t dot;

	if (key.data == sender->first.data)
		return sender->domain;
	dot = str_find(str_skip(key, 1), '.');
	return dot < 0 ? STR("") : str_skip(key, (size_t)dot + 1);
}
