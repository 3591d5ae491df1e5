// SPDX-License-Identifier: ISC
/* Settings that cannot change while a node runs. */
#include "config/schema/schema.h"
#include <string.h>

static const struct {
	enum config_section section;
	const char *name;
	const char *text; /* for people */
} fixed[] = {
	{CONFIG_SECTION_ROOT, "queue", "queue"},
	{CONFIG_SECTION_ROOT, "run", "run"},
	{CONFIG_SECTION_ROOT, "user", "user"},
	{CONFIG_SECTION_ROOT, "submit_group", "submit_group"},
	{CONFIG_SECTION_ROOT, "smtpd_workers", "smtpd_workers"},
	{CONFIG_SECTION_PROCESS, "user", "user of processes"},
	{CONFIG_SECTION_DIRECTORY, "backend", "backend of the directory"},
};

bool config_setting_is_fixed(const struct config_setting *setting)
{
	for (size_t i = 0; i < COUNT_OF(fixed); i++)
		if (fixed[i].section == setting->section &&
		    strcmp(fixed[i].name, setting->name) == 0)
			return true;
	return false;
}

static bool is_value_different(const struct config_setting *setting, const void *old,
			       const void *new)
{
	struct buffer one CLEANUP(buffer_clear) = {0};
	struct buffer other CLEANUP(buffer_clear) = {0};

	setting->type->print(setting, (const char *)old + setting->offset, &one);
	setting->type->print(setting, (const char *)new + setting->offset, &other);
	return !str_equal(buffer_view(&one), buffer_view(&other));
}

static bool has_setting_changed(const struct config_setting *setting, const struct config *old,
				const struct config *new)
{
	if (setting->section == CONFIG_SECTION_ROOT)
		return is_value_different(setting, old, new);
	if (setting->section == CONFIG_SECTION_DIRECTORY)
		return is_value_different(setting, &old->directory, &new->directory);
	for (size_t i = 0; i < CONFIG_PROCESSES; i++)
		if (is_value_different(setting, &old->processes[i], &new->processes[i]))
			return true;
	return false;
}

const char *config_fixed_change(const struct config *old, const struct config *new)
{
	for (size_t i = 0; i < COUNT_OF(fixed); i++)
		if (has_setting_changed(
			    config_setting_find(fixed[i].section, str_from(fixed[i].name)), old,
			    new))
			return fixed[i].text;
	return NULL;
}
