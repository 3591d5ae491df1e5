// SPDX-License-Identifier: ISC
#include "mail/text/text.h"

void mail_text_append(struct buffer *out, struct str text, enum mail_text kind)
{
	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];
		bool safe = c >= 0x20 && c != 0x7f && (c < 0x80 || kind == MAIL_TEXT_8BIT);

		buffer_append_byte(out, safe ? (char)c : '?');
	}
}
