// SPDX-License-Identifier: ISC
/*
 * mail/verdict.h - what was decided about a command, a recipient or a delivery.
 *
 * A refusal is a value, not an error: it has a class, an enhanced status code
 * (RFC 3463) and a text for people.
 */
#ifndef MAIL_VERDICT_H
#define MAIL_VERDICT_H

#include "base/attributes.h"
#include "base/str.h"

enum {
	MAIL_STATUS_SIZE = 12, /* "5.123.123" and a NUL */
	MAIL_TEXT_SIZE = 480,  /* one line, printable, with its NUL */
};

enum mail_verdict_class {
	MAIL_OK,   /* 2.x.x: done */
	MAIL_WAIT, /* 4.x.x: not now, try again */
	MAIL_FAIL, /* 5.x.x: never */
};

struct mail_verdict {
	enum mail_verdict_class class;
	char status[MAIL_STATUS_SIZE];
	char text[MAIL_TEXT_SIZE];
};

/* Fills *VERDICT; the text is formatted, then made safe: every control
 * character and every byte that is not UTF-8 becomes '?', and it is cut to its
 * bound at a character. The class follows the first digit of STATUS. */
void mail_verdict_set(struct mail_verdict *verdict, const char *status, const char *format, ...)
	PRINTF_LIKE(3, 4);

/* The class of an enhanced status code; MAIL_WAIT for what is none. */
enum mail_verdict_class mail_verdict_class_of(const char *status);
/* "ok", "wait", "fail" */
const char *mail_verdict_class_name(enum mail_verdict_class class);
/* What others are told instead of the text of a failure of our own with STATUS, which may name
 * services, servers, users or the addresses that an address leads to; NULL: the text itself. */
const char *mail_status_public_text(struct str status);
/* D.D.D or D.D{1,3}.D{1,3} with 2, 4 or 5 first, RFC 3463 section 2. */
bool mail_status_is_valid(struct str status);

#endif
