// SPDX-License-Identifier: ISC
/* The sections rule: that each may apply, and what they cost together. */
#include "config/internal.h"
#include "config/type/type.h"
#include "config/type/value.h"
#include "mail/mailbox/folder.h"
#include <string.h>

/* What the rules so far have. */
struct rules {
	struct config *config;
	const struct config_tree_section *sections[CONFIG_RULES_MAX];
	size_t masks;
	const char *fields[CONFIG_RULE_FIELDS_MAX];
	size_t field_count;
};

/* Whether the rule holds for every message of its services. */
static bool has_all(const struct config_tree_section *section)
{
	static const char *const conditions[] = {"header", "sender",  "recipient", "detail",
						 "larger", "smaller", "automatic"};

	for (size_t i = 0; i < COUNT_OF(conditions); i++)
		if (config_tree_use(section, conditions[i])->line != 0)
			return false;
	return true;
}

static void report_covered_rule(const struct rules *rules, size_t index, size_t other,
				struct config_problems *problems)
{
	struct buffer message CLEANUP(buffer_clear) = {0};

	buffer_append_format(&message, "never applies: rule %s in ",
			     rules->config->rules[other].name);
	config_problem_append_line(problems, rules->sections[other]->line, &message);
	buffer_append_string(&message, " comes first and has all of its messages");
	buffer_append_byte(&message, '\0');
	config_problem_report_section(rules->sections[index], buffer_data(&message),
				      "the narrower rule first", problems);
}

/* Against those before it. */
static void check_rule_order(const struct rules *rules, size_t index,
			     struct config_problems *problems)
{
	const struct config_rule *rule = &rules->config->rules[index];
	const struct config_rule *other = rules->config->rules;

	for (size_t i = 0; i < index; i++, other++) {
		if (strcmp(other->name, rule->name) == 0) {
			config_problem_add_repeated(problems, rules->sections[index]->line,
						    config_problem_name(problems,
									CONFIG_SECTION_RULE,
									rule->name, NULL),
						    STR(""), rules->sections[i]->line);
			return;
		}
		if (has_all(rules->sections[i]) &&
		    (*other->service == '\0' || strcmp(other->service, rule->service) == 0)) {
			report_covered_rule(rules, index, i, problems);
			return;
		}
	}
}

/* FOLDER with "x" in place of %x. */
static bool can_be_folder(const char *folder)
{
	struct buffer name CLEANUP(buffer_clear) = {0};

	for (const char *at = folder; *at != '\0'; at++) {
		at += *at == '%';
		buffer_append_byte(&name, *at);
	}
	return mail_folder_is_valid(buffer_view(&name));
}

static void check_rule_folder(const struct config_rule *rule,
			      const struct config_tree_section *section,
			      struct config_problems *problems)
{
	if (*rule->folder == '\0')
		return;
	if (config_type_check_percents(str_from(rule->folder), "x").message != NULL)
		config_problem_report(section, "folder", "an unknown % sequence", "%x", problems);
	else if (!can_be_folder(rule->folder))
		config_problem_report(section, "folder", "not a folder",
				      "names of at most 255 bytes of UTF-8, with / between levels",
				      problems);
}

static void check_rule_service(const struct config *config, const struct config_rule *rule,
			       const struct config_tree_section *section,
			       struct config_problems *problems)
{
	const struct config_service *service = config_service_find(config, str_from(rule->service));

	if (*rule->service != '\0' && (service == NULL || !config_service_records(service)))
		config_problem_report(section, "service", "there is no such service",
				      "the name of a service of kind mailbox or imap", problems);
}

static bool has_counted_field(const struct rules *rules, const char *name)
{
	for (size_t i = 0; i < rules->field_count; i++)
		if (strcmp(rules->fields[i], name) == 0)
			return true;
	return false;
}

/* What the rules cost for each message must have a bound. */
static void count_rule(struct rules *rules, const struct config_rule *rule,
		       const struct config_tree_section *section, struct config_problems *problems)
{
	size_t before = rules->masks;

	rules->masks += rule->header_count + rule->sender_count + rule->recipient_count +
			rule->detail_count;
	if (before <= CONFIG_RULE_MASKS_MAX && rules->masks > CONFIG_RULE_MASKS_MAX)
		config_problem_report_section(section, "too many masks in all rules so far",
					      "at most 500", problems);
	for (size_t i = 0; i < rule->header_count; i++) {
		if (has_counted_field(rules, rule->headers[i].name))
			continue;
		if (rules->field_count == CONFIG_RULE_FIELDS_MAX) {
			config_problem_report(section, "header",
					      "too many names of fields in all rules so far",
					      "at most 32 different ones", problems);
			return;
		}
		rules->fields[rules->field_count++] = rule->headers[i].name;
	}
}

static void check_rule_settings(struct rules *rules, size_t index, struct config_problems *problems)
{
	const struct config_rule *rule = &rules->config->rules[index];
	const struct config_tree_section *section = rules->sections[index];

	if (!config_text_is_short_name(str_from(rule->name)))
		config_problem_report_section(section, "a rule cannot be called this",
					      "1 to 32 of a-z, 0-9, '-', '_'", problems);
	check_rule_service(rules->config, rule, section, problems);
	check_rule_folder(rule, section, problems);
	config_check_flags(rule->flags, rule->flag_count, true, section, problems);
	if (rule->smaller > 0 && rule->smaller <= rule->larger + 1)
		config_problem_report(section, "smaller", "no size is larger and smaller",
				      "at least two bytes more than larger", problems);
	check_rule_order(rules, index, problems);
	count_rule(rules, rule, section, problems);
}

void config_add_rules(struct config *config, const struct config_tree *tree,
		      struct config_problems *problems)
{
	struct rules rules = {.config = config};

	config->rules = arena_alloc(config->arena, CONFIG_RULES_MAX * sizeof *config->rules);
	memset(config->rules, 0, CONFIG_RULES_MAX * sizeof *config->rules);
	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next) {
		size_t index = config->rule_count;

		if (s->kind != CONFIG_SECTION_RULE)
			continue;
		if (index == CONFIG_RULES_MAX) {
			config_problem_report_section(s, "too many rules", "at most 100", problems);
			return;
		}
		rules.sections[index] = s;
		struct config_rule *rule = &config->rules[index];
		rule->name = arena_copy(config->arena, str_from(s->title));
		rule->service = rule->folder = ""; /* where what the file says is reported */
		config_fill_section(config, s, rule, problems);
		config->rule_count++;
		check_rule_settings(&rules, index, problems);
	}
}
