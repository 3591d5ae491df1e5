// SPDX-License-Identifier: ISC
/* bounce/internal.h - between the parts of bounce/. */
#ifndef BOUNCE_INTERNAL_H
#define BOUNCE_INTERNAL_H

#include "bounce/report.h"

/* What is returned of the original. */
struct bounce_copy {
	struct str text;    /* whole lines of it */
	bool is_header;     /* of the header alone: text/rfc822-headers */
	bool is_cut;        /* more was wanted than is returned */
	bool is_8bit;       /* has a byte above 0x7f */
	bool is_utf8;       /* the report is one of RFC 6533: it has what only UTF-8 can say */
	bool is_long_lined; /* has a line over 998 bytes, RFC 5322 section 2.1.1 */
};

/* "name: text" CRLF, folded before words that would pass column 78. The text is
 * made safe and ASCII. (header.c) */
void bounce_header(struct buffer *out, const char *name, struct str text);
/* The same with UTF-8 as it is, where the report IS_UTF8. */
void bounce_header_utf8(struct buffer *out, const char *name, const char *prefix, struct str text,
			bool is_utf8);
/* The same for an xtext value (RFC 3461 section 4), decoded first. */
void bounce_header_xtext(struct buffer *out, const char *name, struct str text);
/* PREFIX before the text in the same header. */
void bounce_header_prefixed(struct buffer *out, const char *name, const char *prefix,
			    struct str text);

/* Whether any recipient has failed. (addressing.c) */
bool bounce_has_failure(const struct bounce_report *report);
/* Whether it is QSBMF to the letter. (addressing.c) */
bool bounce_is_qsbmf(const struct bounce_report *report);
/* The header of the report, but for what says how the body is made. (addressing.c) */
void bounce_addressing_write(const struct bounce_report *report, bool is_utf8, struct buffer *out);

/* The whole report as QSBMF, of TEXT, the part for people, and the COPY. (qsbmf.c) */
void bounce_qsbmf_write(const struct bounce_report *report, const struct bounce_copy *copy,
			struct str text, struct buffer *out);

/* Whether TEXT has a byte above 0x7f. (copy.c) */
bool bounce_is_8bit(struct str text);

/* The part for people. (text.c) */
void bounce_text_write(const struct bounce_report *report, const struct bounce_copy *copy,
		       struct buffer *out);

/* The body of the message/delivery-status part. (status.c) */
void bounce_status_write(const struct bounce_report *report, bool is_utf8, struct buffer *out);

/* What of the message is returned, BOUND bytes at most, and its MIME part after the boundary,
 * header and body. (copy.c) */
struct bounce_copy bounce_copy_choose(const struct bounce_report *report, uint64_t bound);
void bounce_copy_write(const struct bounce_copy *copy, struct buffer *out);

#endif
