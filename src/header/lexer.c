// SPDX-License-Identifier: ISC
/* The words of address lists: atoms, quoted strings, comments, literals, what is in brackets. */
#include "header/internal.h"
#include <string.h>

enum { ENCODED_WORD_MAX = 1000 }; /* bytes; longer than allowed, as some programs write them */

bool header_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str header_trim(struct str text)
{
	while (text.length > 0 && header_is_space(text.data[0]))
		text = str_skip(text, 1);
	while (text.length > 0 && header_is_space(text.data[text.length - 1]))
		text.length--;
	return text;
}

static bool is_ascii_control(char c)
{
	return ((unsigned char)c < ' ' && !header_is_space(c)) || c == 0x7f;
}

/* RFC 5322 section 3.2.3 and, by RFC 6532, non-ASCII characters. */
static bool is_atext_or_utf8(char c)
{
	unsigned char u = (unsigned char)c;

	return u > ' ' && u != 0x7f && strchr("()<>[]:;@\\,.\"", c) == NULL;
}

/* --- whether quotes and parentheses match --- */

/* The position after the comment that begins at POSITION; 0: it does not end. */
static size_t comment_end(struct str text, size_t position)
{
	size_t depth = 0;

	for (size_t i = position; i < text.length; i++) {
		char c = text.data[i];

		if (c == '\\')
			i++;
		depth += c == '(';
		depth -= c == ')';
		if (depth == 0)
			return i + 1;
	}
	return 0;
}

/* Likewise after a quoted string, or a literal. */
static size_t closed_end(struct str text, size_t position, char closes)
{
	for (size_t i = position + 1; i < text.length; i++) {
		if (text.data[i] == '\\')
			i++;
		else if (text.data[i] == closes)
			return i + 1;
	}
	return 0;
}

/* Finds out what does not match; false: something, so that the others are to be looked at again. */
static bool match_delimiters(struct header_lexer *lexer)
{
	struct str text = lexer->text;
	size_t i = 0;

	while (i < text.length) {
		bool is_quote = lexer->has_quotes && text.data[i] == '"';
		bool is_comment = lexer->has_comments && text.data[i] == '(';
		size_t end = i + 1;

		if (is_quote)
			end = closed_end(text, i, '"');
		else if (is_comment)
			end = comment_end(text, i);
		if (end == 0) {
			lexer->has_quotes &= !is_quote;
			lexer->has_comments &= !is_comment;
			lexer->is_plain = false;
			return false;
		}
		i = end;
	}
	return true;
}

void header_lexer_init(struct header_lexer *lexer, struct str text)
{
	*lexer = (struct header_lexer){.text = text,
				       .has_quotes = true,
				       .has_comments = true,
				       .has_brackets = true,
				       .is_plain = true};
	while (!match_delimiters(lexer)) /* twice at most */
		;
}

/* --- words --- */

bool header_lexer_is_at_end(const struct header_lexer *lexer)
{
	return lexer->position >= lexer->text.length;
}

char header_lexer_peek(const struct header_lexer *lexer)
{
	return header_lexer_is_at_end(lexer) ? '\0' : lexer->text.data[lexer->position];
}

/* Who reads it in another way than as RFC 5322 says must not find an address in it. */
static void note_enclosed(struct header_lexer *lexer, struct str text)
{
	bool has_at = str_find(text, '@') >= 0;
	bool is_deep = str_find(text, '\\') >= 0 ||
		       (text.data[0] == '(' && str_find(str_skip(text, 1), '(') >= 0);

	for (size_t i = 0; i < text.length; i++)
		lexer->is_plain &= !is_ascii_control(text.data[i]);
	lexer->is_plain &= !has_at || !is_deep;
}

/* Whether it was all of what it should be. */
static bool take_comment(struct header_lexer *lexer)
{
	size_t end = comment_end(lexer->text, lexer->position);

	lexer->has_comments &= end > 0;
	if (end == 0)
		return false;
	note_enclosed(lexer, str_slice(lexer->text.data + lexer->position, end - lexer->position));
	lexer->position = end;
	return true;
}

