// SPDX-License-Identifier: ISC
/* Checks of single settings: those that only some kinds of services, backends of the directory, or
 * users of auth have, and what their rows check themselves. */
#include "config/schema/row.h"
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

static void check_kinds(const void *base, const struct config_tree_section *section,
			struct config_problems *problems)
{
	struct config_rows rows = {.section = section->kind};
	const struct config_setting *row;

	for (size_t i = 0; (row = config_rows_next(&rows)) != NULL; i++)
		if (row->kinds != 0)
			check_setting_kind(base, section, row, &section->uses[i], problems);
}

/* The check of one row, and where its problems go. */
struct row_checking {
	struct config_row_check check;
	const struct config_tree_section *section;
	const struct config_setting *row;
	struct config_problems *problems;
};

static void report_row_problem(const struct config_row_check *check, const char *message,
			       const char *allowed)
{
	const struct row_checking *checking = CONTAINER_OF(check, struct row_checking, check);

	config_problem_report(checking->section, checking->row->name, message, allowed,
			      checking->problems);
}

static void run_row_checks(const struct config *config, const void *base,
			   const struct config_tree_section *section,
			   struct config_problems *problems)
{
	struct row_checking checking = {
		{config, base, report_row_problem}, section, NULL, problems};
	struct config_rows rows = {.section = section->kind};

	while ((checking.row = config_rows_next(&rows)) != NULL)
		if (checking.row->check != NULL && config_setting_applies(checking.row, base))
			checking.row->check(&checking.check);
}

static const struct config_stage *stage_of(const struct config *config,
					   const struct config_tree_section *section)
{
	enum mail_stage stage;

	return mail_stage_parse(str_from(section->title), &stage) ? &config->stages[stage] : NULL;
}

/* The struct of SECTION, the INDEX-th of its kind; NULL: its rows are not to be checked. */
static const void *checked_base(const struct config *config,
				const struct config_tree_section *section, size_t index)
{
	switch (section->kind) {
	case CONFIG_SECTION_LISTEN:
		return index < config->listen_count ? &config->listens[index] : NULL;
	case CONFIG_SECTION_SERVICE:
		return index < config->service_count && config->services[index].kind != 0
			       ? &config->services[index]
			       : NULL;
	case CONFIG_SECTION_TLS:
		return &config->tls_policies[index];
	case CONFIG_SECTION_TRANSPORT:
		return config_transport_find(config, str_from(section->title));
	case CONFIG_SECTION_NODE:
		return &config->node;
	case CONFIG_SECTION_STAGE:
		return stage_of(config, section);
	case CONFIG_SECTION_RECORD:
		return &config->record;
	case CONFIG_SECTION_DIRECTORY:
		return config->directory.backend != CONFIG_BACKEND_NONE ? &config->directory : NULL;
	case CONFIG_SECTION_AUTH:
		return config_has_auth(config) ? &config->auth : NULL;
	default:
		return NULL;
	}
}

void config_check_rows(const struct config *config, const struct config_tree *tree,
		       struct config_problems *problems)
{
	size_t counts[CONFIG_SECTION_COUNT] = {0};

	run_row_checks(config, config, &tree->root, problems);
	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next) {
		const void *base = checked_base(config, s, counts[s->kind]++);

		if (base == NULL)
			continue;
		check_kinds(base, s, problems);
		run_row_checks(config, base, s, problems);
	}
}
