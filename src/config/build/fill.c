// SPDX-License-Identifier: ISC
/* Fills struct config from the tree of sections and settings, by the tables in schema/. */
#include "base/panic.h"
#include "config/internal.h"
#include <string.h>

struct fill {
	struct config *config;
	const struct config_tree_section *section;
	struct config_problems *problems;
};

static void report_setting_problem(const struct fill *fill, const struct config_setting *setting,
				   unsigned line, struct str found,
				   struct config_complaint complaint)
{
	struct buffer allowed = {0};

	if (complaint.allowed == NULL) {
		config_setting_allowed(setting, &allowed);
		buffer_append_byte(&allowed, '\0');
		complaint.allowed = buffer_data(&allowed);
	}
	config_problem_add(fill->problems, line,
			   config_problem_name(fill->problems, fill->section->kind,
					       fill->section->title, setting->name),
			   found, complaint.message, complaint.allowed);
	buffer_clear(&allowed);
}

static bool read_value(const struct fill *fill, const struct config_setting *setting,
		       const struct config_tree_value *value, void *place)
{
	struct config_complaint complaint = {"a control character", ""};

	if (!str_has_control(value->text))
		complaint = setting->type->parse(setting, fill->config, value->text, place);
	if (complaint.message != NULL)
		report_setting_problem(fill, setting, value->line,
				       setting->type->is_secret ? STR("") : value->text, complaint);
	return complaint.message == NULL;
}

static void read_setting_list(const struct fill *fill, const struct config_setting *setting,
			      const struct config_tree_use *use, char *base)
{
	size_t size = setting->type->size;
	char *values = arena_alloc(fill->config->arena, use->count * size);
	size_t count = 0;

	for (const struct config_tree_value *v = use->first; v != NULL; v = v->next)
		count += read_value(fill, setting, v, values + count * size);
	memcpy(base + setting->offset, &values, sizeof values);
	memcpy(base + setting->count_offset, &count, sizeof count);
}

static void read_initial_value(const struct fill *fill, const struct config_setting *setting,
			       struct str text, void *place)
{
	struct config_complaint complaint =
		setting->type->parse(setting, fill->config, text, place);

	if (complaint.message != NULL)
		panic("default of %s: %s", setting->name, complaint.message);
}

static void read_initial_list(const struct fill *fill, const struct config_setting *setting,
			      char *base)
{
	size_t size = setting->type->size;
	struct str rest = str_from(setting->initial);
	struct str value;
	char *values;
	size_t count = 0;

	while (config_initial_next(&rest, &value))
		count++;
	values = arena_alloc(fill->config->arena, count * size);
	memcpy(base + setting->offset, &values, sizeof values);
	memcpy(base + setting->count_offset, &count, sizeof count);
	rest = str_from(setting->initial);
	for (; config_initial_next(&rest, &value); values += size)
		read_initial_value(fill, setting, value, values);
}

static void read_initial(const struct fill *fill, const struct config_setting *setting, char *base)
{
	if (setting->type->is_list)
		read_initial_list(fill, setting, base);
	else
		read_initial_value(fill, setting, str_from(setting->initial),
				   base + setting->offset);
}

/* A value that is refused leaves the default behind: checks that follow find one that makes sense.
 */
static void read_use(const struct fill *fill, const struct config_setting *setting,
		     const struct config_tree_use *use, char *base)
{
	bool is_read = false;

	if (setting->type->is_list) {
		read_setting_list(fill, setting, use, base);
		return;
	}
	if (use->count == 1)
		is_read = read_value(fill, setting, use->first, base + setting->offset);
	else
		report_setting_problem(
			fill, setting, use->line, STR(""),
			(struct config_complaint){"takes one value, not a list", NULL});
	if (!is_read && setting->initial != NULL)
		read_initial(fill, setting, base);
}

void config_fill_section(struct config *config, const struct config_tree_section *section,
			 void *base, struct config_problems *problems)
{
	struct fill fill = {config, section, problems};
	struct config_rows rows = {.section = section->kind};
	const struct config_setting *row;

	for (size_t i = 0; (row = config_rows_next(&rows)) != NULL; i++) {
		if (section->uses[i].line > 0)
			read_use(&fill, row, &section->uses[i], base);
		else if (row->initial != NULL)
			read_initial(&fill, row, base);
		else if (row->kinds == 0 && row->computed == NULL)
			report_setting_problem(&fill, row, section->line, STR(""),
					       (struct config_complaint){"must be set", NULL});
	}
}
