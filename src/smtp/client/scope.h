// SPDX-License-Identifier: ISC
/*
 * smtp/client/scope.h - whom a refusal concerns: not what it says decides, but where it came and
 * what else happened. Pure.
 *
 *   phase            what else happened                        scope        what becomes of it
 *   before MAIL      -                                         HOST         see below
 *   MAIL, RCPT, DATA RCPT, x.5.3 after an accepted recipient   TRANSACTION  the rest in another one
 *   MAIL, RCPT, DATA the session has taken a message, and all  SESSION      a new connection at
 *                    of this one is refused alike                           once: its answer counts
 *   MAIL             it was told so before, others were taken  SENDER       see below
 *   MAIL             the session ends (421)                    HOST
 *   any              others were told the same, and nothing    HOST
 *                    was taken in between
 *   MAIL             -                                         SENDER       its message waits, or
 *   RCPT             -                                         RECIPIENT    has failed, by itself
 *   DATA, the end    -                                         MESSAGE
 *
 * The first row that applies counts. "Others" are messages of other senders, and from RCPT on also
 * to other recipients. Once a recipient was accepted, a refusal at RCPT concerns no more than
 * that one. Only of HOST the words matter: a server that says that it gets too much (slower.h)
 * is sent less, and no message of which it said so is the one that tries whether it still does.
 */
#ifndef SMTP_CLIENT_SCOPE_H
#define SMTP_CLIENT_SCOPE_H

#include <stdbool.h>

enum smtp_client_phase {
	SMTP_CLIENT_AT_OPENING, /* until MAIL: connection, greeting, EHLO, STARTTLS, AUTH */
	SMTP_CLIENT_AT_MAIL,
	SMTP_CLIENT_AT_RECIPIENT,
	SMTP_CLIENT_AT_DATA,
	SMTP_CLIENT_AT_END, /* the message was sent, or a part of it */
	SMTP_CLIENT_PHASES,
};

enum smtp_client_scope {
	SMTP_CLIENT_OF_MESSAGE,
	SMTP_CLIENT_OF_RECIPIENT,
	SMTP_CLIENT_OF_SENDER,
	SMTP_CLIENT_OF_TRANSACTION,
	SMTP_CLIENT_OF_SESSION,
	SMTP_CLIENT_OF_HOST,
};

/* A refusal, and what else happened. */
struct smtp_client_refusal {
	enum smtp_client_phase phase;
	bool is_last;      /* 421: the session has ended */
	bool is_too_many;  /* x.5.3 */
	bool has_accepted; /* a recipient of the transaction was accepted */
	bool is_alike;     /* every recipient that was refused got the same reply */
	bool has_taken;    /* the session a message before */
	bool is_of_others; /* others were told the same, and nothing was taken in between */
	bool is_only;      /* this sender was told the same before, and others were taken since */
};

enum smtp_client_scope smtp_client_scope_of(const struct smtp_client_refusal *refusal);

#endif
