// SPDX-License-Identifier: ISC
#include "command/queue/monitor_limits.h"
#include "base/timestamp.h"
#include "command/command.h"
#include <stdio.h>
#include <string.h>

const struct monitor_form monitor_forms[MONITOR_FIGURES] = {
	[MONITOR_MESSAGES] = {"messages", MONITOR_COUNT, false},
	[MONITOR_OLDEST] = {"oldest", MONITOR_SECONDS, false},
	[MONITOR_DEFERRED] = {"deferred", MONITOR_COUNT, false},
	[MONITOR_PAUSED] = {"paused", MONITOR_COUNT, false},
	[MONITOR_DAMAGED] = {"damaged", MONITOR_COUNT, false},
	[MONITOR_SET_ASIDE] = {"set_aside", MONITOR_COUNT, false},
	[MONITOR_FREE] = {"free", MONITOR_BYTES, true},
};

static bool parse_size_limit(struct str text, uint64_t *value_out)
{
	static const char letters[] = "KMGT";
	unsigned shift = 0;

	if (text.length > 0) {
		const char *letter = memchr(letters, text.data[text.length - 1], 4);

		if (letter != NULL) {
			shift = 10 * (unsigned)(letter - letters + 1);
			text.length--;
		}
	}
	if (!str_to_u64(text, value_out) || *value_out > UINT64_MAX >> shift)
		return false;
	*value_out <<= shift;
	return true;
}

static bool parse_limit_value(enum monitor_unit unit, struct str text, uint64_t *value_out)
{
	char copy[32];
	int64_t time_us;

	if (unit == MONITOR_COUNT)
		return str_to_u64(text, value_out);
	if (unit == MONITOR_BYTES)
		return parse_size_limit(text, value_out);
	if (text.length >= sizeof copy)
		return false;
	snprintf(copy, sizeof copy, STR_FORMAT, STR_ARGUMENTS(text));
	if (!command_parse_time(copy, &time_us))
		return false;
	*value_out = (uint64_t)(time_us / SECOND_US);
	return true;
}

static bool parse_limit(struct str item, enum monitor_level level, struct monitor_limits *limits)
{
	struct str name;

	if (!str_split(&item, '=', &name) || item.data == NULL)
		return false;
	for (size_t i = 0; i < MONITOR_FIGURES; i++)
		if (str_equal(name, str_from(monitor_forms[i].name))) {
			limits->is_set[i][level] = true;
			return parse_limit_value(monitor_forms[i].unit, item,
						 &limits->values[i][level]);
		}
	return false;
}

bool monitor_limits_parse(const char *text, enum monitor_level level, struct monitor_limits *limits,
			  struct buffer *why)
{
	static const char *const samples[] = {
		[MONITOR_COUNT] = "1000", [MONITOR_SECONDS] = "2h", [MONITOR_BYTES] = "1G"};
	struct str rest = text != NULL ? str_from(text) : (struct str){0};
	struct str item;

	while (text != NULL && str_split(&rest, ',', &item)) {
		if (parse_limit(item, level, limits))
			continue;
		buffer_append_format(why, "%s: \"" STR_FORMAT "\" is no limit; allowed:",
				     level == MONITOR_WARN ? "--warn" : "--critical",
				     STR_ARGUMENTS(item));
		for (size_t i = 0; i < MONITOR_FIGURES; i++)
			buffer_append_format(why, "%s %s=%s", i > 0 ? "," : "",
					     monitor_forms[i].name, samples[monitor_forms[i].unit]);
		return false;
	}
	return true;
}

bool monitor_limits_reached(const struct monitor_limits *limits, enum monitor_figure figure,
			    enum monitor_level level, uint64_t value)
{
	uint64_t limit = limits->values[figure][level];

	if (!limits->is_set[figure][level])
		return false;
	return monitor_forms[figure].is_low ? value < limit : value >= limit;
}
