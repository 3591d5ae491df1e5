// SPDX-License-Identifier: ISC
/*
 * smtp/client_reply.h - one reply of a server, RFC 5321 section 4.2.
 *
 * What a server sends is not trusted: lines, their number and a reply as a
 * whole are bounded, every line must carry the same code.
 */
#ifndef SMTP_CLIENT_REPLY_H
#define SMTP_CLIENT_REPLY_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "mail/verdict.h"

enum {
	SMTP_CLIENT_LINE_MAX = 2048, /* bytes of a line; RFC 5321 section 4.5.3.1.5 asks for 512 */
	SMTP_CLIENT_LINES_MAX = 100,
	SMTP_CLIENT_REPLY_MAX = 16384, /* bytes of all lines */
};

/* All zeroes: nothing has come yet. */
struct smtp_client_reply {
	unsigned code;       /* 200 to 599 */
	unsigned line_count; /* complete lines */
	struct buffer text;  /* what follows the codes, a '\n' between lines */
	struct buffer line;  /* of an unfinished line */
	bool is_complete;    /* begins anew with the next byte */
};

enum smtp_client_reply_progress {
	SMTP_CLIENT_REPLY_MORE,     /* the input is used up */
	SMTP_CLIENT_REPLY_COMPLETE, /* the input may hold more */
	SMTP_CLIENT_REPLY_MALFORMED,
};

/* Cuts bytes off *INPUT, up to the end of one reply. */
enum smtp_client_reply_progress smtp_client_reply_take(struct smtp_client_reply *reply,
						       struct str *input);
void smtp_client_reply_clear(struct smtp_client_reply *reply);

/* What follows the reply in the text of a refusal: " (in reply to RCPT)". */
#define SMTP_CLIENT_IN_REPLY " (in reply to "
enum { SMTP_CLIENT_COMMAND_MAX = 32 };

/* Fills *VERDICT from a complete reply of 2yz, 4yz or 5yz to COMMAND ("RCPT"; NULL: to none):
 * "PEER said: 550 the lines / in one (in reply to RCPT)". The enhanced status is the reply's own
 * when it is well formed and of the code's class, otherwise made from the code. Only in reply to
 * RCPT does a code say something of the recipient. */
void smtp_client_reply_verdict(const struct smtp_client_reply *reply, const char *peer,
			       const char *command, struct mail_verdict *verdict);

#endif