bool header_lexer_space(struct header_lexer *lexer)
{
	size_t before = lexer->position;

	for (;;) {
		while (header_is_space(header_lexer_peek(lexer)))
			lexer->position++;
		if (header_lexer_peek(lexer) != '(' || !lexer->has_comments || !take_comment(lexer))
			return lexer->position > before;
	}
}

/* Takes what is quoted, or a literal; false: it does not end. A fold is no part of it. */
static bool take_enclosed(struct header_lexer *lexer, char closes, struct buffer *out)
{
	size_t end = closed_end(lexer->text, lexer->position, closes);
	struct str text;

	if (end == 0)
		return false;
	text = str_slice(lexer->text.data + lexer->position, end - lexer->position);
	note_enclosed(lexer, text);
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] != '\r' && text.data[i] != '\n')
			buffer_append_byte(out, text.data[i]);
	lexer->position = end;
	return true;
}

/* The length of the encoded word at the start of TEXT, which may have characters that an atom has
 * not (RFC 2047 section 5); 0: there is none. */
static size_t encoded_word_length(struct str text)
{
	size_t length = 2;
	unsigned marks = 0; /* '?' */

	if (!str_starts_with(text, STR("=?")))
		return 0;
	for (; length < text.length && length < ENCODED_WORD_MAX; length++) {
		char c = text.data[length];

		if ((unsigned char)c <= ' ' || (unsigned char)c >= 0x7f)
			return 0;
		marks += c == '?';
		if (marks == 3)
			return str_starts_with(str_skip(text, length), STR("?=")) ? length + 2 : 0;
	}
	return 0;
}

static bool take_encoded_word(struct header_lexer *lexer, struct buffer *out)
{
	struct str rest = str_skip(lexer->text, lexer->position);
	struct str word = str_slice(rest.data, encoded_word_length(rest));

	for (size_t i = 0; i < word.length; i++)
		lexer->is_plain &= is_atext_or_utf8(word.data[i]) || word.data[i] == '.';
	buffer_append_str(out, word);
	lexer->position += word.length;
	return word.length > 0;
}

/* One atom, or one quoted string. */
static bool take_atom(struct header_lexer *lexer, struct buffer *out)
{
	size_t before = lexer->position;

	if (header_lexer_peek(lexer) == '"' && lexer->has_quotes) {
		lexer->has_quotes = take_enclosed(lexer, '"', out);
		return lexer->has_quotes;
	}
	if (take_encoded_word(lexer, out))
		return true;
	while (!header_lexer_is_at_end(lexer) && is_atext_or_utf8(header_lexer_peek(lexer)))
		lexer->position++;
	buffer_append(out, lexer->text.data + before, lexer->position - before);
	return lexer->position > before;
}

void header_lexer_word(struct header_lexer *lexer, struct header_word *word)
{
	bool is_after_atom = false;

	word->start = word->end = lexer->position;
	word->has_gap = false;
	for (;;) {
		bool has_gap = header_lexer_space(lexer) && word->end > word->start;

		if (header_lexer_peek(lexer) == '.') {
			buffer_append_byte(&word->text, '.');
			lexer->position++;
			is_after_atom = false;
		} else if (!is_after_atom && take_atom(lexer, &word->text)) {
			is_after_atom = true;
		} else {
			break;
		}
		word->has_gap |= has_gap;
		word->end = lexer->position;
	}
	lexer->position = word->end;
}

bool header_lexer_domain(struct header_lexer *lexer, struct buffer *out)
{
	struct header_word word = {.start = 0};
	size_t before = lexer->position;
	bool is_found = false;
	bool has_gap;

	buffer_append_byte(out, '@');
	lexer->position++;
	has_gap = header_lexer_space(lexer);
	if (header_lexer_peek(lexer) == '[' && lexer->has_brackets) {
		is_found = lexer->has_brackets = take_enclosed(lexer, ']', out);
	} else if (header_lexer_peek(lexer) != '"') {
		header_lexer_word(lexer, &word);
		is_found = word.text.length > 0;
		buffer_append_str(out, buffer_view(&word.text));
	}
	lexer->is_plain &= !has_gap && !word.has_gap;
	if (!is_found)
		lexer->position = before;
	buffer_clear(&word.text);
	return is_found;
}

