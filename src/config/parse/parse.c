// SPDX-License-Identifier: ISC
/*
 * Builds a tree from tokens. A syntax error is reported, and ends the parsing; an
 * unknown name is reported and skipped, and parsing continues.
 */
#include "base/panic.h"
#include "config/internal.h"
#include "config/parse/suggest.h"
#include "config/parse/token.h"

struct parser {
	struct config_reader in;
	struct config_tree_section *section; /* at the present position */
	struct config_tree *tree;
};

static const char *text_of_setting_name(struct parser *s, const struct config_token *name)
{
	char *text = arena_copy(s->tree->arena, config_token_text(&s->in, name));

	return config_problem_name(s->in.problems, s->section->kind, s->section->title, text);
}

static const char *token_value(struct parser *s)
{
	return config_token_value(&s->in, &s->in.token, s->tree->arena);
}

static bool is_text_token(const struct config_token *token)
{
	return token->kind == TOKEN_WORD || token->kind == TOKEN_STRING;
}

/* Reports an unexpected token with MESSAGE about SETTING, which may be NULL. Always returns
 * false. */
static bool refuse_token(struct parser *s, const char *setting, const char *message,
			 const char *allowed)
{
	if (s->in.token.kind != TOKEN_BAD) /* already reported */
		config_problem_add(s->in.problems, s->in.token.line, setting,
				   config_token_text(&s->in, &s->in.token), message, allowed);
	return false;
}

/* Reports that NAME is followed by neither a setting's nor a section's syntax. */
static bool refuse_statement(struct parser *s, const struct config_token *name)
{
	struct str text = config_token_text(&s->in, name);

	if (s->in.token.kind == TOKEN_BAD) /* already reported */
		return false;
	if (config_setting_find(s->section->kind, text) != NULL)
		config_problem_add(s->in.problems, name->line, text_of_setting_name(s, name),
				   STR(""), "an '=' is missing", "= VALUE");
	else if (s->section->kind == CONFIG_SECTION_ROOT &&
		 config_section_find(text) != CONFIG_SECTION_COUNT)
		config_problem_add(s->in.problems, name->line, text_of_setting_name(s, name),
				   STR(""), "a section without its opening brace", "{");
	else
		config_suggest(s->in.problems, name->line, text_of_setting_name(s, name),
			       s->section->kind, text, false);
	return false;
}

/* NAME = or NAME += is being parsed; USE is NULL if NAME is unknown. */
struct assignment {
	const struct config_token *name;
	struct config_tree_use *use;
	bool is_more; /* += */
};

static void add_value(struct parser *s, struct assignment *assignment)
{
	struct config_tree_use *use = assignment->use;

	if (use == NULL)
		return;
	if (use->line != 0 && !assignment->is_more) {
		if (!use->is_repeated)
			config_problem_add_repeated(s->in.problems, s->in.token.line,
						    text_of_setting_name(s, assignment->name),
						    STR(""), use->line);
		use->is_repeated = true;
	}
	assignment->is_more = true; /* further values belong to the same list */
	if (!use->is_repeated)
		config_tree_append(s->tree, use, token_value(s), s->in.token.line);
}

/* An empty list, which only says something where the default is another one. */
static void add_nothing(struct parser *s, const struct assignment *assignment, unsigned line)
{
	const struct config_setting *row =
		config_setting_find(s->section->kind, config_token_text(&s->in, assignment->name));

	if (row == NULL || !row->type->is_list || row->initial == NULL || *row->initial == '\0')
		config_problem_add(s->in.problems, line, text_of_setting_name(s, assignment->name),
				   STR(""), "an empty list: leave the setting out", NULL);
	else if (assignment->use->line != 0)
		config_problem_add_repeated(s->in.problems, line,
					    text_of_setting_name(s, assignment->name), STR(""),
					    assignment->use->line);
	else
		assignment->use->line = line;
}

/* From the '{' of a list to its '}'. */
static bool parse_list(struct parser *s, struct assignment *assignment)
{
	unsigned line = s->in.token.line;
	bool is_value_next = true;
	bool is_empty = true;

	for (config_reader_next(&s->in); s->in.token.kind != TOKEN_CLOSE;
	     config_reader_next(&s->in)) {
		if (s->in.token.kind == TOKEN_END) {
			config_problem_add(s->in.problems, line,
					   text_of_setting_name(s, assignment->name), STR(""),
					   "the list that begins here has no end", "}");
			s->in.token.kind = TOKEN_BAD;
		}
		if (is_value_next && !is_text_token(&s->in.token))
			return refuse_token(s, text_of_setting_name(s, assignment->name),
					    "no value of the list", "a value or }");
		if (!is_value_next && s->in.token.kind != TOKEN_COMMA)
			return refuse_token(s, text_of_setting_name(s, assignment->name),
					    "values of a list have a comma between them", ", or }");
		if (is_value_next)
			add_value(s, assignment);
		is_value_next = !is_value_next;
		is_empty = false;
	}
	if (is_empty)
		add_nothing(s, assignment, line);
	return true;
}

