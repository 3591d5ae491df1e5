// SPDX-License-Identifier: ISC
/*
 * deliver/remote/attempt/internal.h - what the files of an attempt share: attempt.c is its
 * course, servers.c the way to the next of its servers, message.c
 * what is said of the message.
 */
#ifndef DELIVER_REMOTE_ATTEMPT_INTERNAL_H
#define DELIVER_REMOTE_ATTEMPT_INTERNAL_H

#include "deliver/remote/attempt/attempt.h"
#include "deliver/remote/attempt/recipients.h"
#include "deliver/remote/session/content.h"

/* In one attempt: each is asked for the recipients that the one before deferred. */
enum { SERVERS_MAX = 4 };

/* A session in which a server has refused what it may accept in the next one. */
struct remote_served {
	uint32_t messages; /* that it was given before; 0: nothing follows from that */
	union os_socket_address server;
	struct mail_verdict verdict; /* what it said */
	struct str to;
};

/* In the arena of its job. */
struct remote_attempt {
	struct remote_client *client;
	enum smtp_client_protocol protocol;
	struct deliver_helper_job *job;
	const char *key;
	const struct remote_finder *finder;
	void *finder_context;
	const struct dns_server *servers; /* candidates, best first */
	size_t server_count;
	size_t next_server;
	uint64_t passed_over;    /* a bit for each: they come after the others */
	bool has_only_passed_by; /* the others were tried */
	const char *trigger;     /* set when none of them answered */
	uint64_t full;           /* key of the class that had no place for a session with one
				  * of them, the first; 0: none */
	char full_trigger[LIMIT_TRIGGER_SIZE]; /* of that class */
	bool was_connected;                    /* at least one of them answered */
	struct mail_verdict failure;           /* of the candidates so far; no text: none */

	const struct dns_server *server; /* the current one */
	struct remote_policy policy;     /* for it */
	bool is_left_out;                /* TLS, for it: it is known not to work */
	struct remote_session *session;
	bool is_told;                               /* how TLS went in the session */
	union os_socket_address asked[SERVERS_MAX]; /* asked already; recipients that are left
						     * wait for the next */
	size_t asked_count;
	int64_t begin_us; /* monotonic */
	struct remote_recipients recipients;
	struct remote_content_needs needs;
	bool is_allowed;     /* by the shape: the next transaction, with its new session */
	bool is_slowed;      /* the server has said in the last one that it gets too much */
	bool has_complained; /* of the message, too: others are tried before it */
	struct remote_served *served; /* the session that had served enough; NULL: none */
	int64_t begun_us;             /* the last one; monotonic */
	int64_t held_until_us;        /* the next one, in the session; monotonic */
	struct shape_wait busy; /* of servers that may not be asked now, the shortest; 0: none */
	bool needs_utf8;        /* its header does */
	bool has_fallen_back;   /* to servers that are not those of KEY */
	bool is_last;           /* no transaction follows the current one */
	unsigned configuration; /* the client's at the start: KEY is of it */
	unsigned decided_by;    /* the client's when POLICY was found */
	struct remote_attempt *next, **previous;
};

/* Keeps the error of one candidate as long as no other gives more hope. */
void remote_attempt_keep_failure(struct remote_attempt *attempt,
				 const struct mail_verdict *verdict);
/* Tells the finder how TLS went in the session, once; FAILURE: why it failed, or NULL. */
void remote_attempt_tell(struct remote_attempt *attempt, const char *failure);

/* Makes a session with the current server, which is not connected yet, by the current policy.
 * False: that is impossible, as is kept. */
MUST_CHECK bool remote_attempt_meet(struct remote_attempt *attempt);
/* The same, unless the policy forbids it, which has just been found; and without TLS if that is
 * known not to work. */
MUST_CHECK bool remote_attempt_obey_policy(struct remote_attempt *attempt);

/* Whether there is another server than the current one, as far as is known. */
bool remote_attempt_has_next(const struct remote_attempt *attempt);
/* A transaction has ended: what is to be remembered of its server. */
void remote_attempt_remember(const struct remote_attempt *attempt, enum remote_outcome outcome);
/* Whether the message must not go by an idle connection, as it is to go to another server. */
bool remote_attempt_shuns_idle(const struct remote_attempt *attempt);
/* After a transaction: where recipients have the message now and another server may have taken it
 * before, their verdicts say so. */
void remote_attempt_note_copies(const struct remote_attempt *attempt);

/* message.c */
/* An attempt at JOB among those of CARRIER, with what its message needs. */
struct remote_attempt *remote_attempt_new(struct remote_client *client,
					  enum smtp_client_protocol protocol,
					  struct deliver_helper_job *job);
/* The message of the next transaction, whose recipients were begun. */
void remote_attempt_message(const struct remote_attempt *attempt, struct smtp_client_message *out);

/* shape.c */
/* Whether a session with the current server may be begun now, with its first transaction; HOLD_OUT
 * is for the session. False: for how long not is kept. */
MUST_CHECK bool remote_attempt_may_meet(struct remote_attempt *attempt,
					struct shape_hold *hold_out);
enum remote_attempt_turn {
	REMOTE_ATTEMPT_NOW,
	REMOTE_ATTEMPT_SOON, /* the session is worth keeping so long: HELD_UNTIL_US */
	REMOTE_ATTEMPT_BUSY, /* for how long is kept */
};
/* When the next transaction, which is filled, may run over the session; NOW: it counts. */
MUST_CHECK enum remote_attempt_turn remote_attempt_turn(struct remote_attempt *attempt);
/* Whether the server wants nothing now, and has not been told of the transaction that runs: for how
 * long is kept. */
MUST_CHECK bool remote_attempt_is_unwanted(struct remote_attempt *attempt);
/* A transaction has ended: IS_SLOWED, and how long the server wants nothing; not if that is over.
 */
void remote_attempt_learn_speed(struct remote_attempt *attempt, enum remote_outcome outcome);
/* How many recipients the next transaction over the session may have; 0: any number. */
uint32_t remote_attempt_recipients_most(const struct remote_attempt *attempt);

/* VERDICT was said of the recipient TO: "send" is told what follows from it. */
struct shape_said remote_attempt_said(const struct remote_attempt *attempt, struct str to,
				      const struct mail_verdict *verdict);

/* served.c */
/* Every recipient of a transaction has a verdict: what the server has shown of how much it takes is
 * noted, and the session gets no more than that. */
void remote_attempt_learn_limits(struct remote_attempt *attempt);

enum remote_attempt_next {
	REMOTE_ATTEMPT_MET,   /* there is a session with the next server */
	REMOTE_ATTEMPT_WAITS, /* for remote_attempt_connect() */
	REMOTE_ATTEMPT_NONE,  /* no server is left */
};

/* Goes on to the next server that was not asked yet. */
MUST_CHECK enum remote_attempt_next remote_attempt_meet_next(struct remote_attempt *attempt);

#endif
