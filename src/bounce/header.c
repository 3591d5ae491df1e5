// SPDX-License-Identifier: ISC
/* The header fields of a report: folded, and encoded if they are not ASCII. */
#include "bounce/internal.h"
#include "mail/text/text.h"
#include <string.h>

enum { COLUMNS = 78 };

static void append_folded_words(struct buffer *out, size_t column, struct str text)
{
	struct str word;

	while (str_split(&text, ' ', &word)) {
		if (word.length == 0)
			continue;
		/* a first line with only the field's name would be legal, but is often misread */
		if (column + 1 + word.length > COLUMNS && column > COLUMNS / 2) {
			buffer_append_string(out, "\r\n");
			column = 0;
		}
		buffer_append_byte(out, ' ');
		buffer_append_str(out, word);
		column += 1 + word.length;
	}
	buffer_append_string(out, "\r\n");
}

void bounce_header_utf8(struct buffer *out, const char *name, const char *prefix, struct str text,
			bool is_utf8)
{
	struct buffer safe = {0};

	buffer_append_string(&safe, prefix);
	mail_text_append(&safe, text, is_utf8 ? MAIL_TEXT_8BIT : MAIL_TEXT_ASCII);
	buffer_append_format(out, "%s:", name);
	append_folded_words(out, strlen(name) + 1, buffer_view(&safe));
	buffer_clear(&safe);
}

void bounce_header_prefixed(struct buffer *out, const char *name, const char *prefix,
			    struct str text)
{
	bounce_header_utf8(out, name, prefix, text, false);
}

void bounce_header(struct buffer *out, const char *name, struct str text)
{
	bounce_header_prefixed(out, name, "", text);
}

void bounce_header_xtext(struct buffer *out, const char *name, struct str text)
{
	struct buffer decoded = {0};

	while (text.length > 0) {
		uint64_t byte;

		if (text.data[0] == '+' && text.length >= 3 &&
		    str_to_u64_hex(str_slice(text.data + 1, 2), &byte)) {
			buffer_append_byte(&decoded, (char)byte);
			text = str_skip(text, 3);
		} else {
			buffer_append_byte(&decoded, text.data[0]);
			text = str_skip(text, 1);
		}
	}
	bounce_header(out, name, buffer_view(&decoded));
	buffer_clear(&decoded);
}
