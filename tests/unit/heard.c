// SPDX-License-Identifier: ISC
#include "heard.h"
#include "log/event.h"
#include "test.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

enum { HEARD_MAX = 64 << 10 };

static char heard[HEARD_MAX];
static size_t heard_length;
static bool is_taken;

void __wrap_log_write(enum log_name name, const struct log_field *fields);
void __wrap_log_write_rated(enum log_name name, const struct log_field *fields);

static void append_heard(const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(heard + heard_length, sizeof heard - heard_length, format, arguments);
	va_end(arguments);
	assert_true(length >= 0 && (size_t)length < sizeof heard - heard_length);
	heard_length += (size_t)length;
}

static void append_heard_field(const struct log_field *field)
{
	char id[MAIL_ID_SIZE];

	if (field->kind == LOG_NONE)
		return;
	append_heard(" %s=", log_key_name(field->key));
	if (field->kind == LOG_TEXT || field->kind == LOG_SENDER)
		append_heard(STR_FORMAT, STR_ARGUMENTS(field->text));
	else if (field->kind == LOG_ID)
		append_heard("%s", (mail_id_format(field->id, id), id));
	else
		append_heard("%" PRId64, field->number);
}

void __wrap_log_write(enum log_name name, const struct log_field *fields)
{
	if (is_taken)
		heard_length = 0;
	is_taken = false;
	append_heard("%s", log_event_name(name));
	for (; fields->kind != LOG_END; fields++)
		append_heard_field(fields);
	append_heard("\n");
}

void __wrap_log_write_rated(enum log_name name, const struct log_field *fields)
{
	__wrap_log_write(name, fields);
}

const char *heard_take(void)
{
	if (is_taken || heard_length == 0)
		heard[0] = '\0';
	is_taken = true;
	return heard;
}
