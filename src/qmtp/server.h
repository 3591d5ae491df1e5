// SPDX-License-Identifier: ISC
/*
 * qmtp/server.h - the server's side of QMTP (https://cr.yp.to/proto/qmtp.txt) and QMQP
 * (https://cr.yp.to/proto/qmqp.html), as an engine without I/O.
 *
 * A client sends packages: a message, its sender, its recipients, all as netstrings. The answer is
 * a netstring for each recipient (QMQP: one for the message), that begins with K (accepted), Z (try
 * again later) or D (refused). With QMTP the client need not wait: many packages may follow each
 * other, and are answered in their order. With QMQP the first one is the last.
 *
 * So several packages are in flight, each in a slot: one is being received, those before it are
 * being committed, or wait for the answer of one before them. A package's life:
 *
 *   RECEIVING   its end came, something is to be queued    -> COMPLETE
 *               its end came, nothing is                   -> DECIDED
 *               the connection or the protocol fails       -> dropped, no answer
 *   COMPLETE    qmtp_server_take_commit()                  -> COMMITTING
 *   COMMITTING  qmtp_server_answer_commit()                -> DECIDED
 *   DECIDED     all packages before it have been answered  -> answered, its slot is free
 *
 * At most one question is pending, about the package that is being received; meanwhile nothing is
 * consumed. Its COMMIT is no question: the next package may come before it is answered. The
 * driver's side of a session:
 *
 *   qmtp_server_new(), qmtp_server_start()
 *   whenever bytes arrive or something below changed:
 *     while (kept bytes and qmtp_server_is_ready()) drop what qmtp_server_input() consumed
 *     a slot has a file and !qmtp_server_is_open(slot): abandon the file
 *     qmtp_server_body() over SMTP_SERVER_BODY_MAX: write it to the file
 *     qmtp_server_question(): qmtp_server_answer*(), perhaps at once; then start again from the top
 *     qmtp_server_take_commit(): commit, answer with qmtp_server_answer_commit()
 *     flush qmtp_server_output(); then close if qmtp_server_is_closed()
 *
 * Where the protocol has no answer (what comes is not a package, a name takes too long) the
 * connection is closed: no answer means that nothing was accepted.
 *
 * The service and the peer are those of SMTP (smtp/server/server.h): its limits, rules and texts
 * hold here too. The file has CRLF lines, our Received field first.
 */
#ifndef QMTP_SERVER_H
#define QMTP_SERVER_H

#include "smtp/server/server.h"

enum {
	QMTP_SERVER_SLOTS = 32,            /* packages in flight */
	QMTP_SERVER_FLIGHT_MAX = 1 << 19,  /* nothing is consumed while they have so many bytes */
	QMTP_SERVER_ADDRESS_MAX = 1000,    /* longer ones are skipped, and refused */
	QMTP_SERVER_SKIPPED_MAX = 1 << 16, /* but not ones that are longer than this */
	QMTP_SERVER_RECIPIENTS_EXCESS = 1000, /* recipients over the limit that are answered Z;
					       * with more the connection is closed */
};

struct qmtp_server;

/* SERVICE's protocol is SMTP_PROTOCOL_QMTP or SMTP_PROTOCOL_QMQP. */
struct qmtp_server *qmtp_server_new(const struct smtp_service *service, struct smtp_peer peer);
/* Allowed at any time; what is open is not answered then. */
void qmtp_server_free(struct qmtp_server *server);

/* As smtp_server_head(). */
struct smtp_server_head *qmtp_server_head(struct qmtp_server *server);
/* TLS was negotiated before the session. */
void qmtp_server_set_tls(struct qmtp_server *server, const struct smtp_tls *tls);
/* The session begins; the client speaks first. */
void qmtp_server_start(struct qmtp_server *server);

/* Takes LENGTH bytes from the client; returns how many were consumed. The driver keeps the others
 * and passes them again, first, when qmtp_server_is_ready(). */
MUST_CHECK size_t qmtp_server_input(struct qmtp_server *server, const char *data, size_t length);
bool qmtp_server_is_ready(const struct qmtp_server *server);
/* The answers. */
struct buffer *qmtp_server_output(struct qmtp_server *server);
/* Close the connection once the output is flushed. Never true while a commit is pending. */
bool qmtp_server_is_closed(const struct qmtp_server *server);

/* A package has begun. */
bool qmtp_server_is_receiving(const struct qmtp_server *server);
/* How long to wait for the client; 0 while it is not the client's turn. */
uint32_t qmtp_server_timeout_seconds(const struct qmtp_server *server);
/* The session ends: the package that is being received is dropped, those before it are still
 * answered. While a question is pending only qmtp_server_shutdown() does that, once it is
 * answered. */
void qmtp_server_timeout(struct qmtp_server *server);
void qmtp_server_shutdown(struct qmtp_server *server);
void qmtp_server_refuse_session(struct qmtp_server *server, const char *text);

struct qmtp_question {
	enum smtp_question_type type;         /* RECIPIENT, OPEN */
	unsigned slot;                        /* below QMTP_SERVER_SLOTS */
	struct mail_address address;          /* RECIPIENT only */
	const struct mail_envelope *envelope; /* its sender is known at RECIPIENT */
};

/* The pending question or NULL. Valid until it is answered. */
const struct qmtp_question *qmtp_server_question(const struct qmtp_server *server);
/* Answers RECIPIENT; refuses OPEN (then VERDICT is not MAIL_OK). */
void qmtp_server_answer(struct qmtp_server *server, const struct mail_verdict *verdict);
/* Answers OPEN: the message has the id ID, and was received at ID's birth. */
void qmtp_server_answer_open(struct qmtp_server *server, struct mail_id id);

struct qmtp_commit {
	unsigned slot;
	const struct mail_envelope *envelope; /* complete */
	struct str body;       /* what is not in the file yet; does not change until the answer */
	struct str message_id; /* the header's, any bytes; empty: none */
};

/* The oldest package that is complete; false: there is none. What it points to is valid until its
 * answer. */
bool qmtp_server_take_commit(struct qmtp_server *server, struct qmtp_commit *commit_out);
/* The commit that was taken from SLOT. */
struct qmtp_commit qmtp_server_commit(const struct qmtp_server *server, unsigned slot);
void qmtp_server_answer_commit(struct qmtp_server *server, unsigned slot,
			       const struct mail_verdict *verdict);
/* Commits that were taken and not answered. */
unsigned qmtp_server_commit_count(const struct qmtp_server *server);

/* The bytes for the data file of the package that is being received, in order, and its slot; the
 * driver consumes what it has written. NULL: there is none, or it has no file. */
struct buffer *qmtp_server_body(struct qmtp_server *server, unsigned *slot_out);
/* From qmtp_server_answer_open() until the commit is answered, or the message is refused: then the
 * driver must abandon the file. */
bool qmtp_server_is_open(const struct qmtp_server *server, unsigned slot);
/* The file of the package that is being received cannot be written: the driver abandons it. */
void qmtp_server_data_failed(struct qmtp_server *server, const struct mail_verdict *verdict);

#endif
