// SPDX-License-Identifier: ISC
/*
 * deliver/remote/attempt/attempt.h - one job's way to a server, by SMTP, QMTP or LMTP.
 *
 * It uses an idle connection with this job's key, or makes a new one to the first of its servers
 * that serves; transactions of up to 100 recipients each; a report for each recipient. The creator
 * of the attempt finds the servers.
 */
#ifndef DELIVER_REMOTE_ATTEMPT_ATTEMPT_H
#define DELIVER_REMOTE_ATTEMPT_ATTEMPT_H

#include "deliver/helper.h"
#include "deliver/remote/attempt/doubt.h"
#include "deliver/remote/attempt/silent.h"
#include "deliver/remote/policy/plain.h"
#include "deliver/remote/session/pool.h"

struct remote_attempt;

/* What the attempts of a process share. */
struct remote_client {
	struct remote_pool *pool;
	struct remote_plain *plain;              /* servers whose TLS does not work */
	struct remote_silent *silent;            /* servers that are passed over */
	struct remote_doubt *doubt;              /* messages that a server may have taken */
	struct remote_session_settings settings; /* but for the protocol */
	struct hash_key site_key;                /* of marks against loops */
	struct shape *shape;                     /* how fast mail goes; NULL: as fast as it can */
	unsigned configurations;                 /* how many there have been */
	struct remote_attempt *attempts;         /* under way */
};

void remote_client_init(struct remote_client *client, struct os_loop *loop);
/* For connections that are made from now on; idle ones are closed, and others when their message
 * is done: the policy they were made by may no longer be in force. CONFIG is borrowed. */
void remote_client_configure(struct remote_client *client, const struct config *config,
			     int64_t reply_timeout_us);
/* Finishes every job without a report, except those whose message the server has received and
 * not yet answered: these are finished after the answer and the reports. Idle connections are
 * closed. */
void remote_client_drain(struct remote_client *client);
/* Finishes every job without a report. */
void remote_client_give_up(struct remote_client *client);
/* The same, and frees what the client has. */
void remote_client_clear(struct remote_client *client);

struct remote_finder {
	/* Finds the servers, from the start; answers with remote_attempt_try() or
	 * remote_attempt_fail(), during the call or later. Called again when a connection did
	 * not last for all recipients. */
	void (*find)(void *context, struct remote_attempt *attempt);
	/* The attempt is over; the job's memory is freed next. */
	void (*end)(void *context);
	/* How a connection to SERVER, one of those found, is protected: true, with *POLICY_OUT; or
	 * false, and remote_attempt_connect() will say it. What it points to must be valid until
	 * end(). NULL: by nothing. */
	bool (*protect)(void *context, struct remote_attempt *attempt,
			const struct dns_server *server, struct remote_policy *policy_out);
	/* Once for each connection that POLICY allows TLS for, to SERVER, when it is known how TLS
	 * went: FAILURE is why it failed, NULL: it did not, or is left out. SESSION is NULL if
	 * POLICY forbids to connect at all. NULL: not told. */
	void (*tell)(void *context, const struct dns_server *server,
		     const struct remote_policy *policy, const struct remote_session *session,
		     const char *failure);
	/* No server could be reached, or each has refused temporarily, and none was told of a
	 * recipient. True: there are others, which it finds and answers as find() does; the attempt
	 * may be over. NULL: never. */
	bool (*fall_back)(void *context, struct remote_attempt *attempt);
	/* From which source SERVER is connected to, and of whose addresses; NULL: as the system
	 * chooses. */
	const struct config_source *(*source)(void *context, const struct dns_server *server,
					      struct remote_sources **sources_out);
};

/* Delivers JOB by PROTOCOL and finishes it. KEY, FINDER and CONTEXT must live as long as the job;
 * jobs with the same key may share connections. */
void remote_attempt_start(struct remote_client *client, enum smtp_client_protocol protocol,
			  struct deliver_helper_job *job, const char *key,
			  const struct remote_finder *finder, void *context);

/* The answers to find(). SERVERS (best first; none: as if none could be reached) and TRIGGER, which
 * is what to wait for when none can be reached, must be valid until the next answer or end(). The
 * attempt may be over when these return. */
void remote_attempt_try(struct remote_attempt *attempt, const struct dns_server *servers,
			size_t count, const char *trigger);
/* The answer to protect(). */
void remote_attempt_connect(struct remote_attempt *attempt, const struct remote_policy *policy);
void remote_attempt_fail(struct remote_attempt *attempt, const struct mail_verdict *verdict);

#endif