/* --- in angle brackets --- */

/* Skips "@ONE,@TWO:", a source route, which has no meaning any more. */
static bool skip_route(struct header_lexer *lexer)
{
	struct buffer ignored CLEANUP(buffer_clear) = {0};
	size_t before = lexer->position;

	while (header_lexer_peek(lexer) == '@' || header_lexer_peek(lexer) == ',') {
		if (header_lexer_peek(lexer) == ',')
			lexer->position++;
		else if (!header_lexer_domain(lexer, &ignored))
			break;
		header_lexer_space(lexer);
	}
	lexer->is_plain &= lexer->position == before;
	return lexer->position == before || header_lexer_peek(lexer) == ':';
}

static void skip_byte(struct header_lexer *lexer)
{
	lexer->position++;
	lexer->is_plain = false;
}

/* What is no part of an address, but may stand before it: another bracket, a route, "mailto:", the
 * name of a group. False: there is none. */
static bool skip_before(struct header_lexer *lexer, struct header_word *word)
{
	bool is_named = header_lexer_peek(lexer) == ':' && word->text.length > 0;

	if (is_named || (header_lexer_peek(lexer) == '<' && word->text.length == 0)) {
		buffer_reset(&word->text);
		skip_byte(lexer);
		if (is_named && header_lexer_peek(lexer) == ';')
			skip_byte(lexer);
		return true;
	}
	if (word->text.length > 0 || header_lexer_peek(lexer) != '@' || !skip_route(lexer))
		return false;
	skip_byte(lexer);
	return true;
}

static enum header_angle_kind take_inner(struct header_lexer *lexer, struct header_word *word,
					 struct buffer *out)
{
	bool is_found;

	do {
		lexer->is_plain &= !header_lexer_space(lexer);
		if (word->text.length == 0)
			header_lexer_word(lexer, word);
		lexer->is_plain &= !header_lexer_space(lexer) && !word->has_gap;
	} while (skip_before(lexer, word));
	if (word->text.length == 0)
		return HEADER_ANGLE_EMPTY;
	buffer_append_str(out, buffer_view(&word->text));
	if (header_lexer_peek(lexer) != '@')
		return HEADER_ANGLE_LOCAL;
	is_found = header_lexer_domain(lexer, out);
	lexer->is_plain &= !header_lexer_space(lexer);
	return is_found ? HEADER_ANGLE_WHOLE : HEADER_ANGLE_BAD;
}

/* After what cannot be read: a bracket that closes it, or else a separator. */
static void skip_bad(struct header_lexer *lexer)
{
	size_t separator = lexer->text.length;
	size_t i = lexer->position;

	while (i < lexer->text.length && !str_is_one_of(lexer->text.data[i], "<>")) {
		if (str_is_one_of(lexer->text.data[i], ",;") && i < separator)
			separator = i;
		i++;
	}
	if (i == lexer->text.length || lexer->text.data[i] == '<')
		i = separator < i ? separator : i;
	lexer->position = i;
}

void header_lexer_angle(struct header_lexer *lexer, struct buffer *out,
			struct header_angle *angle_out)
{
	struct header_word word = {.start = 0};

	lexer->position++;
	angle_out->kind = take_inner(lexer, &word, out);
	angle_out->local_end = word.end;
	if (!header_lexer_is_at_end(lexer) && !str_is_one_of(header_lexer_peek(lexer), ">,;"))
		angle_out->kind = HEADER_ANGLE_BAD;
	if (angle_out->kind == HEADER_ANGLE_BAD)
		skip_bad(lexer);
	if (header_lexer_peek(lexer) == '>')
		lexer->position++;
	else
		lexer->is_plain = false;
	while (header_lexer_peek(lexer) == '>')
		skip_byte(lexer);
	buffer_clear(&word.text);
}
