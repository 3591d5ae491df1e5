// SPDX-License-Identifier: ISC
/* bounce/internal.h - what the files of this folder share. */
#ifndef BOUNCE_INTERNAL_H
#define BOUNCE_INTERNAL_H

#include "bounce/report.h"

/* What is returned of the original. */
struct bounce_copy {
	struct str text;    /* complete lines of it */
	bool is_header;     /* only the header: text/rfc822-headers */
	bool is_cut;        /* truncated: less is returned than requested */
	bool is_8bit;       /* has a byte above 0x7f */
	bool is_utf8;       /* the report is one of RFC 6533: something in it needs UTF-8 */
	bool is_long_lined; /* has a line over 998 bytes, RFC 5322 section 2.1.1 */
};

/* "name: text" CRLF, folded before words that would exceed column 78. The text is made safe and
 * ASCII. (header.c) */
void bounce_header(struct buffer *out, const char *name, struct str text);
/* The same, with UTF-8 unchanged if the report IS_UTF8. */
void bounce_header_utf8(struct buffer *out, const char *name, const char *prefix, struct str text,
			bool is_utf8);
/* The same for an xtext value (RFC 3461 section 4), decoded first. */
void bounce_header_xtext(struct buffer *out, const char *name, struct str text);
/* The same, with PREFIX before the text. */
void bounce_header_prefixed(struct buffer *out, const char *name, const char *prefix,
			    struct str text);

/* Whether any recipient has failed. (addressing.c) */
bool bounce_has_failure(const struct bounce_report *report);
/* Whether it is QSBMF exactly as specified. (addressing.c) */
bool bounce_is_qsbmf(const struct bounce_report *report);
/* The header of the report, without the fields that describe the body. (addressing.c) */
void bounce_addressing_write(const struct bounce_report *report, bool is_utf8, struct buffer *out);

/* The whole report as QSBMF, from TEXT, the part for people, and the COPY. (qsbmf.c) */
void bounce_qsbmf_write(const struct bounce_report *report, const struct bounce_copy *copy,
			struct str text, struct buffer *out);

/* Whether TEXT has a byte above 0x7f. (copy.c) */
bool bounce_is_8bit(struct str text);

/* The part for people. (text.c) */
void bounce_text_write(const struct bounce_report *report, const struct bounce_copy *copy,
		       struct buffer *out);

/* The body of the message/delivery-status part. (status.c) */
void bounce_status_write(const struct bounce_report *report, bool is_utf8, struct buffer *out);

/* Chooses what is returned of the message, at most BOUND bytes; and writes its MIME part after
 * the boundary, header and body. (copy.c) */
struct bounce_copy bounce_copy_choose(const struct bounce_report *report, uint64_t bound);
void bounce_copy_write(const struct bounce_copy *copy, struct buffer *out);

#endif
