// SPDX-License-Identifier: ISC
/*
 * intake/session.h - one client's connection: its socket, its protocol engine, the message it is
 * sending, and the answers to the engine's questions.
 */
#ifndef INTAKE_SESSION_H
#define INTAKE_SESSION_H

#include "auth/client.h"
#include "config/config.h"
#include "directory/lookup/lookup.h"
#include "dns/names/client.h"
#include "intake/security/security.h"
#include "limit/client.h"
#include "limit/count.h"
#include "limit/rate.h"
#include "os/loop.h"
#include "os/socket/socket.h"
#include "queue/client/client.h"
#include "smtp/server/server.h"

/* How sessions speak (intake/engine.h): SMTP, submission and LMTP; QMTP and QMQP. */
extern const struct intake_engine intake_engine_smtp;
extern const struct intake_engine intake_engine_qmtp;

/* What all sessions of a process share. */
struct intake {
	const struct intake_engine *engine;
	struct os_loop *loop;
	const struct config *config; /* changes at a reload */
	struct queue_client *queue;
	struct directory *directory;
	struct names *names;                 /* NULL: names of clients are not looked up (setting
					      * client_names) */
	struct auth *auth;                   /* NULL: nobody can authenticate */
	struct intake_accounts *accounts;    /* NULL: no service delivers as the mailbox's user */
	const struct limit_memory *limits;   /* by intake_set_limits() */
	const struct limit_classes *classes; /* NULL: sessions are not limited by class */
	struct limit_counter *counter;
	struct limit_rates *rates;       /* NULL: none is configured */
	struct intake_session *sessions; /* the one that has been idle longest comes first */
	struct intake_session *slowed;   /* those that a rate holds back, the first one first */
	struct limit_clients *clients;   /* what each client has */
	struct intake_proxy *proxies;    /* connections that are not sessions yet */
	bool is_draining;                /* by intake_drain() */
	size_t session_count;            /* of both */
	int64_t last_mark_us;            /* of the session that began last */
	/* A session has ended: there is room for another one. */
	void (*session_ended)(void *context);
	/* No class of hosts can take another client. NULL: nobody wants to know. */
	void (*all_full)(void *context);
	void *context;
};

/* Takes over SOCKET and begins. SERVICE and SECURITY must outlive the session. EARLY: what was read
 * from the client already, at most TLS_EARLY_MAX bytes. */
void intake_session_new(struct intake *intake, const struct smtp_service *service,
			const struct intake_security *security, int socket,
			const union os_socket_address *peer, struct str early);
/* The same for a client whose address the proxy PEER does not know: it has no rights by that. */
void intake_session_new_stranger(struct intake *intake, const struct smtp_service *service,
				 const struct intake_security *security, int socket,
				 const union os_socket_address *peer, struct str early);
/* Whether no mail is taken in for the time being: new clients get 421 4.3.2, and others with their
 * next message. */
void intake_drain(struct intake *intake, bool is_draining);
/* Classes of hosts and the memory in which their sessions are counted; both outlive the next such
 * call. All sessions are counted all over. */
void intake_set_limits(struct intake *intake, const struct limit_memory *limits,
		       const struct limit_classes *classes);
/* The session whose place may be given to another client, or NULL: the first one that is held back
 * by a rate, or the one that has been idle longest, if that is long enough. */
struct intake_session *intake_session_find_idle(struct intake *intake);
/* Ends it with a 421 reply. */
void intake_session_refuse(struct intake_session *session);
/* For struct smtp_service: one line in the log for each refusal. */
void intake_log_refusal(void *context, const struct smtp_refusal *refusal);
/* For struct smtp_service: the mechanisms that "auth" has for the client. */
struct str intake_auth_mechanisms(void *context);
/* For struct smtp_watch: passes a line of the session to its watchers (transcript/transcript.h). */
void intake_tell_line(void *context, enum smtp_said by, struct str line);
/* For struct smtp_service: whether ADDRESS is the one the client connected to, or in the setting
 * own_addresses. */
bool intake_is_our_address(void *context, const struct in6_addr *address);
/* Ends every session as soon as its open question is answered. */
void intake_stop(struct intake *intake);

#endif
