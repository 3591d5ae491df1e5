// SPDX-License-Identifier: ISC
/*
 * Why there is a scan before libConfuse (3.3): it stops at the first unknown
 * setting; it takes comments for several lines, or for errors inside a list; it
 * accepts unclosed sections and strings at the end of the file, drops characters
 * that it does not know, and puts environment variables in for "${NAME}". So it
 * is given only known settings, without comments, in a text whose tokens are
 * complete; everything else is reported here.
 */
#include "base/panic.h"
#include "config/internal.h"
#include "config/suggest.h"
#include "config/token.h"
#include <string.h>

struct scan {
	struct config_reader in;
	enum config_section section; /* in which the position is */
	const char *title;
	struct config_tree *tree;
};

static const char *name_text(struct scan *s, const struct config_token *name)
{
	char *text = arena_copy(s->tree->arena, config_token_text(&s->in, name));

	return config_problem_name(s->in.problems, s->section, s->title, text);
}

/* From the '{' of a list to its '}'. */
static bool scan_list(struct scan *s, const struct config_token *name)
{
	unsigned line = s->in.token.line;
	bool is_empty = true;

	for (config_reader_next(&s->in); s->in.token.kind != TOKEN_CLOSE;
	     config_reader_next(&s->in)) {
		if (s->in.token.kind == TOKEN_END) {
			config_problem_add(s->in.problems, line, name_text(s, name), STR(""),
					   "the list that begins here has no end", "}");
			s->in.token.kind = TOKEN_BAD;
		}
		if (s->in.token.kind != TOKEN_WORD && s->in.token.kind != TOKEN_STRING &&
		    s->in.token.kind != TOKEN_COMMA)
			return false;
		is_empty = false;
	}
	if (is_empty)
		config_problem_add(s->in.problems, line, name_text(s, name), STR(""),
				   "an empty list: leave the setting out", NULL);
	return true;
}

/* NAME = VALUE or NAME = { VALUE, VALUE }; at the '='. */
static bool scan_assignment(struct scan *s, const struct config_token *name)
{
	struct str text = config_token_text(&s->in, name);

	config_reader_next(&s->in);
	if (s->in.token.kind == TOKEN_OPEN) {
		if (!scan_list(s, name))
			return false;
	} else if (s->in.token.kind != TOKEN_WORD && s->in.token.kind != TOKEN_STRING) {
		return false;
	}
	if (config_setting_find(s->section, text) == NULL) {
		config_suggest(s->in.problems, name->line, name_text(s, name), s->section, text,
			       false);
		config_reader_blank(&s->in, name->start, s->in.token.end);
	}
	config_reader_next(&s->in);
	return true;
}

/* From the '{' of a section that does not exist to its '}'. */
static bool skip_section(struct scan *s, const struct config_token *name)
{
	size_t depth = 0;

	for (;; config_reader_next(&s->in)) {
		if (s->in.token.kind == TOKEN_OPEN)
			depth++;
		else if (s->in.token.kind == TOKEN_CLOSE && --depth == 0)
			break;
		else if (s->in.token.kind == TOKEN_END)
			config_problem_add(s->in.problems, name->line, name_text(s, name), STR(""),
					   "the section that begins here has no end", "}");
		if (s->in.token.kind == TOKEN_END || s->in.token.kind == TOKEN_BAD) {
			s->in.token.kind = TOKEN_BAD;
			return false;
		}
	}
	config_reader_blank(&s->in, name->start, s->in.token.end);
	config_reader_next(&s->in);
	return true;
}

static bool scan_statements(struct scan *s);

static void note_section(struct config_tree *tree, unsigned line)
{
	if (tree->line_count == tree->line_capacity) {
		tree->line_capacity = tree->line_capacity * 2 + 16;
		tree->lines = memory_resize(tree->lines, tree->line_capacity * sizeof *tree->lines);
	}
	tree->lines[tree->line_count++] = line;
}

