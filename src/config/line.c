// SPDX-License-Identifier: ISC
/* Where a setting stands, for who finds fault with it later than the parser. */
#include "base/panic.h"
#include "config/internal.h"
#include <stdlib.h>
#include <string.h>

static unsigned line_in(const struct config_tree_section *section, const char *setting)
{
	unsigned line = config_tree_use(section, setting)->line;

	return line != 0 ? line : section->line;
}

static unsigned find(const struct config_tree *tree, const char *name)
{
	struct config_problems names = {0}; /* owns what config_problem_name() returns */
	const char *dot = strrchr(name, '.');
	const char *setting = dot != NULL ? dot + 1 : name;
	unsigned line = 0;

	if (dot == NULL)
		return config_setting_find(CONFIG_SECTION_ROOT, str_from(name)) != NULL
			       ? config_tree_use(&tree->root, name)->line
			       : 0;
	for (const struct config_tree_section *s = tree->first; line == 0 && s != NULL; s = s->next)
		if (config_setting_find(s->kind, str_from(setting)) != NULL &&
		    strcmp(config_problem_name(&names, s->kind, s->title, setting), name) == 0)
			line = line_in(s, setting);
	config_problems_clear(&names);
	return line;
}

struct config_place config_setting_place(struct str text, const char *name)
{
	struct config_problems problems = {0};
	struct config_tree tree = {.arena = arena_new()};
	char *clean = memory_alloc(text.length + 1);
	unsigned stopped_line = 0;
	struct config_lines lines = config_lines_of(text);
	unsigned line = 0;

	if (config_scan(text, clean, &tree, &problems, &stopped_line) &&
	    config_tree_parse(&tree, clean, &problems))
		line = find(&tree, name);
	free(clean);
	arena_free(tree.arena);
	free(tree.lines);
	config_problems_clear(&problems);
	return config_lines_find(&lines, line);
}
