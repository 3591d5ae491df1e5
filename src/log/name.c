// SPDX-License-Identifier: ISC
/* The names of events and levels, and what they mean. */
#include "base/panic.h"
#include "log/internal.h"
#include <string.h>

enum { NAME_SIZE = 32 };

static const struct {
	const char *name; /* upper case */
	const char *meaning;
	enum log_level level;
} events[EVENT_COUNT] = {
#define EVENT(name, level, meaning) {#name, meaning, LOG_##level##_LEVEL},
#include "log/events.def"
#undef EVENT
};

static const char *const levels[] = {"debug", "info", "warning", "error"};

struct log_field log_error(int negative_errno)
{
	const char *text = strerrordesc_np(-negative_errno);

	return log_string("error", text != NULL ? text : "unknown error");
}

const char *log_event_name(enum log_name name)
{
	static char names[EVENT_COUNT][NAME_SIZE]; /* lower case; made when first asked for */

	if (names[name][0] == '\0') {
		size_t length = strlen(events[name].name);

		memcpy(names[name], events[name].name, length < NAME_SIZE ? length : NAME_SIZE - 1);
		str_lower(names[name], NAME_SIZE);
	}
	return names[name];
}

const char *log_event_meaning(enum log_name name)
{
	return events[name].meaning;
}

enum log_level log_event_severity(enum log_name name)
{
	return events[name].level;
}

const char *log_event_level(enum log_name name)
{
	return levels[events[name].level];
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
