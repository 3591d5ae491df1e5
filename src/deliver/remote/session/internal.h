// SPDX-License-Identifier: ISC
/*
 * deliver/remote/session/internal.h - what the files of a session with a server share.
 */
#ifndef DELIVER_REMOTE_SESSION_INTERNAL_H
#define DELIVER_REMOTE_SESSION_INTERNAL_H

#include "deliver/remote/session/engine.h"
#include "deliver/remote/session/form.h"
#include "deliver/remote/session/session.h"
#include "deliver/remote/session/tell.h"
#include "tls/stream.h"

struct remote_session_login {
	struct remote_login wanted; /* no user: no login */
	char *relay, *user;         /* owned */
	struct login_choice choice;
	struct keys_password_question question;
	bool is_asking;
	struct login_exchange *exchange; /* from the password's arrival to the end */
	void (*resume)(void *context);
};

struct remote_session {
	struct remote_session_settings settings;
	char key[REMOTE_SESSION_KEY_SIZE];
	union os_socket_address address;
	struct remote_place place;
	char source[REMOTE_SOURCE_SIZE];
	struct tls_stream stream;
	struct os_watch *watch;
	unsigned events; /* being watched */
	bool is_connecting;
	bool is_unmet;    /* the connection was not answered in time */
	int64_t begun_us; /* monotonic */
	struct os_timer *timer;
	int64_t deadline_us; /* monotonic */
	int64_t timer_us;    /* when the timer fires, at most deadline_us */

	struct remote_policy policy;
	char *host;                               /* of the server; NULL: no TLS */
	struct remote_certificates_waiter waiter; /* for our certificate */
	struct ipc_job_tls tls;                   /* once the handshake is done */
	bool is_ours;                             /* what TLS failed for: the server may have it */

	struct shape_hold hold;
	struct remote_session_login login;
	struct remote_engine engine;
	unsigned reply_count; /* at the last progress */
	uint32_t transaction_count;
	uint32_t transactions_most;            /* 0: TRANSACTIONS_MAX */
	struct remote_transaction transaction; /* no DONE: none is running */
	struct ipc_content_pass pass;          /* over the message, if it is not converted */
	struct remote_form *form;              /* the converted message; NULL: sent as it is */
	struct mail_verdict failure;
	struct remote_tell *told;

	void (*ended)(void *context, struct remote_session *session); /* while idle */
	void *ended_context;
};

/* stream.c */
/* Until the timer of the session is to fire. */
void remote_session_set_deadline(struct remote_session *session, int64_t delay_us);
/* How long the server may take for what is expected from it now. */
int64_t remote_session_timeout_us(const struct remote_session *session);
/* Passes to the engine what has come, all that TLS has read, too, which poll does not report. */
void remote_session_receive(struct remote_session *session);
/* Sends what the engine has for the server now: whether that is all with the kernel. */
bool remote_session_send_all(struct remote_session *session);

/* feed.c */
/* Gives the engine the next part of the message. */
void remote_session_feed(struct remote_session *session);
/* Converts the message; a long one takes several calls. */
void remote_session_form(struct remote_session *session);

/* secure.c */
/* Goes on with the handshake that the engine wants, or begins it; the engine is told when it is
 * done, or has failed. False: it waits for *EVENTS_OUT, or for RESUME to be called. */
bool remote_session_secure(struct remote_session *session, void (*resume)(void *context),
			   unsigned *events_out);
/* The session's time is over: notes whether it waits for our own private key. */
void remote_session_blame(struct remote_session *session);

/* login.c */
/* The session has to log in as WANTED, which is copied. */
void remote_session_want_login(struct remote_session *session, const struct remote_login *wanted);
/* Goes on with the login that the engine wants. False: it waits for RESUME to be called. */
bool remote_session_log_in(struct remote_session *session, void (*resume)(void *context));
void remote_session_forget_login(struct remote_session *session);

#endif
