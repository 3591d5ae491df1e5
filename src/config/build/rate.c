// SPDX-License-Identifier: ISC
/* The sections rate. */
#include "config/internal.h"
#include <string.h>

static void report_rate_problem(const struct config_tree_section *section, const char *setting,
				const char *message, const char *allowed,
				struct config_problems *problems)
{
	config_problem_add(problems, section->line,
			   config_problem_name(problems, section->kind, section->title, setting),
			   STR(""), message, allowed);
}

static bool is_rate_name(const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
	size_t length = strspn(text, allowed);

	return length > 0 && length <= 32 && text[length] == '\0';
}

static size_t count_same(const struct config *config, enum config_rate_per per)
{
	size_t count = 0;

	for (size_t i = 0; i < config->rate_count; i++)
		count += config->rates[i].per == per;
	return count;
}

static bool has_class_mask(const struct config *config, const char *mask)
{
	for (size_t i = 0; i < config->class_count; i++)
		if (strcmp(config->classes[i].mask, mask) == 0)
			return true;
	return *mask == '\0';
}

static void check_rate_settings(const struct config *config, const struct config_rate *rate,
				const struct config_tree_section *section,
				struct config_problems *problems)
{
	if (!is_rate_name(rate->name))
		report_rate_problem(section, NULL, "not a name",
				    "1 to 32 of a-z, 0-9, hyphen and underscore", problems);
	for (const struct config_rate *other = config->rates; other < rate; other++)
		if (strcmp(other->name, rate->name) == 0)
			report_rate_problem(section, NULL, "is there twice", "another name",
					    problems);
	if (count_same(config, rate->per) > CONFIG_RATES_PER_MAX)
		report_rate_problem(section, "per", "more than eight sections rate have the same",
				    "at most eight for each", problems);
	if (rate->class_mask != NULL && !has_class_mask(config, rate->class_mask))
		report_rate_problem(section, "class", "there is no such section class",
				    "the mask of one, as stagepost config prints it", problems);
	if (rate->count == CONFIG_RATE_FAILED_LOGINS && rate->per == CONFIG_RATE_PER_USER)
		report_rate_problem(
			section, "per", "who fails to log in has no user",
			"address, class, all; for users there is failure_limit of section auth",
			problems);
	if (rate->count == CONFIG_RATE_CONNECTIONS &&
	    (rate->per == CONFIG_RATE_PER_USER || rate->per == CONFIG_RATE_PER_SENDER_DOMAIN))
		report_rate_problem(section, "per", "is not known yet when a client connects",
				    "address, class, all", problems);
}

void config_add_rates(struct config *config, const struct config_tree *tree,
		      struct config_problems *problems)
{
	config->rates = arena_alloc(config->arena, CONFIG_RATES_MAX * sizeof *config->rates);
	memset(config->rates, 0, CONFIG_RATES_MAX * sizeof *config->rates);
	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next) {
		struct config_rate *rate;

		if (s->kind != CONFIG_SECTION_RATE)
			continue;
		if (config->rate_count == CONFIG_RATES_MAX) {
			report_rate_problem(s, NULL, "too many sections rate", "at most 40",
					    problems);
			return;
		}
		rate = &config->rates[config->rate_count++];
		rate->name = arena_copy(config->arena, str_from(s->title));
		config_fill_section(config, s, rate, problems);
		check_rate_settings(config, rate, s, problems);
	}
}
