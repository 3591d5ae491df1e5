// SPDX-License-Identifier: ISC
/* Finds the line of a setting, for errors that are found after parsing. */
#include "base/panic.h"
#include "config/internal.h"
#include <string.h>

bool config_tree_find(const struct config_tree *tree, const char *name,
		      struct config_tree_found *out)
{
	struct config_problems names = {0}; /* owns what config_problem_name() returns */
	const char *dot = strrchr(name, '.');
	const char *setting = dot != NULL ? dot + 1 : name;

	*out = (struct config_tree_found){NULL};
	if (dot == NULL) {
		out->section = &tree->root;
		out->row = config_setting_find(CONFIG_SECTION_ROOT, str_from(name));
		return out->row != NULL;
	}
	for (const struct config_tree_section *s = tree->first; out->row == NULL && s != NULL;
	     s = s->next) {
		if (strcmp(config_problem_name(&names, s->kind, s->title, setting), name) != 0)
			continue;
		out->section = s;
		out->row = config_setting_find(s->kind, str_from(setting));
	}
	config_problems_clear(&names);
	return out->row != NULL;
}

void config_tree_read(struct config_tree *tree, struct str text)
{
	struct config_problems problems = {0};

	if (!config_tree_parse(tree, text, &problems))
		panic("a configuration that was right is wrong");
	config_problems_clear(&problems);
}

struct config_position config_setting_position(struct str text, const char *name)
{
	struct config_tree tree;
	struct config_position position;
	struct config_tree_found found;
	unsigned line = 0;

	config_tree_read(&tree, text);
	if (config_tree_find(&tree, name, &found)) {
		line = config_tree_use(found.section, found.row->name)->line;
		if (line == 0)
			line = found.section->line;
	}
	position = config_lines_find(config_lines_of(text, tree.arena), line);
	config_tree_clear(&tree);
	return position;
}
