// SPDX-License-Identifier: ISC
/*
 * mail/text/text.h - makes foreign text safe for a header.
 */
#ifndef MAIL_TEXT_TEXT_H
#define MAIL_TEXT_TEXT_H

#include "base/buffer.h"

enum mail_text {
	MAIL_TEXT_ASCII, /* bytes above 0x7e become '?', too */
	MAIL_TEXT_8BIT,  /* characters above U+009F stay, but for those that turn the direction of
			  * text;  and so do bytes above 0x9f that are none */
};

/* Appends TEXT with every control character, including CR, LF, tab and NUL, as
 * '?': the result is always within one header line. */
void mail_text_append(struct buffer *out, struct str text, enum mail_text kind);
/* The same for lines in eight bits, whose LFs stay: for what a command prints. */
void mail_text_append_lines(struct buffer *out, struct str text);

#endif
