// SPDX-License-Identifier: ISC
/* The sections source, and whether those that settings name are there. */
#include "config/internal.h"
#include "config/type/value.h"
#include <string.h>

static void add_source(struct config *config, const struct config_tree_section *section,
		       unsigned *lines, struct config_problems *problems)
{
	struct str name = str_from(section->title);
	const struct config_source *other = config_source_find(config, name);
	struct config_source *source = &config->sources[config->source_count];

	if (!config_text_is_short_name(name))
		config_problem_report_section(section, "a source cannot be called this",
					      "1 to 32 of a-z, 0-9, '-', '_'", problems);
	if (other != NULL)
		config_problem_add_repeated(
			problems, section->line,
			config_problem_name(problems, section->kind, section->title, NULL), STR(""),
			lines[other - config->sources]);
	lines[config->source_count++] = section->line;
	source->name = arena_copy(config->arena, name);
	config_fill_section(config, section, source, problems);
	if (config_tree_use(section, "addresses")->count > CONFIG_SOURCE_ADDRESSES_MAX)
		config_problem_report_section(section, "too many addresses", "at most 64",
					      problems);
	else if (config_tree_use(section, "addresses")->count == 0 &&
		 config_tree_use(section, "addresses")->line != 0)
		config_problem_report_section(section, "no addresses", "at least one", problems);
}

void config_add_sources(struct config *config, const struct config_tree *tree,
			struct config_problems *problems)
{
	unsigned lines[CONFIG_SOURCES_MAX] = {0};

	config->sources = arena_alloc(config->arena, CONFIG_SOURCES_MAX * sizeof *config->sources);
	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next) {
		if (s->kind != CONFIG_SECTION_SOURCE)
			continue;
		if (config->source_count < CONFIG_SOURCES_MAX)
			add_source(config, s, lines, problems);
		else
			config_problem_report_section(s, "too many sources", "at most 256",
						      problems);
	}
}

/* SECTION's SETTING, in LINE, names a source. */
static void check_name(const struct config *config, const struct config_tree_section *section,
		       const char *setting, unsigned line, const char *name,
		       struct config_problems *problems)
{
	if (*name == '\0' || config_source_find(config, str_from(name)) != NULL)
		return;
	config_problem_add(problems, line,
			   config_problem_name(problems, section->kind, section->title, setting),
			   str_from(name), "there is no section source of this name",
			   "the NAME of a section source");
}

/* Each names a source, and no key has two. What was wrong in itself is left out: then lines are not
 * known. */
static void check_uses(const struct config *config, const struct config_tree *tree,
		       const char *setting, const struct config_source_use *uses, size_t count,
		       struct config_problems *problems)
{
	const struct config_tree_use *use = config_tree_use(&tree->root, setting);
	const char **keys = arena_alloc(config->arena, use->count * sizeof *keys);
	const struct config_tree_value *value = use->first;

	if (use->count != count)
		return;
	for (size_t i = 0; i < count; i++, value = value->next) {
		check_name(config, &tree->root, setting, value->line, uses[i].source, problems);
		keys[i] = uses[i].key;
	}
	config_check_once(&tree->root, setting, keys, problems);
}

static void check_classes(const struct config *config, const struct config_tree *tree,
			  struct config_problems *problems)
{
	size_t index = 0;

	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next) {
		if (s->kind != CONFIG_SECTION_CLASS || index == config->class_count)
			continue;
		check_name(config, s, "source", config_tree_use(s, "source")->line,
			   config->classes[index++].source, problems);
	}
}

void config_check_sources(struct config *config, const struct config_tree *tree,
			  struct config_problems *problems)
{
	for (size_t i = 0; i < config->source_count; i++)
		if (config->sources[i].hostname == NULL)
			config->sources[i].hostname = config->hostname;
	check_name(config, &tree->root, "source", config_tree_use(&tree->root, "source")->line,
		   config->source, problems);
	check_uses(config, tree, "sender_sources", config->sender_sources,
		   config->sender_source_count, problems);
	check_uses(config, tree, "domain_sources", config->domain_sources,
		   config->domain_source_count, problems);
	check_classes(config, tree, problems);
}
