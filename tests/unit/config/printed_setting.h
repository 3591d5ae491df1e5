// SPDX-License-Identifier: ISC
/* tests/unit/config/printed_setting.h - a setting in the text of a configuration. */
#ifndef TESTS_UNIT_CONFIG_PRINTED_SETTING_H
#define TESTS_UNIT_CONFIG_PRINTED_SETTING_H

#include "base/buffer.h"
#include <stdbool.h>
#include <string.h>

static inline struct str cut_line(struct str *rest)
{
	struct str line = STR("");

	(void)str_split(rest, '\n', &line);
	return line;
}

/* The same line without quotes around a title. */
static inline bool is_begin_of(struct str line, const char *section)
{
	char plain[200];
	size_t length = 0;

	for (size_t i = 0; i < line.length && length < sizeof plain - 1; i++)
		if (line.data[i] != '"')
			plain[length++] = line.data[i];
	plain[length] = '\0';
	length = strlen(section);
	return *section != '\0' && strncmp(plain, section, length) == 0 &&
	       strncmp(plain + length, " {", 2) == 0;
}

/* The value of SETTING in what was PRINTED; without data: it is not there. */
static inline struct str find_printed(struct str printed, const char *section, const char *setting)
{
	struct buffer wanted CLEANUP(buffer_clear) = {0};
	bool is_inside = *section == '\0';

	buffer_append_format(&wanted, "%s%s = ", *section != '\0' ? "\t" : "", setting);
	while (printed.length > 0) {
		struct str line = cut_line(&printed);

		if (is_inside && str_starts_with(line, buffer_view(&wanted)))
			return str_skip(line, wanted.length);
		if (is_inside && (str_equal(line, STR("}")) || line.length == 0))
			break;
		is_inside = is_inside || is_begin_of(line, section);
	}
	return (struct str){0};
}

#endif
