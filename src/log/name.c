// SPDX-License-Identifier: ISC
/* The names of events, fields and levels, and what they mean. */
#include "base/panic.h"
#include "log/internal.h"
#include <string.h>

enum { NAME_SIZE = 32 };

static const char *const levels[] = {"debug", "info", "warning", "error"};

const char *log_error_text(int negative_errno)
{
	const char *text = strerrordesc_np(-negative_errno);

	return text != NULL ? text : "unknown error";
}

const char *log_event_name(enum log_name name)
{
	static char names[EVENT_COUNT][NAME_SIZE]; /* lower case; made when first asked for */

	if (names[name][0] == '\0') {
		size_t length = strlen(log_event_rows[name].name);

		memcpy(names[name], log_event_rows[name].name,
		       length < NAME_SIZE ? length : NAME_SIZE - 1);
		str_lower(names[name], NAME_SIZE);
	}
	return names[name];
}

const char *log_event_meaning(enum log_name name)
{
	return log_event_rows[name].meaning;
}

const unsigned char *log_event_fields(enum log_name name, bool is_always)
{
	return is_always ? log_event_rows[name].always : log_event_rows[name].sometimes;
}

const char *log_key_name(enum log_key key)
{
	return log_field_rows[key].name.data;
}

const char *log_key_meaning(enum log_key key)
{
	return log_field_rows[key].meaning;
}

enum log_field_kind log_key_kind(enum log_key key)
{
	return log_field_rows[key].kind;
}

enum log_level log_event_severity(enum log_name name)
{
	return log_event_rows[name].level;
}

const char *log_event_level(enum log_name name)
{
	return levels[log_event_rows[name].level];
}

bool log_level_parse(struct str name, enum log_level *level_out)
{
	for (unsigned i = 0; i < COUNT_OF(levels); i++) {
		if (str_equal(name, str_from(levels[i]))) {
			*level_out = (enum log_level)i;
			return true;
		}
	}
	return false;
}
