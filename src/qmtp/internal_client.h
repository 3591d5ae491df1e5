// SPDX-License-Identifier: ISC
/*
 * qmtp/internal_client.h - what the files of the client share.
 */
#ifndef QMTP_INTERNAL_CLIENT_H
#define QMTP_INTERNAL_CLIENT_H

#include "base/arena.h"
#include "qmtp/client.h"
#include "qmtp/client_answer.h"

enum client_state {
	CLIENT_TLS, /* for the driver's handshake */
	CLIENT_READY,
	CLIENT_BODY,   /* for the driver's next part of the message */
	CLIENT_ANSWER, /* for the server's */
	CLIENT_CLOSED,
};

struct qmtp_client {
	char *peer;
	int64_t timeout_us, tls_timeout_us;
	struct smtp_watch watch;
	void *watch_context;
	enum client_state state;
	bool is_secured;                         /* by TLS */
	bool is_proven;                          /* an answer has come by TLS */
	bool is_insecure, is_stale, is_unserved; /* as in smtp/client/client.h */
	const struct mail_verdict *failure;
	unsigned reply_count;
	unsigned completed; /* number of finished transactions */

	struct smtp_client_message message; /* no recipients: no transaction */
	bool is_in_doubt;                   /* the server may have accepted it, or we hold it
					     * back */
	uint64_t left;                      /* bytes of the message still to come */
	size_t current;                     /* the recipient whose answer is next */
	struct qmtp_answer answer;
	struct buffer output;
	struct arena *verdicts; /* of the current transaction */
};

/* client_verdict.c */
void qmtp_client_tell(const struct qmtp_client *client, enum smtp_said by, struct str line);
struct mail_verdict *qmtp_client_new_verdict(struct qmtp_client *client);
void qmtp_client_decide(struct qmtp_client *client, struct smtp_client_recipient *to,
			const struct mail_verdict *verdict);
/* Sets the verdict of every recipient that has none. */
void qmtp_client_decide_rest(struct qmtp_client *client, const struct mail_verdict *verdict);
/* Makes the first recipient from FROM on that has no verdict the current one; false: there is
 * none. */
bool qmtp_client_next_undecided(struct qmtp_client *client, size_t from);
/* Every recipient is decided; the message is no longer used. */
void qmtp_client_end_transaction(struct qmtp_client *client, enum client_state state);

/* Decides the remaining recipients; CLIENT_CLOSED. */
void qmtp_client_fail_session(struct qmtp_client *client, const struct mail_verdict *verdict);

#endif
