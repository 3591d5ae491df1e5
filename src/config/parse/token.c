// SPDX-License-Identifier: ISC
#include "config/parse/token.h"
#include "config/internal.h"
#include <string.h>

enum { TOKEN_MAX = 4096 };

static char byte_at(const struct config_reader *s, size_t position)
{
	return position < s->text.length ? s->text.data[position] : '\0';
}

struct str config_token_text(const struct config_reader *s, const struct config_token *token)
{
	return str_slice(s->text.data + token->start, token->end - token->start);
}

static enum token_kind reject_token(struct config_reader *s, unsigned line, struct str found,
				    const char *message, const char *allowed)
{
	config_problem_add(s->problems, line, NULL, found, message, allowed);
	return TOKEN_BAD;
}

static void skip_comment(struct config_reader *s)
{
	while (s->position < s->text.length && s->text.data[s->position] != '\n')
		s->position++;
}

/* Skips blanks and comments; false if a comment is not closed. */
static bool skip_blanks(struct config_reader *s)
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
			skip_comment(s);
		} else if (c == '/' && byte_at(s, start + 1) == '*') {
			const char *end = memmem(s->text.data + start + 2,
						 s->text.length - start - 2, "*/", 2);

			if (end == NULL) {
				reject_token(s, line, STR(""),
					     "the comment that begins here has no end", "*/");
				return false;
			}
			s->position = (size_t)(end + 2 - s->text.data);
			for (size_t i = start; i < s->position; i++)
				s->line += s->text.data[i] == '\n';
		} else {
			break;
		}
	}
	return true;
}

/* A string in QUOTE, at the present position. */
static enum token_kind take_string(struct config_reader *s, char quote)
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
			return reject_token(s, s->line, STR(""), "a control character in a string",
					    NULL);
		if (c == '$' && byte_at(s, s->position + 1) == '{')
			return reject_token(s, s->line, STR("${"), "variables are not put in",
					    NULL);
		if (c == '\\') {
			char next = byte_at(s, s->position + 1);

			if (next != '\\' && next != quote)
				return reject_token(
					s, s->line,
					str_slice(s->text.data + s->position, next != '\0' ? 2 : 1),
					"unknown escape in a string",
					quote == '"' ? "\\\" and \\\\" : "\\' and \\\\");
			s->position++;
		}
		s->position++;
	}
	return reject_token(s, s->line, str_slice(s->text.data + start, s->position - start),
			    "the string has no end on its line", NULL);
}

static bool is_word_byte(char c)
{
	return (unsigned char)c > 0x20 && c != 0x7f && strchr("#\"'={}()+,*", c) == NULL;
}

/* Rejects '*' and '+' in a word, which are reserved for extensions of the format. */
static enum token_kind take_word_token(struct config_reader *s)
{
	size_t start = s->position;

	while (s->position < s->text.length && is_word_byte(s->text.data[s->position]))
		s->position++;
	if (s->text.data[s->position - 1] == '$' && byte_at(s, s->position) == '{')
		return reject_token(s, s->line, STR("${"), "variables are not put in", NULL);
	if (byte_at(s, s->position) != '*' && byte_at(s, s->position) != '+')
		return TOKEN_WORD;
	if (byte_at(s, s->position + 1) == '=')
		return TOKEN_WORD;
	while (s->position < s->text.length && strchr(" \t\r\n", s->text.data[s->position]) == NULL)
		s->position++;
	return reject_token(s, s->line, str_slice(s->text.data + start, s->position - start),
			    "a value with this character needs quotes", NULL);
}

static enum token_kind take_next_token(struct config_reader *s)
{
	char c = byte_at(s, s->position);

	if (s->position >= s->text.length)
		return TOKEN_END;
	if (c == '"' || c == '\'')
		return take_string(s, c);
	if (is_word_byte(c))
		return take_word_token(s);
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
	return reject_token(s, s->line, str_slice(&s->text.data[s->position - 1], 1),
			    "unexpected character", NULL);
}

void config_reader_next(struct config_reader *s)
{
	if (s->token.kind == TOKEN_BAD)
		return;
	if (!skip_blanks(s)) {
		s->token.kind = TOKEN_BAD;
		return;
	}
	s->token.start = s->position;
	s->token.line = s->line;
	s->token.kind = take_next_token(s);
	s->token.end = s->position;
	if (s->token.kind != TOKEN_BAD && s->token.end - s->token.start > TOKEN_MAX)
		s->token.kind = reject_token(s, s->line, config_token_text(s, &s->token),
					     "too long", "at most 4096 bytes");
}

const char *config_token_value(const struct config_reader *s, const struct config_token *token,
			       struct arena *arena)
{
	struct str text = config_token_text(s, token);
	char *copy;
	char *end;

	if (token->kind == TOKEN_WORD)
		return arena_copy(arena, text);
	copy = end = arena_copy(arena, str_slice(text.data + 1, text.length - 2));
	for (const char *c = copy; *c != '\0'; c++) {
		if (*c == '\\')
			c++;
		*end++ = *c;
	}
	*end = '\0';
	return copy;
}
