// SPDX-License-Identifier: ISC
/* Runs all stages: files, tree, settings, checks. */
#include "config/internal.h"
#include <errno.h>

static unsigned line_of_position(struct str text, size_t position)
{
	unsigned line = 1;

	for (size_t i = 0; i < position; i++)
		line += text.data[i] == '\n';
	return line;
}

static bool text_is_readable(struct str text, struct config_problems *problems)
{
	ptrdiff_t zero = str_find(text, '\0');

	if (text.length > CONFIG_TEXT_MAX)
		config_problem_add(problems, 0, NULL, STR(""), "the file is too large",
				   "at most 4 MiB");
	else if (zero >= 0)
		config_problem_add(problems, line_of_position(text, (size_t)zero), NULL, STR(""),
				   "a NUL byte in the file", NULL);
	return problems->count == 0;
}

static void parse_configuration(struct config *config, struct str text,
				struct config_problems *problems)
{
	struct config_tree tree;

	if (config_tree_parse(&tree, text, problems))
		config_build(config, &tree, problems);
	config_tree_clear(&tree);
}

int config_parse(const char *file, struct str text, struct config **config_out,
		 struct config_problems *problems)
{
	struct arena *arena;
	struct config *config;

	*problems = (struct config_problems){0};
	if (!text_is_readable(text, problems))
		return -EINVAL;
	arena = arena_new();
	problems->lines = config_lines_of(text, arena);
	config = arena_alloc(arena, sizeof *config);
	config->arena = arena;
	config->file = arena_copy(arena, str_from(file));
	config_list_included(problems->lines, config);
	parse_configuration(config, text, problems);
	if (problems->count > 0)
		config_problems_sort(problems);
	problems->lines = NULL;
	if (problems->count > 0) {
		config_free(config);
		return -EINVAL;
	}
	*config_out = config;
	return 0;
}

void config_free(struct config *config)
{
	if (config != NULL)
		arena_free(config->arena);
}
