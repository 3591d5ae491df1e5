// SPDX-License-Identifier: ISC
/* 8-bit text in fields, as encoded words. */
#include "header/field.h"
#include "header/internal.h"
#include "header/name.h"
#include <string.h>

/* Of MIME, of identifiers, and those of others: encoded words mean nothing there. */
static const struct str untouched[] = {
	STR("content-id"),     STR("content-transfer-encoding"),
	STR("mime-version"),   STR("message-id"),
	STR("in-reply-to"),    STR("references"),
	STR("date"),           STR("received"),
	STR("dkim-signature"), STR("authentication-results"),
	STR("return-path"),    STR("resent-date"),
	STR("autocrypt"),      STR("resent-message-id"),
};

/* The length of the spaces, or of the word, at the start of TEXT. */
static size_t count_spaces_or_word(struct str text, bool spaces)
{
	size_t i = 0;

	while (i < text.length && header_is_space(text.data[i]) == spaces)
		i++;
	return i;
}

/* The words from the start of TEXT that belong together: their 8-bit text, and the spaces between,
 * which readers drop between encoded words. */
static size_t run_length(struct str text)
{
	size_t length = count_spaces_or_word(text, false);

	for (;;) {
		struct str rest = str_skip(text, length);
		size_t spaces = count_spaces_or_word(rest, true);
		size_t word = count_spaces_or_word(str_skip(rest, spaces), false);

		if (!header_name_is_8bit(str_slice(rest.data + spaces, word)))
			return length;
		length += spaces + word;
	}
}

static bool begins_with_encoded_word(struct str text)
{
	return header_name_is_encoded_word(str_slice(text.data, count_spaces_or_word(text, false)));
}

/* A fold is a space. */
static void append_unfolded(struct buffer *out, struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] != '\r' && text.data[i] != '\n')
			buffer_append_byte(out, text.data[i]);
}

/* Appends the RUN as encoded words, with the spaces BEFORE and AFTER it, if others are there. */
static void encode_run(struct buffer *out, struct str before, struct str run, struct str after)
{
	struct buffer plain CLEANUP(buffer_clear) = {0};

	append_unfolded(&plain, before);
	append_unfolded(&plain, run);
	append_unfolded(&plain, after);
	header_name_append_encoded(out, buffer_view(&plain));
}

/* Words that are encoded already stay. */
static void encode_words(struct str text, struct buffer *out)
{
	bool is_after = false; /* an encoded word */

	while (text.length > 0) {
		struct str spaces = str_slice(text.data, count_spaces_or_word(text, true));
		struct str word = str_skip(text, spaces.length);
		struct str after;

		buffer_append_str(out, spaces);
		word.length = count_spaces_or_word(word, false);
		if (header_name_is_8bit(word)) {
			word.length = run_length(str_skip(text, spaces.length));
			after = str_skip(text, spaces.length + word.length);
			after.length = count_spaces_or_word(after, true);
			if (!begins_with_encoded_word(
				    str_skip(text, spaces.length + word.length + after.length)))
				after.length = 0;
			if (!is_after)
				spaces.length = 0;
			encode_run(out, spaces, word, after);
		} else {
			buffer_append_str(out, word);
		}
		is_after = header_name_is_encoded_word(word);
		text = str_skip(text, (size_t)(word.data + word.length - text.data));
	}
}

/* --- address lists --- */

/* The end of what starts at POSITION of TEXT: a comment, or what CLOSES ends. */
static size_t find_end_of_enclosed(struct str text, size_t position, char opens, char closes)
{
	size_t depth = 0;

	for (size_t i = position; i < text.length; i++) {
		if (text.data[i] == '\\' && closes != '>')
			i++;
		else if (text.data[i] == closes && (i > position || opens != closes) &&
			 (opens == closes || --depth == 0))
			return i + 1;
		else if (text.data[i] == opens && opens != closes)
			depth++;
	}
	return text.length;
}

