// SPDX-License-Identifier: ISC
/* Files into a tree of sections and settings. */
#include "base/panic.h"
#include "config/internal.h"
#include <confuse.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS_MAX = 64 };

/* What the callbacks work on. libConfuse has no place for it, but copies the
 * numeric default of every option, which a list of strings does not use. */
struct context {
	struct config_tree *tree;
	struct config_problems *problems;
	struct config_tree_section *section; /* the one that is being read; NULL: the root */
	bool has_syntax_error;
};

static struct context *context_of(const cfg_opt_t *option)
{
	return (struct context *)(intptr_t)option->def.number;
}

static void init_section(struct config_tree *tree, struct config_tree_section *section,
			 enum config_section kind)
{
	size_t count;

	config_section_settings(kind, &count);
	section->kind = kind;
	section->title = "";
	section->uses = arena_alloc(tree->arena, count * sizeof *section->uses);
}

/* The section in which an option of CFG stands; the first value begins it. */
static struct config_tree_section *section_of(struct context *context, const cfg_t *cfg)
{
	struct config_tree *tree = context->tree;
	enum config_section kind = config_section_find(str_from(cfg->name));

	if (kind == CONFIG_SECTION_COUNT)
		return &tree->root;
	if (context->section == NULL) {
		context->section = arena_alloc(tree->arena, sizeof *context->section);
		init_section(tree, context->section, kind);
	}
	return context->section;
}

const struct config_tree_use *config_tree_use(const struct config_tree_section *section,
					      const char *setting)
{
	const struct config_setting *row = config_setting_find(section->kind, str_from(setting));
	size_t count;

	if (row == NULL)
		panic("no setting %s", setting);
	return section->uses + (row - config_section_settings(section->kind, &count));
}

static void report_repetition(struct context *context, const cfg_t *cfg, const char *name,
			      const struct config_tree_section *section, unsigned first_line)
{
	config_problem_add_repeated(context->problems, (unsigned)cfg->line,
				    config_problem_name(context->problems, section->kind,
							cfg->title != NULL ? cfg->title : "", name),
				    STR(""), first_line);
}

/* libConfuse: a value was read. OPTION has one value when it is the first after "=". */
static int on_value(cfg_t *cfg, cfg_opt_t *option, const char *value, void *result)
{
	struct context *context = context_of(option);
	struct config_tree_section *section = section_of(context, cfg);
	size_t count;
	const struct config_setting *rows = config_section_settings(section->kind, &count);
	struct config_tree_use *use = section->uses;
	struct config_tree_value *copy;

	*(const char **)result = ""; /* it need not keep another copy */
	while (strcmp(rows->name, option->name) != 0) {
		rows++;
		use++;
	}
	if (use->line != 0 && option->nvalues == 1) {
		if (!use->is_repeated)
			report_repetition(context, cfg, option->name, section, use->line);
		use->is_repeated = true;
	}
	if (use->is_repeated)
		return 0;
	copy = arena_alloc(context->tree->arena, sizeof *copy);
	copy->text = arena_copy_str(context->tree->arena, str_from(value));
	copy->line = (unsigned)cfg->line;
	if (use->last == NULL) {
		use->line = copy->line;
		use->first = copy;
	} else {
		use->last->next = copy;
	}
	use->last = copy;
	use->count++;
	return 0;
}

/* libConfuse: a section has ended. It is dropped there, because every new title is compared with
 * all that it has. */
static int on_section_end(cfg_t *cfg, cfg_opt_t *option)
{
	struct context *context = context_of(option);
	struct config_tree *tree = context->tree;
	cfg_t *parsed = cfg_opt_getnsec(option, 0);
	struct config_tree_section *section = section_of(context, parsed);
	size_t number = tree->first == NULL ? 0 : tree->last->number + 1;

	(void)cfg;
	if (number >= tree->line_count)
		return -1;
	section->number = number;
	section->line = tree->lines[number];
	section->title =
		arena_copy(tree->arena, str_from(parsed->title != NULL ? parsed->title : ""));
	if (tree->first == NULL)
		tree->first = section;
	else
		tree->last->next = section;
	tree->last = section;
	context->section = NULL;
	return cfg_opt_rmnsec(option, 0) == CFG_SUCCESS ? 0 : -1;
}

static void on_error(cfg_t *cfg, const char *format, va_list arguments)
{
	struct context *context = context_of(cfg->opts);
	struct buffer message = {0};

	context->has_syntax_error = true;
	buffer_append_format_list(&message, format, arguments);
	buffer_append_byte(&message, '\0');
	config_problem_add(context->problems, (unsigned)cfg->line, NULL, STR(""),
			   buffer_data(&message), NULL);
	buffer_clear(&message);
}

static cfg_opt_t *add_options(cfg_opt_t *next, enum config_section section, struct context *context)
{
	size_t count;
	const struct config_setting *rows = config_section_settings(section, &count);

	for (size_t i = 0; i < count; i++) {
		*next = (cfg_opt_t){.name = rows[i].name,
				    .type = CFGT_STR,
				    .flags = CFGF_LIST | CFGF_NODEFAULT,
				    .parsecb = on_value};
		next->def.number = (long)(intptr_t)context;
		next++;
	}
	return next;
}

static cfg_t *new_parser(struct context *context)
{
	cfg_opt_t inner[CONFIG_SECTION_COUNT][OPTIONS_MAX] = {0};
	cfg_opt_t options[OPTIONS_MAX] = {0};
	cfg_opt_t *next = add_options(options, CONFIG_SECTION_ROOT, context);
	cfg_t *cfg;

	for (unsigned i = CONFIG_SECTION_LISTEN; i < CONFIG_SECTION_COUNT; i++) {
		const struct config_section_info *info =
			config_section_info((enum config_section)i);

		add_options(inner[i], (enum config_section)i, context);
		*next = (cfg_opt_t){.name = info->name,
				    .type = CFGT_SEC,
				    .flags = *info->title != '\0' ? CFGF_MULTI | CFGF_TITLE
								  : CFGF_MULTI,
				    .subopts = inner[i],
				    .validcb = on_section_end};
		next->def.number = (long)(intptr_t)context;
		next++;
	}
	cfg = cfg_init(options, CFGF_NONE);
	if (cfg == NULL)
		panic("out of memory");
	cfg_set_error_function(cfg, on_error);
	return cfg;
}

bool config_tree_parse(struct config_tree *tree, const char *text, struct config_problems *problems)
{
	struct context context = {.tree = tree, .problems = problems};
	cfg_t *cfg;
	int result;

	init_section(tree, &tree->root, CONFIG_SECTION_ROOT);
	cfg = new_parser(&context);
	result = cfg_parse_buf(cfg, text);
	cfg_free(cfg);
	if (result != CFG_SUCCESS && !context.has_syntax_error)
		config_problem_add(problems, 0, NULL, STR(""), "syntax error", NULL);
	return result == CFG_SUCCESS;
}
