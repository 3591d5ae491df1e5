// SPDX-License-Identifier: ISC
/* Foreign text, made fit for a database and a terminal (filing/decode/internal_text.h). */
#include "base/buffer.h"
#include "base/text/utf8.h"
#include "filing/decode/internal_text.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* C0, DEL and C1; the separators of lines and paragraphs, which are line ends to some. */
static bool is_control_character(uint32_t character)
{
	return character < ' ' || (character >= 0x7f && character < 0xa0) || character == 0x2028 ||
	       character == 0x2029;
}

static struct str clean_character(struct str text, size_t *length_out)
{
	size_t length = utf8_length(text);

	*length_out = length > 0 ? length : 1;
	if (length == 0)
		return STR(REPLACEMENT);
	return is_control_character(utf8_code_point(text)) ? STR(" ")
							   : str_slice(text.data, length);
}

/* A fold of a field may be left in it: white space is one space. */
static void append_clean(struct buffer *out, struct str text, size_t length_max)
{
	while (text.length > 0) {
		size_t length;
		struct str clean = clean_character(text, &length);
		bool is_space = str_equal(clean, STR(" ")) && text.data[0] != ' ';

		if (out->length + clean.length > length_max)
			return;
		if (!is_space || (out->length > 0 && buffer_data(out)[out->length - 1] != ' '))
			buffer_append_str(out, clean);
		text = str_skip(text, length);
	}
}

static struct str clean_decoded_text(struct arena *arena, const char *text, size_t length_max)
{
	struct buffer out CLEANUP(buffer_clear) = {0};

	if (text == NULL)
		return STR("");
	append_clean(&out, str_from(text), length_max);
	return arena_copy_str(arena, str_trim(buffer_view(&out)));
}

struct str decode_text_clean(struct arena *arena, const char *text)
{
	return clean_decoded_text(arena, text, DECODE_TEXT_MAX);
}

struct str decode_text_word(struct arena *arena, const char *text)
{
	struct str word = clean_decoded_text(arena, text, DECODE_WORD_MAX);

	str_lower((char *)(uintptr_t)word.data, word.length);
	return word;
}

bool decode_text_is_clean(struct str text, size_t length_max)
{
	if (text.length > length_max)
		return false;
	while (text.length > 0) {
		size_t length = utf8_length(text);

		if (length == 0 || is_control_character(utf8_code_point(text)))
			return false;
		text = str_skip(text, length);
	}
	return true;
}
