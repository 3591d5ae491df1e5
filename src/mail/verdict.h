// SPDX-License-Identifier: ISC
/*
 * mail/verdict.h - the decision about a command, a recipient or a delivery.
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
	MAIL_OK,   /* 2.x.x: success */
	MAIL_WAIT, /* 4.x.x: temporary failure, try again */
	MAIL_FAIL, /* 5.x.x: permanent failure */
};

struct mail_verdict {
	enum mail_verdict_class class;
	char status[MAIL_STATUS_SIZE];
	char text[MAIL_TEXT_SIZE];
};

/* Sets *VERDICT. The text is formatted, then made safe: every control
 * character and every byte that is not UTF-8 becomes '?', and it is cut to its
 * limit at a character. The class follows from the first digit of STATUS. */
void mail_verdict_set(struct mail_verdict *verdict, const char *status, const char *format, ...)
	PRINTF_LIKE(3, 4);

/* The class of an enhanced status code; MAIL_WAIT if it is malformed. */
enum mail_verdict_class mail_verdict_class_of(const char *status);
/* "ok", "wait", "fail" */
const char *mail_verdict_class_name(enum mail_verdict_class class);
/* The public text for a failure of our own with STATUS, whose text may name services, servers,
 * users or the targets of an address; NULL: its text may be shown. */
const char *mail_status_public_text(struct str status);
/* The status of what was not delivered in time (RFC 3463 section 3.5), and what stands in its text
 * before that of the last attempt: "not delivered ...; the last attempt: mx.test said: 450 later".
 */
#define MAIL_STATUS_EXPIRED "5.4.7"
#define MAIL_NOT_DELIVERED  "not delivered " /* its text begins so */
#define MAIL_LAST_ATTEMPT   "; the last attempt: "
/* Whether STATUS and TEXT are such ones; another host may have said that status itself. */
bool mail_is_expired(struct str status, struct str text);
/* What the last attempt said, in the TEXT of what is expired; otherwise TEXT. */
struct str mail_last_attempt(struct str status, struct str text);
/* D.D.D or D.D{1,3}.D{1,3} with a first digit of 2, 4 or 5, RFC 3463 section 2. */
bool mail_status_is_valid(struct str status);

#endif
