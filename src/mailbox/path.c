// SPDX-License-Identifier: ISC
/* Expands a service's path template for a recipient. */
#include "mail/template.h"
#include "mailbox/maildir.h"

int maildir_path_expand(const char *template, struct str address, struct buffer *out)
{
	struct mail_template_recipient recipient;
	struct mail_template_values values;
	size_t before = out->length;
	int error = mail_template_values(address, &recipient, &values);

	if (error == 0)
		error = mail_template_fill(MAIL_TEMPLATE_PATH, template, &values, out);
	if (error < 0)
		return error;
	while (out->length > before + 1 && buffer_data(out)[out->length - 1] == '/')
		buffer_truncate(out, out->length - 1);
	return 0;
}
