// SPDX-License-Identifier: ISC
/* Whether the encoded words of a header (RFC 2047) can be converted: GMime replaces those that
 * cannot, and does not say so. */
#include "filing/decode/mime/internal.h"
#include <iconv.h>

enum { CHARSET_MAX = 64, WORDS_MAX = 200 }; /* more words are not looked at */

static bool is_known_charset(struct str charset)
{
	char name[CHARSET_MAX + 1] = "";
	iconv_t converter;

	if (charset.length == 0 || charset.length > CHARSET_MAX)
		return false;
	memcpy(name, charset.data, charset.length);
	converter = iconv_open("UTF-8", g_mime_charset_iconv_name(name));
	if (converter == (iconv_t)-1)
		return false;
	(void)iconv_close(converter);
	return true;
}

/* TEXT follows "=?". Without a second "?" it is no encoded word. */
static bool is_word_known(struct str text)
{
	ptrdiff_t end = str_find(text, '?');
	struct str charset = str_slice(text.data, end < 0 ? 0 : (size_t)end);
	ptrdiff_t language = str_find(charset, '*'); /* RFC 2231 section 5 */

	if (end < 0 || str_find(charset, ' ') >= 0)
		return true;
	if (language >= 0)
		charset.length = (size_t)language;
	return is_known_charset(charset);
}

static void check_encoded_words(struct decode_work *work, struct str text, unsigned *words)
{
	while (text.length > 2 && *words < WORDS_MAX) {
		ptrdiff_t found = str_find(text, '=');

		if (found < 0)
			return;
		text = str_skip(text, (size_t)found + 1);
		if (text.length == 0 || text.data[0] != '?')
			continue;
		text = str_skip(text, 1);
		++*words;
		if (!is_word_known(text))
			work->problems |= DECODE_PROBLEM_WORD;
		/* the charset, the encoding and the word each end in "?" */
		for (int i = 0; i < 3; i++) {
			ptrdiff_t end = str_find(text, '?');

			text = str_skip(text, end < 0 ? 0 : (size_t)end + 1);
		}
	}
}

void decode_words_check(struct decode_work *work, GMimeMessage *message)
{
	static const struct str names[] = {STR("subject"),  STR("from"), STR("sender"),
					   STR("reply-to"), STR("to"),   STR("cc"),
					   STR("bcc")};
	GMimeHeaderList *headers = g_mime_object_get_header_list(GMIME_OBJECT(message));
	int count = g_mime_header_list_get_count(headers);
	unsigned words = 0;

	for (int i = 0; i < count; i++) {
		GMimeHeader *header = g_mime_header_list_get_header_at(headers, i);
		struct str name = str_from(g_mime_header_get_name(header));
		const char *value = g_mime_header_get_raw_value(header);

		for (size_t j = 0; j < COUNT_OF(names) && value != NULL; j++)
			if (str_equal_nocase(name, names[j]))
				check_encoded_words(work, str_from(value), &words);
	}
}
