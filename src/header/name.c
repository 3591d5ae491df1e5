// SPDX-License-Identifier: ISC
#include "header/name.h"
#include "base/text/quote.h"
#include "base/text/utf8.h"
#include <string.h>

/* Bytes between "=?UTF-8?Q?" or "=?unknown-8bit?Q?" and "?=": 75 in all, RFC 2047 section 2. */
enum { UTF8_MAX = 60, UNKNOWN_MAX = 56 };

/* Atoms and spaces, RFC 5322 section 3.2.5. */
static bool is_phrase(struct str name)
{
	for (size_t i = 0; i < name.length; i++) {
		char c = name.data[i];

		if ((unsigned char)c >= 0x7f || c < ' ' || strchr("()<>[]:;@\\,.\"", c) != NULL)
			return false;
	}
	return true;
}

bool header_name_is_ascii(struct str name)
{
	for (size_t i = 0; i < name.length; i++)
		if ((unsigned char)name.data[i] >= 0x7f || name.data[i] < ' ')
			return false;
	return true;
}

static bool is_special_character(char c)
{
	return c == '\0' || strchr("()<>[]:;@\\,.\"", c) != NULL;
}

/* Splits "=?CHARSET?ENCODING?TEXT?=". */
static bool split_word(struct str word, struct str *charset_out, char *encoding_out,
		       struct str *text_out)
{
	struct str rest = word;
	struct str encoding;

	if (word.length < 8 || !str_starts_with(word, STR("=?")) ||
	    !str_equal(str_skip(word, word.length - 2), STR("?=")))
		return false;
	rest = str_slice(word.data + 2, word.length - 4);
	if (!str_split(&rest, '?', charset_out) || !str_split(&rest, '?', &encoding) ||
	    encoding.length != 1)
		return false;
	*text_out = rest;
	*encoding_out = encoding.data[0];
	str_lower(encoding_out, 1);
	return charset_out->length > 0 && rest.length > 0 && str_find(rest, '?') < 0;
}

bool header_name_is_encoded_word(struct str word)
{
	struct str charset;
	struct str text;
	char encoding;

	if (!split_word(word, &charset, &encoding, &text) || !header_name_is_ascii(word))
		return false;
	for (size_t i = 0; i < charset.length; i++)
		if (charset.data[i] == ' ' || is_special_character(charset.data[i]))
			return false;
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] == ' ' || (encoding == 'b' && is_special_character(text.data[i])))
			return false;
	return encoding == 'q' || encoding == 'b';
}

/* Characters that a display name may not have become encoded, too. */
static void append_encoded_word(struct buffer *out, struct str word)
{
	for (size_t i = 0; i < word.length; i++) {
		if (is_special_character(word.data[i]))
			buffer_append_format(out, "=%02X", (unsigned char)word.data[i]);
		else
			buffer_append_byte(out, word.data[i]);
	}
}

/* RFC 2047 section 4.2 */
static void append_q(struct buffer *out, char byte)
{
	char lower = byte;

	str_lower(&lower, 1);
	if (byte == ' ')
		buffer_append_byte(out, '_');
	else if (lower >= 'a' && lower <= 'z')
		buffer_append_byte(out, byte);
	else
		buffer_append_format(out, "=%02X", (unsigned char)byte);
}

bool header_name_is_8bit(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if ((unsigned char)text.data[i] >= 0x80)
			return true;
	return false;
}

bool header_name_is_utf8(struct str text)
{
	while (text.length > 0) {
		size_t length = utf8_length(text);

		if (length == 0)
			return false;
		text = str_skip(text, length);
	}
	return true;
}

/* No character is split between two words. */
void header_name_append_encoded(struct buffer *out, struct str text)
{
	bool is_known = header_name_is_utf8(text);
	size_t most = is_known ? UTF8_MAX : UNKNOWN_MAX;
	size_t column = most + 1;
	const char *separator = "";

	while (text.length > 0) {
		size_t length = is_known ? utf8_length(text) : 1;

		if (column + 3 * length > most) {
			buffer_append_format(out, "%s=?%s?Q?", separator,
					     is_known ? "UTF-8" : "unknown-8bit");
			separator = "?=\r\n ";
			column = 0;
		}
		for (size_t i = 0; i < length; i++)
			append_q(out, text.data[i]);
		column += 3 * length;
		text = str_skip(text, length);
	}
	buffer_append_string(out, "?=");
}

void header_name_append(struct buffer *out, struct str name)
{
	if (is_phrase(name))
		buffer_append_str(out, name);
	else if (header_name_is_ascii(name))
		quote_append(out, name);
	else
		header_name_append_encoded(out, name);
}

static void append_separator(struct buffer *out)
{
	if (out->length > 0)
		buffer_append_byte(out, ' ');
}

/* Appends the words in TEXT and empties it. Where encoded words are next to it, a space is inside:
 * the one between two of them means nothing. */
static void append_name_words(struct buffer *out, struct buffer *text, bool is_after,
			      bool is_before)
{
	struct buffer name CLEANUP(buffer_clear) = {0};
	bool is_encoded = !header_name_is_ascii(buffer_view(text));

	if (text->length == 0)
		return;
	if (is_after && is_encoded)
		buffer_append_byte(&name, ' ');
	buffer_append_str(&name, buffer_view(text));
	if (is_before && is_encoded)
		buffer_append_byte(&name, ' ');
	append_separator(out);
	header_name_append(out, buffer_view(&name));
	buffer_reset(text);
}

/* Removes the commas and the like after an encoded word. */
static struct str without_tail(struct str word)
{
	while (word.length > 0 && is_special_character(word.data[word.length - 1]))
		word.length--;
	return word;
}

void header_name_append_mixed(struct buffer *out, struct str text)
{
	struct buffer words CLEANUP(buffer_clear) = {0};
	struct buffer name CLEANUP(buffer_clear) = {0};
	bool is_after = false;
	struct str word;

	while (str_split(&text, ' ', &word)) {
		struct str encoded = without_tail(word);

		if (header_name_is_encoded_word(encoded)) {
			append_name_words(&name, &words, is_after, true);
			append_separator(&name);
			append_encoded_word(&name, encoded);
			is_after = true;
			word = str_skip(word, encoded.length);
		}
		if (word.length > 0) {
			append_separator(&words);
			buffer_append_str(&words, word);
		}
	}
	append_name_words(&name, &words, is_after, false);
	buffer_append_str(out, buffer_view(&name));
}
