// SPDX-License-Identifier: ISC
/* Checks settings that only some kinds of services, backends of the
 * directory, or users of auth have. */
#include "config/internal.h"
#include <string.h>

static const char *meaningless(enum config_section section)
{
	if (section == CONFIG_SECTION_AUTH)
		return "means nothing for these users";
	return section == CONFIG_SECTION_SERVICE ? "means nothing for this kind of service"
						 : "means nothing for this backend";
}

/* Reports a setting that only other kinds have, or a missing one that this kind requires. */
static void check_kind(const void *base, const struct config_tree_section *section,
		       const struct config_setting *setting, struct config_problems *problems)
{
	const struct config_tree_use *use = config_tree_use(section, setting->name);
	const char *name =
		config_problem_name(problems, section->kind, section->title, setting->name);
	bool applies = config_setting_applies(setting, base);
	struct buffer allowed = {0};

	if (!applies && use->line > 0) {
		buffer_append_string(&allowed, "with ");
		config_setting_kinds(setting, &allowed);
		buffer_append_byte(&allowed, '\0');
		config_problem_add(problems, use->line, name, STR(""), meaningless(section->kind),
				   buffer_data(&allowed));
	} else if (applies && setting->kinds != 0 && setting->initial == NULL && use->line == 0) {
		config_setting_allowed(setting, &allowed);
		buffer_append_byte(&allowed, '\0');
		config_problem_add(problems, section->line, name, STR(""), "must be set",
				   buffer_data(&allowed));
	}
	buffer_clear(&allowed);
}

void config_check_kinds(const void *base, const struct config_tree_section *section,
			struct config_problems *problems)
{
	const struct config_setting *row;

	for (size_t i = 0; (row = config_section_setting(section->kind, i)) != NULL; i++)
		check_kind(base, section, row, problems);
}
