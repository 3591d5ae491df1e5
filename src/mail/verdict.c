// SPDX-License-Identifier: ISC
#include "mail/verdict.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The length of the UTF-8 character at TEXT (RFC 3629), 0 when it is none. */
static size_t utf8_length(const unsigned char *text)
{
	size_t length = text[0] < 0x80   ? 1
			: text[0] < 0xc2 ? 0
			: text[0] < 0xe0 ? 2
			: text[0] < 0xf0 ? 3
			: text[0] < 0xf5 ? 4
					 : 0;

	for (size_t i = 1; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
	    (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
		return 0;
	return length;
}

static void make_safe(char *text)
{
	unsigned char *c = (unsigned char *)text;

	while (*c != '\0') {
		size_t length = utf8_length(c);

		if (length == 0 || *c < 0x20 || *c == 0x7f) {
			*c = '?';
			length = 1;
		}
		c += length;
	}
}

void mail_verdict_set(struct mail_verdict *verdict, const char *status, const char *format, ...)
{
	va_list arguments;

	snprintf(verdict->status, sizeof verdict->status, "%s", status);
	va_start(arguments, format);
	vsnprintf(verdict->text, sizeof verdict->text, format, arguments);
	va_end(arguments);
	make_safe(verdict->text);
	verdict->class = mail_verdict_class_of(status);
}

enum mail_verdict_class mail_verdict_class_of(const char *status)
{
	if (status[0] == '2')
		return MAIL_OK;
	return status[0] == '5' ? MAIL_FAIL : MAIL_WAIT;
}

const char *mail_verdict_class_name(enum mail_verdict_class class)
{
	static const char *const names[] = {
		[MAIL_OK] = "ok", [MAIL_WAIT] = "wait", [MAIL_FAIL] = "fail"};

	return names[class];
}

static bool take_digits(struct str *s)
{
	size_t count = 0;

	while (count < s->length && count < 3 && s->data[count] >= '0' && s->data[count] <= '9')
		count++;
	*s = str_skip(*s, count);
	return count > 0;
}

bool mail_status_is_valid(struct str status)
{
	if (status.length < 5 ||
	    (status.data[0] != '2' && status.data[0] != '4' && status.data[0] != '5') ||
	    status.data[1] != '.')
		return false;
	status = str_skip(status, 2);
	if (!take_digits(&status) || status.length == 0 || status.data[0] != '.')
		return false;
	status = str_skip(status, 1);
	return take_digits(&status) && status.length == 0;
}
