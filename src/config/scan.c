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
#include <string.h>

enum token_kind {
	TOKEN_END,
	TOKEN_WORD,
	TOKEN_STRING,
	TOKEN_ASSIGN, /* = += */
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_COMMA,
	TOKEN_BAD, /* no token: reported */
};

struct token {
	enum token_kind kind;
	size_t start;
	size_t end;
	unsigned line;
};

struct scan {
	struct str text;
	char *clean;
	size_t position;
	unsigned line;
	struct token token;
	enum config_section section; /* in which the position is */
	const char *title;
	struct config_tree *tree;
	struct config_problems *problems;
};

static char byte_at(const struct scan *s, size_t position)
{
	return position < s->text.length ? s->text.data[position] : '\0';
}

static struct str token_text(const struct scan *s, const struct token *token)
{
	return str_slice(s->text.data + token->start, token->end - token->start);
}

/* Takes a piece out of what libConfuse sees; the lines stay. */
static void blank(struct scan *s, size_t start, size_t end)
{
	for (size_t i = start; i < end; i++)
		if (s->clean[i] != '\n')
			s->clean[i] = ' ';
}

static enum token_kind refuse(struct scan *s, unsigned line, struct str found, const char *message,
			      const char *allowed)
{
	config_problem_add(s->problems, line, NULL, found, message, allowed);
	return TOKEN_BAD;
}

static void skip_line(struct scan *s)
{
	while (s->position < s->text.length && s->text.data[s->position] != '\n')
		s->position++;
}

/* Skips blanks and comments; false when a comment does not end. */
static bool skip_blanks(struct scan *s)
{
	while (s->position < s->text.length) {
		size_t start = s->position;
		unsigned line = s->line;
		char c = s->text.data[s->position];

		if (c == '\n') {
			s->line++;
			s->position++;
		} else if (c == ' ' || c == '\t' || c == '\r') {
			s->position++;
		} else if (c == '#' || (c == '/' && byte_at(s, start + 1) == '/')) {
			skip_line(s);
			blank(s, start, s->position);
		} else if (c == '/' && byte_at(s, start + 1) == '*') {
			const char *end = memmem(s->text.data + start + 2,
						 s->text.length - start - 2, "*/", 2);

			if (end == NULL) {
				refuse(s, line, STR(""), "the comment that begins here has no end",
				       "*/");
				return false;
			}
			s->position = (size_t)(end + 2 - s->text.data);
			for (size_t i = start; i < s->position; i++)
				s->line += s->text.data[i] == '\n';
			blank(s, start, s->position);
		} else {
			break;
		}
	}
	return true;
}

/* A string in QUOTE, which stands at the position. */
static enum token_kind take_string(struct scan *s, char quote)
{
	size_t start = s->position++;

	while (s->position < s->text.length) {
		char c = s->text.data[s->position];

		if (c == quote) {
			s->position++;
			return TOKEN_STRING;
		}
		if (c == '\n')
			break;
		if (((unsigned char)c < 0x20 && c != '\t') || c == 0x7f)
			return refuse(s, s->line, STR(""), "a control character in a string", NULL);
		if (c == '$' && byte_at(s, s->position + 1) == '{')
			return refuse(s, s->line, STR("${"), "variables are not put in", NULL);
		if (c == '\\') {
			char next = byte_at(s, s->position + 1);

			if (next != '\\' && next != quote)
				return refuse(s, s->line, str_slice(s->text.data + s->position, 2),
					      "unknown escape in a string",
					      quote == '"' ? "\\\" and \\\\" : "\\' and \\\\");
			s->position++;
		}
		s->position++;
	}
	return refuse(s, s->line, str_slice(s->text.data + start, s->position - start),
		      "the string has no end on its line", NULL);
}

static bool is_word_byte(char c)
{
	return (unsigned char)c > 0x20 && c != 0x7f && strchr("#\"'={}()+,*", c) == NULL;
}

static enum token_kind take_token(struct scan *s)
{
	char c = byte_at(s, s->position);