/* NAME = VALUE or NAME = { VALUE, VALUE }; at the '='. */
static bool parse_assignment(struct parser *s, const struct config_token *name)
{
	struct str text = config_token_text(&s->in, name);
	struct assignment assignment = {
		.name = name,
		.use = config_tree_find_use(s->section, text),
		.is_more = str_equal(config_token_text(&s->in, &s->in.token), STR("+=")),
	};

	config_reader_next(&s->in);
	if (s->in.token.kind == TOKEN_OPEN) {
		if (!parse_list(s, &assignment))
			return false;
	} else if (is_text_token(&s->in.token)) {
		add_value(s, &assignment);
	} else {
		return refuse_token(s, text_of_setting_name(s, name),
				    s->in.token.kind == TOKEN_END ? "the file ends before the value"
								  : "no value",
				    "a value or { VALUE, ... }");
	}
	if (assignment.use == NULL)
		config_suggest(s->in.problems, name->line, text_of_setting_name(s, name),
			       s->section->kind, text, false);
	config_reader_next(&s->in);
	if (s->in.token.kind == TOKEN_COMMA)
		return refuse_token(s, text_of_setting_name(s, name),
				    "several values without braces", "{ VALUE, ... }");
	return true;
}

/* From the '{' of an unknown section to its '}'. */
static bool skip_section(struct parser *s, const struct config_token *name)
{
	size_t depth = 0;

	for (;; config_reader_next(&s->in)) {
		if (s->in.token.kind == TOKEN_OPEN)
			depth++;
		else if (s->in.token.kind == TOKEN_CLOSE && --depth == 0)
			break;
		else if (s->in.token.kind == TOKEN_END)
			config_problem_add(s->in.problems, name->line,
					   text_of_setting_name(s, name), STR(""),
					   "the section that begins here has no end", "}");
		if (s->in.token.kind == TOKEN_END || s->in.token.kind == TOKEN_BAD) {
			s->in.token.kind = TOKEN_BAD;
			return false;
		}
	}
	config_reader_next(&s->in);
	return true;
}

static bool parse_statements(struct parser *s);

/* The statements of a known section; at its '{'. */
static bool parse_section_body(struct parser *s, enum config_section section, const char *title,
			       const struct config_token *name)
{
	bool is_read;

	s->section = config_tree_add(s->tree, section, title, name->line);
	config_reader_next(&s->in);
	is_read = parse_statements(s);
	s->section = &s->tree->root;
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

/* Reports a missing or superfluous title. */
static void report_parsed_title(struct parser *s, const struct config_token *name,
				enum config_section section)
{
	const struct config_section_info *info = config_section_info(section);

	if (*info->title != '\0')
		config_problem_add(s->in.problems, name->line, text_of_setting_name(s, name),
				   STR(""), "a section without its name", info->title);
	else
		config_problem_add(s->in.problems, name->line, text_of_setting_name(s, name),
				   STR(""), "a section with a name, which it does not have", "{");
}

/* NAME { ... } or NAME TITLE { ... }; after the name. */
static bool parse_section(struct parser *s, const struct config_token *name)
{
	enum config_section section = config_section_find(config_token_text(&s->in, name));
	const char *title = NULL;
	bool has_title;

	if (s->in.token.kind != TOKEN_OPEN) {
		title = token_value(s);
		config_reader_next(&s->in);
		if (s->in.token.kind != TOKEN_OPEN)
			return refuse_statement(s, name);
	}
	has_title = section != CONFIG_SECTION_COUNT && *config_section_info(section)->title != '\0';
	if (section != CONFIG_SECTION_COUNT && s->section->kind == CONFIG_SECTION_ROOT &&
	    (title != NULL) == has_title)
		return parse_section_body(s, section, has_title ? title : "", name);
	if (section == CONFIG_SECTION_COUNT)
		config_suggest(s->in.problems, name->line, text_of_setting_name(s, name),
			       s->section->kind, config_token_text(&s->in, name), true);
	else if (s->section->kind != CONFIG_SECTION_ROOT)
		config_problem_add(s->in.problems, name->line, text_of_setting_name(s, name),
				   STR(""), "a section inside of another", NULL);
	else
		report_parsed_title(s, name, section);
	return skip_section(s, name);
}

/* Parses up to the '}' of the section, or the end; false after a syntax error. */
static bool parse_statements(struct parser *s)
{
	while (s->in.token.kind != TOKEN_END &&
	       (s->in.token.kind != TOKEN_CLOSE || s->section->kind == CONFIG_SECTION_ROOT)) {
		struct config_token name = s->in.token;
		bool is_read;

		if (name.kind == TOKEN_STRING) {
			config_problem_add(s->in.problems, name.line, NULL,
					   config_token_text(&s->in, &name),
					   "a value without a setting", NULL);
			s->in.token.kind = TOKEN_BAD;
		}
		if (s->in.token.kind == TOKEN_CLOSE)
			return refuse_token(s, NULL, "a closing brace, and none is open", NULL);
		if (s->in.token.kind != TOKEN_WORD)
			return refuse_token(s, NULL, "neither a setting nor a section begins so",
					    "NAME = VALUE or NAME { ... }");
		config_reader_next(&s->in);
		if (s->in.token.kind == TOKEN_ASSIGN)
			is_read = parse_assignment(s, &name);
		else if (s->in.token.kind == TOKEN_OPEN || is_text_token(&s->in.token))
			is_read = parse_section(s, &name);
		else
			is_read = refuse_statement(s, &name);
		if (!is_read)
			return false;
	}
	return true;
}

bool config_tree_parse(struct config_tree *tree, struct str text, struct config_problems *problems)
{
	struct parser s = {.in = {.text = text, .line = 1, .problems = problems}, .tree = tree};

	config_tree_init(tree);
	s.section = &tree->root;
	config_reader_next(&s.in);
	return parse_statements(&s);
}
