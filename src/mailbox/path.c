// SPDX-License-Identifier: ISC
/* Expands a service's path template for a recipient. */
#include "mail/localpart.h"
#include "mail/unicode.h"
#include "mailbox/maildir.h"
#include <errno.h>

static int append_name(struct buffer *out, struct str name)
{
	if (!mail_name_is_path_safe(name))
		return -EINVAL;
	buffer_append_str(out, name);
	return 0;
}

static int append_domain(struct buffer *out, struct str domain)
{
	struct mail_domain form;

	mail_domain_form(domain, &form);
	return append_name(out, mail_domain_view(&form));
}

static int append_expansion(struct buffer *out, char letter, struct str address)
{
	struct mail_parts parts = mail_parts_of(address);
	struct mail_localpart local;

	switch (letter) {
	case '%':
		buffer_append_byte(out, '%');
		return 0;
	case 'd':
		return append_domain(out, parts.domain);
	case 'u':
		if (mail_localpart_parse(parts.local, &local) < 0)
			return -EINVAL;
		return append_name(out, mail_localpart_user(&local));
	default:
		return -EINVAL;
	}
}

int maildir_path_expand(const char *template, struct str address, struct buffer *out)
{
	size_t before = out->length;

	for (const char *c = template; *c != '\0'; c++) {
		if (*c != '%') {
			buffer_append_byte(out, *c);
		} else if (append_expansion(out, *++c, address) < 0) {
			buffer_truncate(out, before);
			return -EINVAL;
		}
	}
	while (out->length > before + 1 && buffer_data(out)[out->length - 1] == '/')
		buffer_truncate(out, out->length - 1);
	return 0;
}
