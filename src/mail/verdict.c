// SPDX-License-Identifier: ISC
#include "mail/verdict.h"
#include "base/text/utf8.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool is_printable_ascii(char c)
{
	return c >= 0x20 && c < 0x7f;
}

static void make_safe(char *text)
{
	size_t size = strlen(text);
	size_t i = 0;

	while (i < size) {
		size_t length;

		if (is_printable_ascii(text[i])) { /* all of it, nearly always */
			i++;
			continue;
		}
		length = utf8_length(str_slice(text + i, size - i));
		if (length == 0)
			length = 1;
		if (!utf8_is_harmless(utf8_code_point(str_slice(text + i, length))) ||
		    (length == 1 && (unsigned char)text[i] > 0x7e))
			memset(text + i, '?', length);
		i += length;
	}
}

static void copy_status(struct mail_verdict *verdict, const char *status)
{
	size_t length = strnlen(status, sizeof verdict->status - 1);

	memcpy(verdict->status, status, length);
	verdict->status[length] = '\0';
}

void mail_verdict_set(struct mail_verdict *verdict, const char *status, const char *format, ...)
{
	va_list arguments;

	copy_status(verdict, status);
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

const char *mail_status_public_text(struct str status)
{
	static const struct {
		struct str status;
		const char *text;
	} texts[] = {
		{STR("4.3.5"), "Mail for this address cannot be taken now"},
		{STR("4.4.3"), "This address cannot be looked up now"},
		{STR("4.4.6"), "Mail for this address would loop"},
		{STR("5.4.6"), "Mail for this address would loop"},
		{STR("5.4.7"), "Mail for this address could not be taken in time"},
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (str_equal(status, texts[i].status))
			return texts[i].text;
	return NULL;
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

bool mail_is_expired(struct str status, struct str text)
{
	return str_equal(status, STR(MAIL_STATUS_EXPIRED)) &&
	       str_starts_with(text, STR(MAIL_NOT_DELIVERED));
}

struct str mail_last_attempt(struct str status, struct str text)
{
	const char *before = NULL;

	if (mail_is_expired(status, text))
		before = memmem(text.data, text.length, MAIL_LAST_ATTEMPT,
				sizeof MAIL_LAST_ATTEMPT - 1);
	if (before == NULL)
		return text;
	return str_skip(text, (size_t)(before - text.data) + sizeof MAIL_LAST_ATTEMPT - 1);
}
