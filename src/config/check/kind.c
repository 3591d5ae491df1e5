// SPDX-License-Identifier: ISC
/* Checks settings that only some kinds of services, backends of the
 * directory, or users of auth have. */
#include "config/internal.h"
#include <string.h>

static const char *message_of_meaningless_setting(enum config_section section)
{
	if (section == CONFIG_SECTION_AUTH)
		return "means nothing for these users";
	return section == CONFIG_SECTION_SERVICE ? "means nothing for this kind of service"
						 : "means nothing for this backend";
}

/* Reports a setting that only other kinds have, or a missing one that this kind requires. */
static void check_setting_kind(const void *base, const struct config_tree_section *section,
			       const struct config_setting *setting,
			       const struct config_tree_use *use, struct config_problems *problems)
{
	bool applies = config_setting_applies(setting, base);
	struct buffer allowed = {0};
	const char *name;

	if (applies ? setting->initial != NULL || use->line > 0 : use->line == 0)
		return;
	name = config_problem_name(problems, section->kind, section->title, setting->name);
	if (applies) {
		config_setting_allowed(setting, &allowed);
	} else {
		buffer_append_string(&allowed, "with ");
		config_setting_kinds(setting, &allowed);
	}
	buffer_append_byte(&allowed, '\0');
	config_problem_add(problems, applies ? section->line : use->line, name, STR(""),
			   applies ? "must be set" : message_of_meaningless_setting(section->kind),
			   buffer_data(&allowed));
	buffer_clear(&allowed);
}

void config_check_kinds(const void *base, const struct config_tree_section *section,
			struct config_problems *problems)
{
	struct config_rows rows = {.section = section->kind};
	const struct config_setting *row;

	for (size_t i = 0; (row = config_rows_next(&rows)) != NULL; i++)
		if (row->kinds != 0)
			check_setting_kind(base, section, row, &section->uses[i], problems);
}
