// SPDX-License-Identifier: ISC
/* The tree of sections and settings of a text. */
#include "base/panic.h"
#include "config/internal.h"

static void init_section(struct config_tree *tree, struct config_tree_section *section,
			 enum config_section kind, const char *title)
{
	section->kind = kind;
	section->title = title;
	section->uses =
		arena_alloc(tree->arena, config_section_count(kind) * sizeof *section->uses);
}

void config_tree_init(struct config_tree *tree)
{
	*tree = (struct config_tree){.arena = arena_new()};
	init_section(tree, &tree->root, CONFIG_SECTION_ROOT, "");
}

void config_tree_clear(struct config_tree *tree)
{
	arena_free(tree->arena);
}

struct config_tree_section *config_tree_add(struct config_tree *tree, enum config_section kind,
					    const char *title, unsigned line)
{
	struct config_tree_section *section = arena_alloc(tree->arena, sizeof *section);

	init_section(tree, section, kind, title);
	section->line = line;
	if (tree->first == NULL)
		tree->first = section;
	else
		tree->last->next = section;
	tree->last = section;
	return section;
}

void config_tree_append(struct config_tree *tree, struct config_tree_use *use, const char *text,
			unsigned line)
{
	struct config_tree_value *value = arena_alloc(tree->arena, sizeof *value);

	*value = (struct config_tree_value){.text = str_from(text), .line = line};
	if (use->last == NULL) {
		use->line = line;
		use->first = value;
	} else {
		use->last->next = value;
	}
	use->last = value;
	use->count++;
}

struct config_tree_use *config_tree_find_use(const struct config_tree_section *section,
					     struct str setting)
{
	struct config_rows rows = {.section = section->kind};
	const struct config_setting *row;

	for (size_t i = 0; (row = config_rows_next(&rows)) != NULL; i++)
		if (str_equal(setting, str_from(row->name)))
			return &section->uses[i];
	return NULL;
}

const struct config_tree_use *config_tree_use(const struct config_tree_section *section,
					      const char *setting)
{
	const struct config_tree_use *use = config_tree_find_use(section, str_from(setting));

	if (use == NULL)
		panic("no setting %s", setting);
	return use;
}