/* The statements of a section that exists; at its '{'. */
static bool scan_body(struct scan *s, enum config_section section, const char *title,
		      const struct config_token *name)
{
	bool is_read;

	note_section(s->tree, name->line);
	s->section = section;
	s->title = title;
	config_reader_next(&s->in);
	is_read = scan_statements(s);
	s->section = CONFIG_SECTION_ROOT;
	s->title = "";
	if (!is_read)
		return false;
	if (s->in.token.kind == TOKEN_END) {
		config_problem_add(s->in.problems, name->line,
				   config_problem_name(s->in.problems, section, title, NULL),
				   STR(""), "the section that begins here has no end", "}");
		s->in.token.kind = TOKEN_BAD;
		return false;
	}
	config_reader_next(&s->in);
	return true;
}

/* A title that is lacking, or one too many. */
static void report_title(struct scan *s, const struct config_token *name,
			 enum config_section section)
{
	const struct config_section_info *info = config_section_info(section);

	if (*info->title != '\0')
		config_problem_add(s->in.problems, name->line, name_text(s, name), STR(""),
				   "a section without its name", info->title);
	else
		config_problem_add(s->in.problems, name->line, name_text(s, name), STR(""),
				   "a section with a name, which it does not have", "{");
}

/* NAME { ... } or NAME TITLE { ... }; after the name. */
static bool scan_section(struct scan *s, const struct config_token *name)
{
	enum config_section section = config_section_find(config_token_text(&s->in, name));
	const char *title = NULL;
	bool has_title;

	if (s->in.token.kind != TOKEN_OPEN) {
		title = config_token_value(&s->in, &s->in.token, s->tree->arena);
		config_reader_next(&s->in);
		if (s->in.token.kind != TOKEN_OPEN)
			return false;
	}
	has_title = section != CONFIG_SECTION_COUNT && *config_section_info(section)->title != '\0';
	if (section != CONFIG_SECTION_COUNT && s->section == CONFIG_SECTION_ROOT &&
	    (title != NULL) == has_title)
		return scan_body(s, section, has_title ? title : "", name);
	if (section == CONFIG_SECTION_COUNT)
		config_suggest(s->in.problems, name->line, name_text(s, name), s->section,
			       config_token_text(&s->in, name), true);
	else if (s->section != CONFIG_SECTION_ROOT)
		config_problem_add(s->in.problems, name->line, name_text(s, name), STR(""),
				   "a section inside of another", NULL);
	else
		report_title(s, name, section);
	return skip_section(s, name);
}

/* Until a '}' or the end; false when the text does not read on. */
static bool scan_statements(struct scan *s)
{
	while (s->in.token.kind != TOKEN_END && s->in.token.kind != TOKEN_CLOSE) {
		struct config_token name = s->in.token;

		if (name.kind == TOKEN_STRING) {
			config_problem_add(s->in.problems, name.line, NULL,
					   config_token_text(&s->in, &name),
					   "a value without a setting", NULL);
			s->in.token.kind = TOKEN_BAD;
		}
		if (name.kind != TOKEN_WORD)
			return false;
		config_reader_next(&s->in);
		if (s->in.token.kind == TOKEN_ASSIGN) {
			if (!scan_assignment(s, &name))
				return false;
		} else if (s->in.token.kind == TOKEN_OPEN || s->in.token.kind == TOKEN_WORD ||
			   s->in.token.kind == TOKEN_STRING) {
			if (!scan_section(s, &name))
				return false;
		} else {
			return false;
		}
	}
	return true;
}

bool config_scan(struct str text, char *clean, struct config_tree *tree,
		 struct config_problems *problems, unsigned *stopped_line_out)
{
	struct scan s = {.in = {.text = text, .clean = clean, .line = 1, .problems = problems},
			 .section = CONFIG_SECTION_ROOT,
			 .title = "",
			 .tree = tree};
	bool is_read;

	if (text.length > 0)
		memcpy(clean, text.data, text.length);
	clean[text.length] = '\0';
	config_reader_next(&s.in);
	is_read = scan_statements(&s) && s.in.token.kind == TOKEN_END;
	*stopped_line_out = is_read ? 0 : s.in.token.line;
	if (!is_read) /* what was not looked at, libConfuse must not see */
		clean[s.in.position] = '\0';
	return s.in.token.kind != TOKEN_BAD;
}
