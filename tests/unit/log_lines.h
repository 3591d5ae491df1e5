// SPDX-License-Identifier: ISC
/*
 * tests/unit/log_lines.h - what a program logs, as text, for tests that are linked with
 * --wrap=log_write and --wrap=log_write_rated: "NAME key=value key=value\n", with a '~' before it
 * where lines may be left out.
 */
#ifndef TESTS_UNIT_LOG_LINES_H
#define TESTS_UNIT_LOG_LINES_H

#include "base/buffer.h"
#include "log/event.h"
#include "test.h"
#include <inttypes.h>

static struct buffer log_lines;

void __wrap_log_write(enum log_name name, const struct log_field *fields);
void __wrap_log_write_rated(enum log_name name, const struct log_field *fields);

static inline void append_log_line(const char *mark, enum log_name name,
				   const struct log_field *fields)
{
	static const char *const names[] = {
#define EVENT(event, ...) #event,
#include "log/events.def"
#undef EVENT
	};
	static const char *const keys[] = {
#define FIELD(key, kind, meaning) #key,
#include "log/fields.def"
#undef FIELD
	};

	buffer_append_format(&log_lines, "%s%s", mark, names[name]);
	for (; fields->kind != LOG_END; fields++) {
		if (fields->kind == LOG_NONE)
			continue;
		buffer_append_format(&log_lines, " %s=", keys[fields->key]);
		if (fields->kind == LOG_NUMBER || fields->kind == LOG_SECONDS)
			buffer_append_format(&log_lines, "%" PRId64, fields->number);
		else if (fields->kind == LOG_ID)
			buffer_append_format(&log_lines, "%" PRIu64 "-%" PRId64, fields->id.number,
					     fields->id.born_us);
		else
			buffer_append_str(&log_lines, fields->text);
	}
	buffer_append_byte(&log_lines, '\n');
}

void __wrap_log_write(enum log_name name, const struct log_field *fields)
{
	append_log_line("", name, fields);
}

void __wrap_log_write_rated(enum log_name name, const struct log_field *fields)
{
	append_log_line("~", name, fields);
}

/* What was logged since the last such check is just that. */
static inline void check_log(const char *expected)
{
	buffer_append_byte(&log_lines, '\0');
	assert_string_equal(buffer_data(&log_lines), expected);
	buffer_clear(&log_lines);
}

#endif
