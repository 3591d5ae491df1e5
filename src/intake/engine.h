// SPDX-License-Identifier: ISC
/*
 * intake/engine.h - what a session needs of its protocol engine, and of who answers the engine's
 * questions. The calls are those of smtp/server/server.h, for which the contracts stand there; what
 * is the same for all engines is the session's head (struct smtp_server_head).
 */
#ifndef INTAKE_ENGINE_H
#define INTAKE_ENGINE_H

#include "intake/session.h"

struct intake_session;

/* A question of the engine, as far as it matters to all. */
struct intake_asked {
	enum smtp_question_type type;
	const struct mail_envelope *envelope; /* as far as it is known; NULL: there is none */
	bool goes_on; /* AUTH: the exchange began with an earlier question */
};

/* Implemented by intake/engine_smtp.c and intake/qmtp/engine.c. */
struct intake_engine {
	bool authenticates; /* clients may, in its protocol */
	/* Sets the session's head, too. */
	void (*begin)(struct intake_session *session, const struct smtp_service *service,
		      const struct smtp_peer *peer);
	void (*free)(struct intake_session *session);
	/* The session begins; EARLY: what was read of it already. */
	void (*start)(struct intake_session *session, struct str early);

	size_t (*input)(struct intake_session *session, const char *data, size_t length);
	bool (*is_ready)(const struct intake_session *session);
	bool (*is_closed)(const struct intake_session *session);
	bool (*is_receiving)(const struct intake_session *session);
	bool (*wants_tls)(const struct intake_session *session);
	uint32_t (*timeout_seconds)(const struct intake_session *session);

	void (*timeout)(struct intake_session *session);
	void (*shutdown)(struct intake_session *session);
	void (*drain)(struct intake_session *session); /* no new message may begin */
	void (*refuse_session)(struct intake_session *session, const char *text);

	void (*set_tls)(struct intake_session *session, const struct smtp_tls *tls);

	/* Whether there is a question, and which. */
	bool (*asks)(const struct intake_session *session, struct intake_asked *asked_out);
	void (*handle_question)(struct intake_session *session);
	/* Writes the message to its file when enough of it has come, and gives the file up when
	 * the engine did. */
	void (*spool_body)(struct intake_session *session);
	/* Answers RECIPIENT, or refuses OPEN. */
	void (*answer)(struct intake_session *session, const struct mail_verdict *verdict);
	/* The client's name is known, for which OPEN has waited. */
	void (*open)(struct intake_session *session);
	/* Bytes in files of the queue for messages that are not complete, or not committed. */
	uint64_t (*unfinished)(const struct intake_session *session);
	/* The session ends: gives up what it has at the queue. */
	void (*cancel)(struct intake_session *session);
};

#endif