	if (s->position >= s->text.length)
		return TOKEN_END;
	if (c == '"' || c == '\'')
		return take_string(s, c);
	if (is_word_byte(c)) {
		size_t start = s->position;

		while (s->position < s->text.length && is_word_byte(s->text.data[s->position]))
			s->position++;
		if (s->text.data[s->position - 1] == '$' && byte_at(s, s->position) == '{')
			return refuse(s, s->line, STR("${"), "variables are not put in", NULL);
		if (byte_at(s, s->position) != '*' && byte_at(s, s->position) != '+')
			return TOKEN_WORD;
		if (byte_at(s, s->position + 1) == '=')
			return TOKEN_WORD;
		while (s->position < s->text.length &&
		       strchr(" \t\r\n", s->text.data[s->position]) == NULL)
			s->position++;
		return refuse(s, s->line, str_slice(s->text.data + start, s->position - start),
			      "a value with this character needs quotes", NULL);
	}
	s->position += c == '+' && byte_at(s, s->position + 1) == '=' ? 2 : 1;
	switch (c) {
	case '=':
		return TOKEN_ASSIGN;
	case '{':
		return TOKEN_OPEN;
	case '}':
		return TOKEN_CLOSE;
	case ',':
		return TOKEN_COMMA;
	case '+':
		if (s->text.data[s->position - 1] == '=')
			return TOKEN_ASSIGN;
		break;
	default:
		break;
	}
	return refuse(s, s->line, str_slice(&s->text.data[s->position - 1], 1),
		      "unexpected character", NULL);
}

static void advance(struct scan *s)
{
	if (s->token.kind == TOKEN_BAD)
		return;
	if (!skip_blanks(s)) {
		s->token.kind = TOKEN_BAD;
		return;
	}
	s->token.start = s->position;
	s->token.line = s->line;
	s->token.kind = take_token(s);
	s->token.end = s->position;
}

static const char *name_text(struct scan *s, const struct token *name)
{
	char *text = arena_copy(s->tree->arena, token_text(s, name));
	const char *full = config_problem_name(s->problems, s->section, s->title, text);

	return full;
}

/* From the '{' of a list to its '}'. */
static bool scan_list(struct scan *s, const struct token *name)
{
	unsigned line = s->token.line;
	bool is_empty = true;

	for (advance(s); s->token.kind != TOKEN_CLOSE; advance(s)) {
		if (s->token.kind == TOKEN_END) {
			config_problem_add(s->problems, line, name_text(s, name), STR(""),
					   "the list that begins here has no end", "}");
			s->token.kind = TOKEN_BAD;
		}
		if (s->token.kind != TOKEN_WORD && s->token.kind != TOKEN_STRING &&
		    s->token.kind != TOKEN_COMMA)
			return false;
		is_empty = false;
	}
	if (is_empty)
		config_problem_add(s->problems, line, name_text(s, name), STR(""),
				   "an empty list: leave the setting out", NULL);
	return true;
}

/* NAME = VALUE or NAME = { VALUE, VALUE }; at the '='. */
static bool scan_assignment(struct scan *s, const struct token *name)
{
	struct str text = token_text(s, name);

	advance(s);
	if (s->token.kind == TOKEN_OPEN) {
		if (!scan_list(s, name))
			return false;
	} else if (s->token.kind != TOKEN_WORD && s->token.kind != TOKEN_STRING) {
		return false;
	}
	if (config_setting_find(s->section, text) == NULL) {
		config_suggest(s->problems, name->line, name_text(s, name), s->section, text,
			       false);
		blank(s, name->start, s->token.end);
	}
	advance(s);
	return true;
}

