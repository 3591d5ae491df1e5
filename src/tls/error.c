// SPDX-License-Identifier: ISC
/* The OpenSSL errors of a thread as one line of text, and what PEM files ask. */
#include "tls/internal.h"
#include <errno.h>
#include <openssl/err.h>
#include <string.h>

void tls_errors_clear(void)
{
	ERR_clear_error();
}

static void append_error(struct buffer *out, unsigned long error, const char *data)
{
	const char *text = ERR_reason_error_string(error);

	if (ERR_SYSTEM_ERROR(error))
		text = strerror(ERR_GET_REASON(error));
	if (text != NULL)
		buffer_append_string(out, text);
	else
		buffer_append_format(out, "error %lx of OpenSSL", error);
	if (data[0] != '\0' && !ERR_SYSTEM_ERROR(error))
		buffer_append_format(out, " (%s)", data);
}

void tls_errors_take(struct buffer *out)
{
	const char *data = "";
	int flags = 0;
	bool is_first = true;
	unsigned long error;

	while ((error = ERR_get_error_all(NULL, NULL, NULL, &data, &flags)) != 0) {
		if (!is_first)
			buffer_append_string(out, ", ");
		append_error(out, error, (flags & ERR_TXT_STRING) != 0 ? data : "");
		is_first = false;
	}
}

int tls_errors_refuse(const char *what, struct buffer *reason)
{
	struct buffer detail = {0};

	tls_errors_take(&detail);
	buffer_append_string(reason, what);
	if (detail.length > 0)
		buffer_append_format(reason, ": " STR_FORMAT, STR_ARGUMENTS(buffer_view(&detail)));
	buffer_clear(&detail);
	return -EINVAL;
}

int tls_deny_passphrase(char *text, int size, int is_new, void *context)
{
	(void)text;
	(void)size;
	(void)is_new;
	(void)context;
	return -1;
}
