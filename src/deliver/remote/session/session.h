// SPDX-License-Identifier: ISC
/*
 * deliver/remote/session/session.h - a connection to one SMTP, QMTP or LMTP server, and the
 * transactions that run over it one after the other.
 */
#ifndef DELIVER_REMOTE_SESSION_SESSION_H
#define DELIVER_REMOTE_SESSION_SESSION_H

#include "deliver/remote/keys/certificates.h"
#include "deliver/remote/keys/login.h"
#include "deliver/remote/policy/policy.h"
#include "deliver/remote/route/route.h"
#include "deliver/remote/route/source.h"
#include "deliver/remote/session/places.h"
#include "deliver/shape/shape.h"
#include "dns/search.h"
#include "ipc/content.h"
#include "ipc/job.h"
#include "os/loop.h"
#include "smtp/client/client.h"

enum { REMOTE_CHUNK_SIZE = 64 * 1024 };
/* Of the text that identifies what sessions can be used for. */
enum { REMOTE_SESSION_KEY_SIZE = REMOTE_HOP_KEY_SIZE + REMOTE_POLICY_KEY_SIZE + 64 };

struct remote_session_settings {
	struct os_loop *loop;
	enum smtp_client_protocol protocol;
	const char *hostname;               /* ours */
	struct remote_sources *sources;     /* with SOURCE */
	const struct config_source *source; /* whose addresses are used, and whose name; NULL: the
					     * system chooses */
	int64_t connect_timeout_us;
	int64_t reply_timeout_us;
	int64_t patience_us; /* from the first packet to the reply to the first MAIL, in all, as
			      * there is another server; 0: as long as each reply may take */
	struct remote_certificates *certificates; /* for policies with one; NULL: none */
	struct remote_logins *logins;             /* for policies with a login; NULL: none */
	struct remote_places *places;             /* in which it is counted; NULL: it is not */
	bool has_turn;                            /* to have a place there */
	struct tls_client *tls;                   /* for policies other than NONE */
	int64_t tls_timeout_us;                   /* of a handshake */
	bool avoids_chunks;                       /* never BDAT */
	bool converts_8bit;                       /* for servers that do not offer 8BITMIME */
	char *chunk; /* REMOTE_CHUNK_SIZE bytes that sessions share: valid only during a
		      * call */
};

enum remote_outcome {
	REMOTE_DECIDED,     /* every recipient has a verdict */
	REMOTE_UNREACHABLE, /* no connection was made: see remote_session_failure() */
	REMOTE_UNSERVED,    /* it ended before the server decided; every recipient has a verdict */
	REMOTE_INSECURE,    /* TLS failed before anything was decided; every recipient has a
			     * verdict */
	REMOTE_REFUSED,     /* there was no login; every recipient has a verdict */
	REMOTE_STALE,       /* the idle connection had ended meanwhile: nothing was decided */
};

struct remote_session;

struct remote_transaction {
	struct smtp_client_message message;
	struct ipc_content content;
	void (*done)(void *context, enum remote_outcome outcome);
	void *context;
};

/* Begins to connect (with a source as remote_source_connect()); KEY identifies the session for
 * reuse. Copies SETTINGS and POLICY, not what they point to, which must live until the first
 * transaction is done. -EUSERS when the server's class of hosts has no place for a session, another
 * -errno when the network cannot be used. */
MUST_CHECK int remote_session_new(const struct remote_session_settings *settings, const char *key,
				  const struct dns_server *server,
				  const struct remote_policy *policy,
				  struct remote_session **session_out);
/* Closes the connection at once, after a QUIT if the server waits for a command. DONE of a
 * running transaction is not called. */
void remote_session_free(struct remote_session *session);

/* Runs TRANSACTION; the session is new or remote_session_is_reusable(). DONE is called last: it
 * may free the session or run the next one. */
void remote_session_run(struct remote_session *session,
			const struct remote_transaction *transaction);
/* Why no connection was made, or why the session has ended. */
const struct mail_verdict *remote_session_failure(const struct remote_session *session);

/* After REMOTE_REFUSED: logs why, with the server as PEER. */
void remote_session_log_refusal(const struct remote_session *session, const char *peer);

/* What protects the connection; NULL: plain text. */
const struct ipc_job_tls *remote_session_tls(const struct remote_session *session);
/* The connection of a handshake, which may have failed; NULL: none was begun. */
const struct tls_connection *remote_session_connection(const struct remote_session *session);
/* Our end of the connection; false: it is not known. */
MUST_CHECK bool remote_session_own_address(const struct remote_session *session,
					   union os_socket_address *out);
/* "NAME[ADDRESS]" of its source; "": the system has chosen. */
const char *remote_session_source(const struct remote_session *session);
/* Whether it has ended because of smtp_client_is_injected(). */
bool remote_session_is_injected(const struct remote_session *session);
/* As smtp_client_server_name(). */
const char *remote_session_server_name(const struct remote_session *session);
/* Whether the server has not answered the connection in time, or as smtp_client_is_silent(). */
bool remote_session_is_silent(const struct remote_session *session);
/* As smtp_client_is_broken(), smtp_client_is_unanswered(). */
bool remote_session_is_broken(const struct remote_session *session);
bool remote_session_is_unanswered(const struct remote_session *session);
/* Whether it is in plain text because the server refused STARTTLS, which it had offered. */
bool remote_session_is_tls_refused(const struct remote_session *session);

/* What the connection has of a shape, all zeros at first: the caller's, and left at the end. */
struct shape_hold *remote_session_hold(struct remote_session *session);
/* As smtp_client_take_slower(). */
bool remote_session_take_slower(struct remote_session *session,
				struct smtp_client_slower *slower_out);

/* A transaction runs of which the server has not been told yet; nor that there is one. */
bool remote_session_is_before_mail(const struct remote_session *session);
/* The server may have accepted the message already: see smtp_client_is_deciding(). */
bool remote_session_is_deciding(const struct remote_session *session);
bool remote_session_is_reusable(const struct remote_session *session);
/* It gets at most so many transactions; 0: as many as any. */
void remote_session_limit(struct remote_session *session, uint32_t most);
/* How many were begun. */
uint32_t remote_session_transactions(const struct remote_session *session);
const union os_socket_address *remote_session_address(const struct remote_session *session);
const char *remote_session_key(const struct remote_session *session);
/* Between transactions: its place in its class may be free for others. Calls ENDED once, when the
 * server sent something or closed the connection, or after DELAY_US. */
void remote_session_wait(struct remote_session *session, int64_t delay_us,
			 void (*ended)(void *context, struct remote_session *session),
			 void *context);
/* Ends the wait, unless its class has no place for it now: false. */
MUST_CHECK bool remote_session_claim(struct remote_session *session, bool has_turn);
/* Whether it would keep a place from mail that waits for one if it waited now (count = all). */
bool remote_session_is_in_the_way(const struct remote_session *session);
/* Whether it has a place in CLASS although it waits. */
bool remote_session_is_spare(const struct remote_session *session, const struct limit_class *class);

#endif
