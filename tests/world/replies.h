// SPDX-License-Identifier: ISC
/*
 * world/replies.h - what large providers say besides yes and no, and the judge of whom that holds
 * up.
 *
 * A reply is about a message, a recipient, a sender, a session or a host. Where it comes says
 * which: at the greeting and at EHLO it is about the host, and so is a 421 at MAIL, which ends the
 * session; else it is only if different senders are answered so, and nothing was taken in between.
 * No mail waits because of a reply to another message, but for what concerns its host. So when a
 * node throttles a host ("host_throttled"), the host must have said something about itself in the
 * last REPLIES_RECENT_US; and the line has the words of a reply that it has said then.
 */
#ifndef WORLD_REPLIES_H
#define WORLD_REPLIES_H

#include "kernel.h"

#define REPLIES_RECENT_US INT64_C(600000000)

enum replies_point {
	REPLIES_GREETING,
	REPLIES_EHLO,
	REPLIES_MAIL,
	REPLIES_RCPT,
	REPLIES_DATA,
	REPLIES_TEXT, /* after the final dot */
};

/* What a provider has had in a session. */
struct replies_count {
	unsigned messages;   /* taken */
	unsigned recipients; /* accepted, of this transaction */
};

enum { REPLIES_MESSAGES = 7, REPLIES_RECIPIENTS = 10 /* so many of a session, of a transaction */ };

/* Reads the table of published replies. */
void replies_begin(void);
/* What a provider answers at POINT instead of yes, with CRLF, valid until the next call; NULL: it
 * says yes. */
const char *replies_choose(enum replies_point point, struct replies_count count);
/* The host at ADDRESS has said REPLY at POINT of a transaction of SENDER ("": none has begun). */
void replies_note(uint32_t address, enum replies_point point, const char *sender,
		  const char *reply);
/* It has taken a message. */
void replies_taken(uint32_t address);
/* LINE of MACHINE's log says that the host with this NAME is throttled: "mx.hop.example", or its
 * address; and TEXT, or NULL, with which words. */
void replies_judge(const struct machine *machine, const char *name, const char *text);

#endif
