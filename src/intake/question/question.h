// SPDX-License-Identifier: ISC
/*
 * intake/question/question.h - what the engine of one session asks: of the directory, of the
 * process that authenticates, of the queue. At most one question is open.
 */
#ifndef INTAKE_QUESTION_QUESTION_H
#define INTAKE_QUESTION_QUESTION_H

#include "auth/login.h"
#include "directory/lookup/post.h"
#include "directory/lookup/sender.h"
#include "intake/accounts.h"
#include "queue/client/client.h"
#include "smtp/server/server.h"

struct intake_session;

/* Of addresses. */
struct intake_session_question {
	bool is_asking;           /* it was passed on, and the engine waits for its answer */
	struct str sender;        /* while a recipient is looked up */
	struct str address_asked; /* likewise: the recipient */
	struct directory_request recipient;    /* in use while the directory is asked */
	struct directory_post_request post;    /* and then whether the sender may post there */
	struct intake_account_request account; /* or whether one of OWNERS is on this machine */
	struct buffer owners; /* names that were not looked for yet, each with a NUL */
	struct directory_sender_request senders; /* in use while a user's senders are judged */
};

/* Of who the client is. */
struct intake_session_login {
	struct auth_exchange exchange; /* in use while the client authenticates */
	uint32_t left_exchange;        /* that it has cancelled, for auth_settle(); 0: none */
	struct auth_login *followed;   /* by which it has authenticated; NULL: none */
	void (*after_login)(struct intake_session *session); /* once it is known to be valid */
};

/* The current message, at the queue. */
struct intake_session_message {
	struct queue_client_message queued;
	struct mail_id id;
	int64_t began_us; /* monotonic: when it got its number */
	bool is_receiving;
};

/* --- question.c: SMTP's questions --- */

void intake_question_init(struct intake_session *session);
void intake_question_open(struct intake_session *session);
/* Passes the question on; the answer may come at once. */
void intake_question_handle(struct intake_session *session);
void intake_question_spool_body(struct intake_session *session);

/* --- lookup.c: what is asked about clients and addresses --- */

void intake_lookup_init(struct intake_session *session);
/* Looks up the name of the client, once, unless it is on this machine or a proxy has named it.
 * Called when the client speaks: many connect and never do. */
void intake_lookup_name(struct intake_session *session);
/* Whether a message must wait for it: then the engine's open() is called once it is known. */
bool intake_lookup_awaits_name(struct intake_session *session);
/* Whether ADDRESS may have mail from SENDER; both stay valid until the engine's
 * answer(), which may come at once. */
void intake_lookup_recipient(struct intake_session *session, struct str address, struct str sender);
/* The session ends: drops what is open. */
void intake_lookup_cancel(struct intake_session *session);

/* --- message.c: a message at the queue --- */

/* The reply when the queue cannot accept it. */
void intake_message_verdict(struct mail_verdict *verdict, int error);
/* Whether it began, at that monotonic time, longer ago than a message may take. */
bool intake_message_is_late(int64_t began_us);
/* OPERATION on it failed; ID: NULL: it has none. */
void intake_message_log_error(const struct intake_session *session, const struct mail_id *id,
			      const char *operation, int error);
/* It is in the queue: logs that, and the client is the last to lose its place. */
void intake_message_accepted(struct intake_session *session, struct mail_id id,
			     const struct mail_envelope *envelope, struct str message_id);
/* Writes BODY to the file of a message too large to go by value, and consumes it. False: the file
 * was requested first, which may come at once; otherwise *ERROR_OUT is what the write came to;
 * -EUSERS: the client has too much that is unfinished. */
bool intake_message_write(struct intake_session *session, struct queue_client_message *message,
			  const struct mail_id *id, struct buffer *body, int *error_out);

/* --- auth.c: who the client is --- */

/* Passes a message of the client's mechanism on; the answer may come at
 * once. */
void intake_auth_handle(struct intake_session *session, const struct smtp_question *question);
/* Answers that the client cannot be judged now. Does not go on with the session. */
void intake_auth_refuse(struct intake_session *session);
/* Forgets an exchange that the client has given up. */
void intake_auth_handle_end(struct intake_session *session);
/* At MAIL: whether the user still may, and then THEN; or the question is answered. */
void intake_auth_ask(struct intake_session *session, void (*then)(struct intake_session *session));
/* The client is another one from now on, or begins anew. */
void intake_auth_forget(struct intake_session *session);
/* The session ends. */
void intake_auth_end(struct intake_session *session);

/* --- claim.c: what proxies and others say --- */

/* What a client at ADDRESS (IPv4 mapped), from whom the connection comes, may do by the
 * configuration. */
void intake_claim_grant(const struct intake_session *session, const struct in6_addr *address,
			struct smtp_peer *peer);
/* The session is from now on that of the client in CLAIM: answers the question. */
void intake_claim_take(struct intake_session *session, const struct smtp_claim *claim);
/* Mail for the domain NODE is to be tried now: answers the question. */
void intake_claim_release(struct intake_session *session, struct str node);

#endif
