// SPDX-License-Identifier: ISC
#include "base/text/json_read.h"
#include "base/text/utf8.h"
#include <string.h>

static const uint32_t SURROGATE = 0xd800;
static const uint32_t SURROGATE_LOW = 0xdc00;
static const uint32_t SURROGATE_END = 0xe000;

static void skip_json_space(struct str *text)
{
	while (text->length > 0 && memchr(" \t\r\n", text->data[0], 4) != NULL)
		*text = str_skip(*text, 1);
}

static bool take_json_byte(struct str *text, char byte)
{
	if (text->length == 0 || text->data[0] != byte)
		return false;
	*text = str_skip(*text, 1);
	return true;
}

/* --- texts --- */

/* Four digits of "\uXXXX". */
static bool take_json_code(struct str *text, uint32_t *code_out)
{
	uint64_t code;

	if (text->length < 4 || !str_to_u64_hex(str_slice(text->data, 4), &code))
		return false;
	*code_out = (uint32_t)code;
	*text = str_skip(*text, 4);
	return true;
}

/* TEXT begins after "\u". A surrogate must be half of a pair. */
static bool take_json_code_point(struct str *text, uint32_t *code_out)
{
	uint32_t low;

	if (!take_json_code(text, code_out))
		return false;
	if (*code_out < SURROGATE || *code_out >= SURROGATE_END)
		return true;
	if (*code_out >= SURROGATE_LOW || !take_json_byte(text, '\\') ||
	    !take_json_byte(text, 'u') || !take_json_code(text, &low) || low < SURROGATE_LOW ||
	    low >= SURROGATE_END)
		return false;
	*code_out = 0x10000 + ((*code_out - SURROGATE) << 10) + (low - SURROGATE_LOW);
	return true;
}

static void append_json_code_point(uint32_t code, struct buffer *out)
{
	if (code < 0x80) {
		buffer_append_byte(out, (char)code);
		return;
	}
	if (code < 0x800) {
		buffer_append_byte(out, (char)(0xc0 | (code >> 6)));
	} else {
		if (code < 0x10000) {
			buffer_append_byte(out, (char)(0xe0 | (code >> 12)));
		} else {
			buffer_append_byte(out, (char)(0xf0 | (code >> 18)));
			buffer_append_byte(out, (char)(0x80 | ((code >> 12) & 0x3f)));
		}
		buffer_append_byte(out, (char)(0x80 | ((code >> 6) & 0x3f)));
	}
	buffer_append_byte(out, (char)(0x80 | (code & 0x3f)));
}

/* TEXT begins after the backslash. OUT: may be NULL, here and below. */
static bool take_json_escape(struct str *text, struct buffer *out)
{
	static const char letters[] = "\"\\/bfnrt";
	static const char bytes[] = "\"\\/\b\f\n\r\t";
	const char *letter;
	uint32_t code;

	if (text->length == 0)
		return false;
	letter = memchr(letters, text->data[0], sizeof letters - 1);
	if (letter != NULL) {
		code = (uint32_t)bytes[letter - letters];
		*text = str_skip(*text, 1);
	} else if (!take_json_byte(text, 'u') || !take_json_code_point(text, &code)) {
		return false;
	}
	if (out != NULL)
		append_json_code_point(code, out);
	return true;
}

static bool take_json_text(struct str *text, struct buffer *out)
{
	if (!take_json_byte(text, '"'))
		return false;
	while (text->length > 0 && text->data[0] != '"') {
		size_t length = utf8_length(*text);

		if (length == 0 || (unsigned char)text->data[0] < ' ')
			return false;
		if (text->data[0] == '\\') {
			*text = str_skip(*text, 1);
			if (!take_json_escape(text, out))
				return false;
			continue;
		}
		if (out != NULL)
			buffer_append(out, text->data, length);
		*text = str_skip(*text, length);
	}
	return take_json_byte(text, '"');
}

/* --- numbers, words --- */

static bool take_json_digits(struct str *text)
{
	size_t before = text->length;

	while (text->length > 0 && str_is_digit(text->data[0]))
		*text = str_skip(*text, 1);
	return text->length < before;
}

