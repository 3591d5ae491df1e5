// SPDX-License-Identifier: ISC
#include "config/parse/suggest.h"
#include "config/internal.h"
#include <string.h>

enum { NAME_MAX_LENGTH = 32, FAR = 100 };

static unsigned least_of_two(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* The edit distance (Levenshtein). */
static unsigned edit_distance(struct str a, struct str b)
{
	unsigned row[NAME_MAX_LENGTH + 1];

	if (a.length > NAME_MAX_LENGTH || b.length > NAME_MAX_LENGTH)
		return FAR;
	for (unsigned j = 0; j <= b.length; j++)
		row[j] = j;
	for (unsigned i = 1; i <= a.length; i++) {
		unsigned corner = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= b.length; j++) {
			unsigned changed = corner + (a.data[i - 1] != b.data[j - 1]);

			corner = row[j];
			row[j] = least_of_two(changed, least_of_two(row[j], row[j - 1]) + 1);
		}
	}
	return row[b.length];
}

static void consider_candidate(struct str name, const char *candidate, unsigned *nearest,
			       const char **best_out)
{
	unsigned d = edit_distance(name, str_from(candidate));

	if (d < *nearest && d <= 1 + name.length / 5) {
		*nearest = d;
		*best_out = candidate;
	}
}

static const char *nearest_name(enum config_section section, struct str name)
{
	struct config_rows rows = {.section = section};
	const struct config_setting *row;
	unsigned nearest = FAR;
	const char *best = NULL;

	while ((row = config_rows_next(&rows)) != NULL)
		consider_candidate(name, row->name, &nearest, &best);
	if (section == CONFIG_SECTION_ROOT)
		for (unsigned i = CONFIG_SECTION_LISTEN; i < CONFIG_SECTION_COUNT; i++)
			consider_candidate(name, config_section_info((enum config_section)i)->name,
					   &nearest, &best);
	return best;
}

/* The section with a setting called NAME, or CONFIG_SECTION_COUNT. */
static enum config_section home_of(struct str name)
{
	unsigned i = CONFIG_SECTION_ROOT;

	while (i < CONFIG_SECTION_COUNT &&
	       config_setting_find((enum config_section)i, name) == NULL)
		i++;
	return (enum config_section)i;
}

static bool has_title(struct str section)
{
	return *config_section_info(config_section_find(section))->title != '\0';
}

/* The names in SECTION; the root has too many to list. */
static const char *list_of_settings(enum config_section section, struct buffer *list)
{
	struct config_rows rows = {.section = section};
	const struct config_setting *row;

	if (section == CONFIG_SECTION_ROOT)
		return "see stagepost.conf(5)";
	while ((row = config_rows_next(&rows)) != NULL) {
		buffer_append_string(list, list->length > 0 ? ", " : "");
		buffer_append_string(list, row->name);
	}
	buffer_append_byte(list, '\0');
	return buffer_data(list);
}

void config_suggest(struct config_problems *problems, unsigned line, const char *setting,
		    enum config_section section, struct str name, bool is_section)
{
	const char *what = is_section ? "section" : "setting";
	enum config_section home;
	const char *best;
	struct buffer message = {0};
	struct buffer list = {0};
	const char *allowed = "";

	if (config_problems_are_full(problems))
		return;
	home = home_of(name);
	best = nearest_name(section, name);
	if (home == section && is_section)
		buffer_append_string(&message, "a setting, not a section: an '=' is missing");
	else if (config_section_find(name) != CONFIG_SECTION_COUNT)
		buffer_append_format(&message, "a section, not a setting: %.*s%s { ... }",
				     STR_ARGUMENTS(name), has_title(name) ? " NAME" : "");
	else if (home == CONFIG_SECTION_ROOT)
		buffer_append_string(&message, "belongs outside of every section");
	else if (home != CONFIG_SECTION_COUNT)
		buffer_append_format(&message, "belongs into a section \"%s\"",
				     config_section_info(home)->name);
	else if (best != NULL)
		buffer_append_format(&message, "unknown %s: did you mean \"%s\"?", what, best);
	else
		buffer_append_format(&message, "unknown %s", what);
	if (best == NULL &&
	    (home == CONFIG_SECTION_COUNT || config_section_find(name) != CONFIG_SECTION_COUNT))
		allowed = list_of_settings(section, &list);
	buffer_append_byte(&message, '\0');
	config_problem_add(problems, line, setting, STR(""), buffer_data(&message), allowed);
	buffer_clear(&message);
	buffer_clear(&list);
}
