// SPDX-License-Identifier: ISC
/* Queries on the table of settings. */
#include "config/schema/schema.h"
#include "config/type/type.h"
#include <inttypes.h>
#include <string.h>

const struct config_setting *config_setting_find(enum config_section section, struct str name)
{
	struct config_rows rows = {.section = section};
	const struct config_setting *row;

	while ((row = config_rows_next(&rows)) != NULL)
		if (str_equal(name, str_from(row->name)))
			return row;
	return NULL;
}

bool config_initial_next(struct str *rest, struct str *value_out)
{
	if (rest->length == 0)
		return false;
	(void)str_split(rest, ',', value_out);
	if (rest->length > 0)
		*rest = str_skip(*rest, 1);
	return true;
}

static const struct config_setting *kind_setting(const struct config_setting *setting)
{
	return config_setting_find(setting->section,
				   str_from(config_section_info(setting->section)->kind));
}

void config_setting_kinds(const struct config_setting *setting, struct buffer *out)
{
	const struct config_setting *kind = kind_setting(setting);
	bool is_first = true;

	buffer_append_format(out, "%s = ", kind->name);
	for (const struct config_word *word = kind->words; word->name != NULL; word++) {
		if ((setting->kinds & 1u << word->value) == 0)
			continue;
		buffer_append_string(out, is_first ? "" : ", ");
		buffer_append_string(out, word->name);
		is_first = false;
	}
}

bool config_setting_applies(const struct config_setting *setting, const void *base)
{
	unsigned kind;

	if (setting->kinds == 0)
		return true;
	memcpy(&kind, (const char *)base + kind_setting(setting)->offset, sizeof kind);
	return (setting->kinds & 1u << kind) != 0;
}

void config_setting_allowed(const struct config_setting *setting, struct buffer *out)
{
	uint64_t max = setting->max > 0 ? setting->max : setting->type->max;

	if (setting->words != NULL) {
		for (const struct config_word *word = setting->words; word->name != NULL; word++) {
			buffer_append_string(out, word == setting->words ? "" : ", ");
			buffer_append_string(out, word->name);
		}
		return;
	}
	buffer_append_string(out, setting->type->allowed);
	if (setting->type->units != NULL) {
		buffer_append_string(out, " from ");
		config_type_print_number(setting->type, setting->min, out);
		buffer_append_string(out, " to ");
		config_type_print_number(setting->type, setting->max, out);
	} else if (max > 0) {
		buffer_append_format(out, " of at most %" PRIu64 " bytes", max);
	}
}