/* From the '{' of a section that does not exist to its '}'. */
static bool skip_section(struct scan *s, const struct token *name)
{
	size_t depth = 0;

	for (;; advance(s)) {
		if (s->token.kind == TOKEN_OPEN)
			depth++;
		else if (s->token.kind == TOKEN_CLOSE && --depth == 0)
			break;
		else if (s->token.kind == TOKEN_END)
			config_problem_add(s->problems, name->line, name_text(s, name), STR(""),
					   "the section that begins here has no end", "}");
		if (s->token.kind == TOKEN_END || s->token.kind == TOKEN_BAD) {
			s->token.kind = TOKEN_BAD;
			return false;
		}
	}
	blank(s, name->start, s->token.end);
	advance(s);
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
		      const struct token *name)
{
	bool is_read;

	note_section(s->tree, name->line);
	s->section = section;
	s->title = title;
	advance(s);
	is_read = scan_statements(s);
	s->section = CONFIG_SECTION_ROOT;
	s->title = "";
	if (!is_read)
		return false;
	if (s->token.kind == TOKEN_END) {
		config_problem_add(s->problems, name->line,
				   config_problem_name(s->problems, section, title, NULL), STR(""),
				   "the section that begins here has no end", "}");
		s->token.kind = TOKEN_BAD;
		return false;
	}
	advance(s);
	return true;
}

/* The text of a string or word without quotes and escapes. */
static const char *token_value(struct scan *s, const struct token *token)
{
	struct str text = token_text(s, token);
	char *copy;
	char *end;

	if (token->kind == TOKEN_WORD)
		return arena_copy(s->tree->arena, text);
	copy = end = arena_copy(s->tree->arena, str_slice(text.data + 1, text.length - 2));
	for (const char *c = copy; *c != '\0'; c++) {
		if (*c == '\\')
			c++;
		*end++ = *c;
	}
	*end = '\0';
	return copy;
}

/* NAME { ... } or NAME TITLE { ... }; behind the name. */
static bool scan_section(struct scan *s, const struct token *name)
{
	enum config_section section = config_section_find(token_text(s, name));
	const char *title = NULL;

	if (s->token.kind != TOKEN_OPEN) {
		title = token_value(s, &s->token);
		advance(s);
		if (s->token.kind != TOKEN_OPEN)
			return false;
	}
	if (section != CONFIG_SECTION_COUNT && s->section == CONFIG_SECTION_ROOT && title != NULL)
		return scan_body(s, section, title, name);
	if (section == CONFIG_SECTION_COUNT)
		config_suggest(s->problems, name->line, name_text(s, name), s->section,
			       token_text(s, name), true);
	else if (s->section != CONFIG_SECTION_ROOT)
		config_problem_add(s->problems, name->line, name_text(s, name), STR(""),
				   "a section inside of another", NULL);
	else
		config_problem_add(s->problems, name->line, name_text(s, name), STR(""),
				   "a section without its name",
				   config_section_info(section)->title);
	return skip_section(s, name);
}

/* Until a '}' or the end; false when the text does not read on. */
static bool scan_statements(struct scan *s)
{
	while (s->token.kind != TOKEN_END && s->token.kind != TOKEN_CLOSE) {
		struct token name = s->token;

		if (name.kind == TOKEN_STRING)
			s->token.kind = refuse(s, name.line, token_text(s, &name),
					       "a value without a setting", NULL);
		if (name.kind != TOKEN_WORD)
			return false;
		advance(s);
		if (s->token.kind == TOKEN_ASSIGN) {
			if (!scan_assignment(s, &name))
				return false;
		} else if (s->token.kind == TOKEN_OPEN || s->token.kind == TOKEN_WORD ||
			   s->token.kind == TOKEN_STRING) {
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
	struct scan s = {.text = text,
			 .clean = clean,
			 .line = 1,
			 .section = CONFIG_SECTION_ROOT,
			 .title = "",
			 .tree = tree,
			 .problems = problems};
	bool is_read;

	memcpy(clean, text.data, text.length);
	clean[text.length] = '\0';
	advance(&s);
	is_read = scan_statements(&s) && s.token.kind == TOKEN_END;
	*stopped_line_out = is_read ? 0 : s.token.line;
	if (!is_read) /* what was not looked at, libConfuse must not see */
		clean[s.position] = '\0';
	return s.token.kind != TOKEN_BAD;
}
