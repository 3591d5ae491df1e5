// SPDX-License-Identifier: ISC
#include "mail/text/text.h"
#include "base/text/utf8.h"

void mail_text_append(struct buffer *out, struct str text, enum mail_text kind)
{
	while (text.length > 0) {
		size_t length = kind == MAIL_TEXT_8BIT ? utf8_length(text) : 1;
		size_t taken = length > 0 ? length : 1;
		bool is_safe = utf8_is_harmless(length > 1 ? utf8_code_point(text)
							   : (unsigned char)text.data[0]);

		if (!is_safe || (kind == MAIL_TEXT_ASCII && (unsigned char)text.data[0] > 0x7e))
			buffer_append_byte(out, '?');
		else
			buffer_append(out, text.data, taken);
		text = str_skip(text, taken);
	}
}

void mail_text_append_lines(struct buffer *out, struct str text)
{
	struct str line;

	while (text.length > 0 && str_split(&text, '\n', &line)) {
		mail_text_append(out, line, MAIL_TEXT_8BIT);
		if (text.data != NULL)
			buffer_append_byte(out, '\n');
	}
}
