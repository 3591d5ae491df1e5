// SPDX-License-Identifier: ISC
/* Describes settings and their values, for people. */
#include "base/panic.h"
#include "base/text/quote.h"
#include "config/internal.h"
#include "config/parse/suggest.h"
#include "config/section/send.h"
#include <stdlib.h>
#include <string.h>

/* --- settings that differ from their defaults --- */

struct changes {
	const struct config *config;
	const char *file;
	const struct config_lines *lines;
	struct buffer *out;
};

/* Appends TEXT as config_print() does; of a secret, which TEXT may have been made from already,
 * that there is one. */
static void append_setting_value(const struct changes *changes, const struct config_setting *row,
				 struct str text, struct buffer *out)
{
	void *place = memory_alloc_zero(1, row->type->size);
	struct config_complaint complaint = row->type->parse(row, changes->config, text, place);

	if (row->type->is_secret && text.length > 0)
		quote_append(out, STR(CONFIG_HIDDEN));
	else if (complaint.message == NULL)
		config_print_value(row, place, out);
	free(place);
}

static void append_use(const struct changes *changes, const struct config_setting *row,
		       const struct config_tree_use *use, struct buffer *out)
{
	if (row->type->is_list)
		buffer_append_string(out, use->count > 0 ? "{ " : "{");
	for (const struct config_tree_value *value = use->first; value != NULL;
	     value = value->next) {
		append_setting_value(changes, row, value->text, out);
		if (value->next != NULL)
			buffer_append_string(out, ", ");
	}
	if (row->type->is_list)
		buffer_append_string(out, " }");
}

static void append_initial(const struct changes *changes, const struct config_setting *row,
			   struct buffer *out)
{
	struct str rest = str_from(row->initial);
	struct str value;

	if (!row->type->is_list) {
		append_setting_value(changes, row, rest, out);
		return;
	}
	buffer_append_string(out, rest.length > 0 ? "{ " : "{");
	while (config_initial_next(&rest, &value)) {
		append_setting_value(changes, row, value, out);
		buffer_append_string(out, rest.length > 0 ? ", " : "");
	}
	buffer_append_string(out, " }");
}

static bool is_default(const struct changes *changes, const struct config_setting *row,
		       struct str value)
{
	struct buffer initial CLEANUP(buffer_clear) = {0};

	if (row->initial == NULL)
		return false;
	append_initial(changes, row, &initial);
	return str_equal(buffer_view(&initial), value);
}

/* Ends a line. */
static void append_setting_place(const struct changes *changes, unsigned line, struct buffer *out)
{
	struct config_position position = config_lines_find(changes->lines, line);

	buffer_append_string(out, "  # ");
	buffer_append_str(out, position.file.length > 0 ? position.file : str_from(changes->file));
	buffer_append_format(out, ":%u\n", position.line);
}

static void append_settings(const struct changes *changes,
			    const struct config_tree_section *section, struct buffer *out)
{
	const char *indent = section->kind == CONFIG_SECTION_ROOT ? "" : "\t";
	struct config_rows rows = {.section = section->kind};
	const struct config_setting *row;

	for (size_t i = 0; (row = config_rows_next(&rows)) != NULL; i++) {
		const struct config_tree_use *use = &section->uses[i];
		struct buffer value CLEANUP(buffer_clear) = {0};

		if (use->line == 0)
			continue;
		append_use(changes, row, use, &value);
		if (is_default(changes, row, buffer_view(&value)))
			continue;
		buffer_append_format(out, "%s%s = ", indent, row->name);
		buffer_append_str(out, buffer_view(&value));
		append_setting_place(changes, use->line, out);
	}
}

/* Sections that exist by default are printed only with settings that were changed. */
static void append_section(const struct changes *changes, const struct config_tree_section *section,
			   struct buffer *out)
{
	struct buffer settings CLEANUP(buffer_clear) = {0};

	append_settings(changes, section, &settings);
	if (settings.length == 0 &&
	    (section->kind == CONFIG_SECTION_TRANSPORT || section->kind == CONFIG_SECTION_PROCESS))
		return;
	buffer_append_format(out, "\n%s", config_section_info(section->kind)->name);
	if (*section->title != '\0') {
		buffer_append_byte(out, ' ');
		quote_append(out, str_from(section->title));
	}
	buffer_append_string(out, " {");
	append_setting_place(changes, section->line, out);
	buffer_append_str(out, buffer_view(&settings));
	buffer_append_string(out, "}\n");
}

void config_print_changed(const struct config *config, const char *file, struct str text,
			  struct buffer *out)
{
	struct config_tree tree;
	struct changes changes = {.config = config, .file = file};

	config_tree_read(&tree, text);
	changes.lines = config_lines_of(text, tree.arena);
	append_settings(&changes, &tree.root, out);
	for (const struct config_tree_section *s = tree.first; s != NULL; s = s->next)
		append_section(&changes, s, out);
	config_tree_clear(&tree);
}

/* --- one setting --- */

/* There is no setting NAME; SECTION is the one that it names, or NULL. */
static void append_unknown(const char *name, const struct config_tree_section *section,
			   struct buffer *why)
{
	struct config_problems problems = {0};
	const char *dot = strrchr(name, '.');

	if (dot != NULL && section == NULL) {
		buffer_append_format(why, "%s: there is no such section in the configuration",
				     name);
		return;
	}
	config_suggest(&problems, 0, name, section != NULL ? section->kind : CONFIG_SECTION_ROOT,
		       str_from(dot != NULL ? dot + 1 : name), false);
	buffer_append_format(why, "%s: %s", name, problems.first->message);
	config_problems_clear(&problems);
}

/* TREE is parsed from config_print()'s output, which has every setting with a value. */
static void take_explained_value(const struct config *config, const struct config_tree_found *found,
				 struct config_explanation *out)
{
	const struct changes changes = {.config = config};
	const struct config_tree_use *use = config_tree_use(found->section, found->row->name);

	if (use->line != 0)
		append_use(&changes, found->row, use, &out->value);
	else if (found->row->type->is_list)
		buffer_append_string(&out->value, "{ }");
}

bool config_explain(const struct config *config, struct str text, const char *name,
		    struct config_explanation *out, struct buffer *why)
{
	struct buffer printed CLEANUP(buffer_clear) = {0};
	struct config_tree tree;
	struct config_tree_found found;
	bool is_found;

	*out = (struct config_explanation){.name = name};
	config_print(config, &printed);
	config_tree_read(&tree, buffer_view(&printed));
	is_found = config_tree_find(&tree, name, &found);
	if (is_found) {
		take_explained_value(config, &found, out);
		config_setting_allowed(found.row, &out->allowed);
		out->initial =
			found.row->computed != NULL ? found.row->computed : found.row->initial;
		out->needs_restart = config_setting_is_fixed(found.row);
		out->meaning = found.row->meaning;
	} else {
		append_unknown(name, found.section, why);
	}
	config_tree_clear(&tree);
	config_tree_read(&tree, text);
	if (is_found && config_tree_find(&tree, name, &found))
		out->position =
			config_lines_find(config_lines_of(text, tree.arena),
					  config_tree_use(found.section, found.row->name)->line);
	config_tree_clear(&tree);
	return is_found;
}

void config_explanation_clear(struct config_explanation *explanation)
{
	buffer_clear(&explanation->value);
	buffer_clear(&explanation->allowed);
}
