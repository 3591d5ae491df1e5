// SPDX-License-Identifier: ISC
/*
 * mail/text.h - text from outside on its way into a header.
 */
#ifndef MAIL_TEXT_H
#define MAIL_TEXT_H

#include "base/buffer.h"

enum mail_text {
	MAIL_TEXT_ASCII, /* bytes above 0x7e become '?' too */
	MAIL_TEXT_8BIT,  /* they stay as they are */
};

/* Appends TEXT with every control character, CR, LF, tab and NUL included, as
 * '?': whatever it holds, it stays within one header line. */
void mail_text_append(struct buffer *out, struct str text, enum mail_text kind);

#endif
