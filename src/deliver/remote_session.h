// SPDX-License-Identifier: ISC
/*
 * deliver/remote_session.h - a connection to one SMTP or LMTP server, and the
 * transactions that run over it one after the other.
 */
#ifndef DELIVER_REMOTE_SESSION_H
#define DELIVER_REMOTE_SESSION_H

#include "dns/search.h"
#include "ipc/content.h"
#include "os/loop.h"
#include "smtp/client.h"

enum { REMOTE_CHUNK_SIZE = 64 * 1024 };

struct remote_session_settings {
	struct os_loop *loop;
	enum smtp_client_protocol protocol;
	const char *hostname; /* ours */
	int64_t connect_timeout_us;
	int64_t reply_timeout_us;
	bool converts_8bit; /* for servers that do not offer 8BITMIME */
	char *chunk;        /* REMOTE_CHUNK_SIZE bytes that sessions share: nothing stays in them */
};

enum remote_outcome {
	REMOTE_DECIDED,     /* every recipient has a verdict */
	REMOTE_UNREACHABLE, /* there was no connection: see remote_session_failure() */
	REMOTE_UNSERVED,    /* it ended before the server decided; every recipient has a verdict */
	REMOTE_STALE,       /* the connection had ended meanwhile: nothing was decided */
};

struct remote_session;

struct remote_transaction {
	struct smtp_client_message message;
	struct ipc_content content;
	void (*done)(void *context, enum remote_outcome outcome);
	void *context;
};

/* Begins to connect; the session's name for reuse is KEY. Copies SETTINGS, not
 * what they point to. -errno when the network cannot be used. */
MUST_CHECK int remote_session_new(const struct remote_session_settings *settings, const char *key,
				  const struct dns_server *server,
				  struct remote_session **session_out);
/* Closes the connection at once, after a QUIT when the server waits for one. DONE
 * of a running transaction is not called. */
void remote_session_free(struct remote_session *session);

/* Runs TRANSACTION; the session is new or remote_session_is_reusable(). DONE is
 * the last thing that happens: it may free the session or run the next. */
void remote_session_run(struct remote_session *session,
			const struct remote_transaction *transaction);
const struct mail_verdict *remote_session_failure(const struct remote_session *session);

/* The server may have taken the message already: see smtp_client_is_deciding(). */
bool remote_session_is_deciding(const struct remote_session *session);
bool remote_session_is_reusable(const struct remote_session *session);
const union os_socket_address *remote_session_address(const struct remote_session *session);
const char *remote_session_key(const struct remote_session *session);
/* Between transactions: calls ENDED once, when the server sent something or
 * closed, or after DELAY_US. */
void remote_session_wait(struct remote_session *session, int64_t delay_us,
			 void (*ended)(void *context, struct remote_session *session),
			 void *context);

/* Why a connection to HOST failed, as a verdict. */
void remote_session_explain(struct mail_verdict *verdict, const struct dns_server *server,
			    const char *reason);

#endif
