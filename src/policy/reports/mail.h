// SPDX-License-Identifier: ISC
/*
 * policy/reports/mail.h - a report as it travels: compressed, and as a message, RFC 8460 section 5.
 */
#ifndef POLICY_REPORTS_MAIL_H
#define POLICY_REPORTS_MAIL_H

#include "base/buffer.h"

/* Appends TEXT in the form of gzip (RFC 1952). */
void reports_compress(struct str text, struct buffer *out);

struct reports_mail {
	const char *from;      /* an address */
	const char *to;        /* an address */
	const char *domain;    /* that the report is about */
	const char *submitter; /* a domain: ours */
	const char *id;        /* of the report: letters, digits, '-', '.' */
	int64_t begin_us;      /* of the day */
	int64_t now_us;
	struct str content; /* compressed */
};

/* Appends the message, with CRLF lines. */
void reports_mail_format(const struct reports_mail *mail, struct buffer *out);

#endif
