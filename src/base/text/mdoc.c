// SPDX-License-Identifier: ISC
#include "base/text/mdoc.h"

enum { LINE_MAX_LENGTH = 78 };

static bool begins_sentence(const char *text)
{
	return (text[0] >= 'A' && text[0] <= 'Z') || text[0] == '%';
}

static void append_escaped_mdoc(struct buffer *out, struct str word)
{
	for (size_t i = 0; i < word.length; i++) {
		if (word.data[i] == '\\')
			buffer_append_string(out, "\\e");
		else if (word.data[i] == '-' && (i == 0 || word.data[i - 1] == '-'))
			buffer_append_string(out, "\\-"); /* a minus sign, not a hyphen */
		else
			buffer_append_byte(out, word.data[i]);
	}
}

/* Appends a word so that nothing in it is a request or an escape. */
static void append_mdoc_word(struct buffer *out, struct str word, bool is_first)
{
	if (is_first && word.length > 0 && (word.data[0] == '.' || word.data[0] == '\''))
		buffer_append_string(out, "\\&");
	append_escaped_mdoc(out, word);
}

void mdoc_append_text(struct buffer *out, const char *text)
{
	struct str rest = str_from(text);
	size_t length = 0;
	struct str word;

	while (str_split(&rest, ' ', &word)) {
		bool is_end = word.length > 0 && word.data[word.length - 1] == '.' &&
			      rest.data != NULL && begins_sentence(rest.data);

		if (length > 0 && length + word.length >= LINE_MAX_LENGTH) {
			buffer_append_byte(out, '\n');
			length = 0;
		} else if (length > 0) {
			buffer_append_byte(out, ' ');
		}
		append_mdoc_word(out, word, length == 0);
		length += word.length + 1;
		if (is_end) {
			buffer_append_byte(out, '\n');
			length = 0;
		}
	}
	buffer_append_byte(out, '\n');
}

/* A word of two letters might be the name of a macro, and punctuation would be separated. */
void mdoc_append_argument(struct buffer *out, struct str word)
{
	buffer_append_string(out, "\\&");
	append_escaped_mdoc(out, word);
}
