// SPDX-License-Identifier: ISC
/*
 * tests/transcript/session.h - a driver of a server engine without sockets, files or a clock,
 * which holds the engine to its contract: SMTP's (session.c), or QMTP's (session_qmtp.c).
 */
#ifndef TESTS_TRANSCRIPT_SESSION_H
#define TESTS_TRANSCRIPT_SESSION_H

#include "smtp/server/server.h"

struct session_answer {
	enum smtp_question_type type;
	bool is_shutdown; /* no answer: the daemon stops while the question is pending */
	struct mail_verdict verdict;
	enum smtp_auth_outcome outcome; /* AUTH */
	const char *user;               /* owned by whoever made the answer; AUTH */
	struct str message;             /* likewise */
};

struct session {
	struct smtp_service service; /* defaults, may be changed before session_start() */
	struct smtp_peer peer;
	const struct session_answer *answers; /* in order; what is missing is answered well */
	size_t answer_count;
	bool is_delayed;              /* push and poke the engine before every answer */
	size_t chunk;                 /* bytes at once; 0: all there are */
	const char *mechanisms;       /* within TLS; NULL: some */
	const char *mechanisms_clear; /* without TLS; NULL: none */

	struct smtp_server *server; /* session.c */
	struct qmtp_play *qmtp;     /* session_qmtp.c */
	size_t answers_used;
	struct buffer kept;      /* input not consumed yet */
	struct buffer output;    /* all replies */
	struct buffer reported;  /* refusals; of SMTP since the last reply */
	struct buffer file;      /* the message being received */
	size_t trace_size;       /* of its trace headers */
	struct buffer traces;    /* the trace headers of all messages committed */
	struct buffer messages;  /* the rest of them, one after the other */
	struct buffer envelopes; /* a line for each */
	struct buffer exchanges; /* a line for each message of AUTH */
	bool has_tls;
	size_t message_count;
	bool has_file;
	const char *fault; /* the first breach of the contract, or NULL */
};

/* Ample limits, "mx.example.org", a peer 192.0.2.7. */
void session_init(struct session *session);
void session_clear(struct session *session);

void session_start(struct session *session);
void session_feed(struct session *session, const char *data, size_t length);
/* What comes from elsewhere than the client. */
enum session_event {
	SESSION_START,
	SESSION_EARLY,        /* instead of START: the client spoke first */
	SESSION_IMPLICIT_TLS, /* before START */
	SESSION_TIMEOUT,
	SESSION_SHUTDOWN,
	SESSION_FAULT,   /* the data file cannot be written, for VERDICT */
	SESSION_NO_FILE, /* nothing, but the driver has no file now */
	SESSION_TLS,     /* the handshake is done */
};
/* False: it cannot happen now. VERDICT is for FAULT. */
bool session_happen(struct session *session, enum session_event event,
		    const struct mail_verdict *verdict);
bool session_is_closed(const struct session *session);
/* After a call to the engine from outside: collects what came of it. */
void session_settle(struct session *session);

#endif