/* The words before an address, or an address without brackets. */
static size_t find_phrase_end(struct str text, size_t position)
{
	while (position < text.length && strchr("<>(),:;", text.data[position]) == NULL)
		position = text.data[position] == '"'
				   ? find_end_of_enclosed(text, position, '"', '"')
				   : position + 1;
	return position;
}

/* Without the quotes, which are part of no encoded word. */
static void append_phrase(struct buffer *out, struct str phrase)
{
	struct buffer plain CLEANUP(buffer_clear) = {0};

	for (size_t i = 0; i < phrase.length; i++) {
		char c = phrase.data[i];

		if (c == '\\' && i + 1 < phrase.length)
			buffer_append_byte(&plain, phrase.data[++i]);
		else if (header_is_space(c) && c != '\r' && c != '\n')
			buffer_append_byte(&plain, ' ');
		else if (c != '"' && !header_is_space(c))
			buffer_append_byte(&plain, c);
	}
	header_name_append_mixed(out, buffer_view(&plain));
}

/* IS_NAME: an address in brackets follows; otherwise it may be one. */
static void encode_phrase(struct str phrase, bool is_name, struct buffer *out)
{
	size_t spaces = count_spaces_or_word(phrase, true);
	struct str words = str_skip(phrase, spaces);

	while (words.length > 0 && header_is_space(words.data[words.length - 1]))
		words.length--;
	if (!header_name_is_8bit(words) || (!is_name && str_find(words, '@') >= 0)) {
		buffer_append_str(out, phrase);
		return;
	}
	buffer_append(out, phrase.data, spaces);
	append_phrase(out, words);
	buffer_append_str(out, str_skip(phrase, spaces + words.length));
}

/* What is between parentheses of comments. */
static void encode_comment_text(struct str text, struct buffer *out)
{
	struct buffer plain CLEANUP(buffer_clear) = {0};

	if (!header_name_is_8bit(text)) {
		buffer_append_str(out, text);
		return;
	}
	for (size_t i = 0; i < text.length; i++) {
		i += text.data[i] == '\\' && i + 1 < text.length;
		buffer_append_byte(&plain, text.data[i]);
	}
	encode_words(buffer_view(&plain), out);
}

static void encode_comment(struct str comment, struct buffer *out)
{
	size_t start = 0;

	for (size_t i = 0; i < comment.length; i++) {
		bool is_pair = comment.data[i] == '\\';

		if (comment.data[i] == '(' || comment.data[i] == ')') {
			encode_comment_text(str_slice(comment.data + start, i - start), out);
			buffer_append_byte(out, comment.data[i]);
			start = i + 1;
		}
		i += is_pair;
	}
	encode_comment_text(str_skip(comment, start), out);
}

static void encode_addresses(struct str text, struct buffer *out)
{
	size_t i = 0;

	while (i < text.length) {
		size_t end = i + 1;

		if (text.data[i] == '<') {
			end = find_end_of_enclosed(text, i, '<', '>');
			buffer_append(out, text.data + i, end - i);
		} else if (text.data[i] == '(') {
			end = find_end_of_enclosed(text, i, '(', ')');
			encode_comment(str_slice(text.data + i, end - i), out);
		} else if (strchr(">),:;", text.data[i]) != NULL) {
			buffer_append_byte(out, text.data[i]);
		} else {
			end = find_phrase_end(text, i);
			encode_phrase(str_slice(text.data + i, end - i),
				      end < text.length && text.data[end] == '<', out);
		}
		i = end;
	}
}

void header_field_encode(const struct header_field *field, struct buffer *out)
{
	struct str name = field->name;

	for (size_t i = 0; i < COUNT_OF(untouched); i++) {
		if (str_equal_nocase(name, untouched[i])) {
			buffer_append_str(out, field->whole);
			return;
		}
	}
	buffer_append(out, field->whole.data, (size_t)(field->body.data - field->whole.data));
	if (str_equal_nocase(name, STR("content-type")) ||
	    str_equal_nocase(name, STR("content-disposition")))
		header_parameters_encode(field->body, out);
	else if (header_field_has_addresses(name))
		encode_addresses(field->body, out);
	else
		encode_words(field->body, out);
	buffer_append(out, "\r\n", 2);
}
