// SPDX-License-Identifier: ISC
/*
 * qmtp/client_answer.h - an answer of a server on its way in: a netstring that begins with K, Z or
 * D.
 */
#ifndef QMTP_CLIENT_ANSWER_H
#define QMTP_CLIENT_ANSWER_H

#include "mail/verdict.h"
#include "qmtp/netstring.h"

/* All zeroes at first. */
struct qmtp_answer {
	struct qmtp_length length;
	bool is_counted; /* the length is complete */
	bool is_over;    /* TEXT is complete: the next byte begins another answer */
	struct buffer text;
};

enum qmtp_answer_state { QMTP_ANSWER_MORE, QMTP_ANSWER_COMPLETE, QMTP_ANSWER_MALFORMED };

/* Takes bytes from *INPUT, up to the end of an answer. */
MUST_CHECK enum qmtp_answer_state qmtp_answer_take(struct qmtp_answer *answer, struct str *input);
/* What the complete answer says. Its text may end with "(#5.1.1)", as qmail writes the status. */
void qmtp_answer_verdict(const struct qmtp_answer *answer, const char *peer,
			 struct mail_verdict *verdict);

#endif