static bool take_json_number(struct str *text)
{
	(void)take_json_byte(text, '-');
	if (!take_json_byte(text, '0') && !take_json_digits(text))
		return false;
	if (take_json_byte(text, '.') && !take_json_digits(text))
		return false;
	if (!take_json_byte(text, 'e') && !take_json_byte(text, 'E'))
		return true;
	if (!take_json_byte(text, '+'))
		(void)take_json_byte(text, '-');
	return take_json_digits(text);
}

static bool take_json_word(struct str *text)
{
	static const struct str words[] = {STR("true"), STR("false"), STR("null")};

	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (str_starts_with(*text, words[i])) {
			*text = str_skip(*text, words[i].length);
			return true;
		}
	return false;
}

/* --- values --- */

static bool take_json_scalar(struct str *text)
{
	if (text->length == 0)
		return false;
	if (text->data[0] == '"')
		return take_json_text(text, NULL);
	return text->data[0] == '-' || str_is_digit(text->data[0]) ? take_json_number(text)
								   : take_json_word(text);
}

static bool take_json_name(struct str *text)
{
	skip_json_space(text);
	if (!take_json_text(text, NULL))
		return false;
	skip_json_space(text);
	return take_json_byte(text, ':');
}

/* Without recursion: CLOSES has what ends each container that is open. */
static bool take_json_value(struct str *text)
{
	char closes[JSON_DEPTH_MAX];
	size_t depth = 0;

	for (;;) {
		bool is_object;

		skip_json_space(text);
		is_object = text->length > 0 && text->data[0] == '{';
		if (is_object || (text->length > 0 && text->data[0] == '[')) {
			if (depth == JSON_DEPTH_MAX)
				return false;
			closes[depth++] = is_object ? '}' : ']';
			*text = str_skip(*text, 1);
			skip_json_space(text);
			if (!take_json_byte(text, closes[depth - 1])) {
				if (is_object && !take_json_name(text))
					return false;
				continue;
			}
			depth--;
		} else if (!take_json_scalar(text)) {
			return false;
		}
		for (skip_json_space(text); depth > 0 && take_json_byte(text, closes[depth - 1]);
		     skip_json_space(text))
			depth--;
		if (depth == 0)
			return true;
		if (!take_json_byte(text, ',') || (closes[depth - 1] == '}' && !take_json_name(text)))
			return false;
	}
}

bool json_is_valid(struct str text)
{
	return take_json_value(&text) && text.length == 0;
}

/* --- what is in a valid one --- */

struct json_walk json_walk_begin(struct str container)
{
	struct json_walk walk = {.rest = container};

	skip_json_space(&walk.rest);
	walk.is_object = take_json_byte(&walk.rest, '{');
	if (!walk.is_object && !take_json_byte(&walk.rest, '['))
		walk.rest = STR("");
	return walk;
}

bool json_walk_next(struct json_walk *walk, struct str *name_out, struct str *value_out)
{
	struct str *rest = &walk->rest;
	const char *start;

	(void)take_json_byte(rest, ',');
	skip_json_space(rest);
	if (rest->length == 0 || rest->data[0] == '}' || rest->data[0] == ']')
		return false;
	*name_out = STR("");
	start = rest->data;
	if (walk->is_object) {
		if (!take_json_text(rest, NULL))
			return false;
		*name_out = str_slice(start, (size_t)(rest->data - start));
		skip_json_space(rest);
		(void)take_json_byte(rest, ':');
		skip_json_space(rest);
		start = rest->data;
	}
	if (!take_json_value(rest))
		return false;
	*value_out = str_trim(str_slice(start, (size_t)(rest->data - start)));
	return true;
}

static bool is_json_name(struct str quoted, const char *name)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	return json_text(quoted, &text) && str_equal(buffer_view(&text), str_from(name));
}

struct str json_member(struct str object, const char *name)
{
	struct json_walk walk = json_walk_begin(object);
	struct str member;
	struct str value;

	while (walk.is_object && json_walk_next(&walk, &member, &value))
		if (is_json_name(member, name))
			return value;
	return STR("");
}

bool json_text(struct str value, struct buffer *out)
{
	return value.length > 0 && value.data[0] == '"' && take_json_text(&value, out);
}

bool json_number(struct str value, uint64_t *number_out)
{
	return str_to_u64(value, number_out);
}
