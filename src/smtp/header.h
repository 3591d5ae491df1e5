// SPDX-License-Identifier: ISC
/*
 * smtp/header.h - the header fields of a text, read as they pass; for smtp/text.c.
 */
#ifndef SMTP_HEADER_H
#define SMTP_HEADER_H

#include "smtp/text.h"

/* Takes bytes of a header line, without its CRLF. */
void smtp_header_take(struct smtp_text *text, const char *data, size_t length);
void smtp_header_end_line(struct smtp_text *text);

#endif
