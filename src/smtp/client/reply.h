// SPDX-License-Identifier: ISC
/*
 * smtp/client/reply.h - one reply of a server, RFC 5321 section 4.2.
 *
 * Servers are not trusted: the length of lines, their number and the whole reply are limited, and
 * every line must have the same code.
 */
#ifndef SMTP_CLIENT_REPLY_H
#define SMTP_CLIENT_REPLY_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "mail/verdict.h"

enum {
	SMTP_CLIENT_LINE_MAX = 2048, /* bytes of a line; RFC 5321 section 4.5.3.1.5 requires 512 */
	SMTP_CLIENT_LINES_MAX = 100,
	SMTP_CLIENT_REPLY_MAX = 16384, /* bytes of all lines */
};

/* All zeroes: nothing has arrived yet. */
struct smtp_client_reply {
	unsigned code;       /* 200 to 599 */
	unsigned line_count; /* complete lines */
	struct buffer text;  /* what follows the codes, a '\n' between lines */
	struct buffer line;  /* the unfinished line */
	bool is_complete;    /* the next byte starts a new reply */
};

enum smtp_client_reply_progress {
	SMTP_CLIENT_REPLY_MORE,     /* the input is used up */
	SMTP_CLIENT_REPLY_COMPLETE, /* the input may hold more */
	SMTP_CLIENT_REPLY_MALFORMED,
};

/* Consumes bytes of *INPUT, up to the end of one reply. */
enum smtp_client_reply_progress smtp_client_reply_take(struct smtp_client_reply *reply,
						       struct str *input);
void smtp_client_reply_clear(struct smtp_client_reply *reply);

/* Appended to a refusal's text after the reply: " (in reply to RCPT)". */
#define SMTP_CLIENT_IN_REPLY " (in reply to "
enum { SMTP_CLIENT_COMMAND_MAX = 32 };

/* Fills *VERDICT from a complete reply of 2yz, 4yz or 5yz to COMMAND ("RCPT"; NULL: to none):
 * "PEER said: 550 the lines / in one (in reply to RCPT)". The enhanced status is that of the
 * reply if it is well formed and in the code's class, otherwise it is derived from the code.
 * Only in reply to RCPT does a code say something about the recipient. */
void smtp_client_reply_verdict(const struct smtp_client_reply *reply, const char *peer,
			       const char *command, struct mail_verdict *verdict);

#endif
