// SPDX-License-Identifier: ISC
/*
 * auth/client.h - asks the process "auth" whether a client is who it says (SASL, RFC 4422).
 *
 * The process that speaks the protocol carries the mechanism's messages to and fro, decoded, and
 * never learns what they mean: passwords, hashes and tokens are only in "auth". What passes
 * through is cleansed from memory here as soon as it is sent.
 *
 *   auth_exchange_begin()                 the client named a mechanism
 *     -> AUTH_CHALLENGE                   send it; auth_exchange_respond() with the response
 *     -> AUTH_LAST_CHALLENGE              the same; it tells the client that it has failed
 *     -> AUTH_ACCEPTED                    who the client is
 *     -> AUTH_REFUSED                     and why; may come late: failures are slowed down
 *
 * Without a connection to "auth", or an answer within AUTH_PATIENCE_US, the answer is AUTH_REFUSED
 * with AUTH_TEMPORARY.
 */
#ifndef AUTH_CLIENT_H
#define AUTH_CLIENT_H

#include "base/attributes.h"
#include "base/str.h"
#include "base/table.h"
#include "base/timestamp.h"
#include "os/loop.h"
#include <netinet/in.h>

#define AUTH_PATIENCE_US (60 * SECOND_US)

enum {
	AUTH_MESSAGE_MAX = 12288, /* bytes of a message of a mechanism, decoded (RFC 4954 section 4)
				   */
	AUTH_USER_MAX = 255,      /* bytes of a user's name */
	AUTH_BINDING_MAX = 64,    /* bytes of a channel binding */
};

struct auth;

/* What is known of the client. All is copied. */
struct auth_peer {
	struct in6_addr address; /* IPv4 mapped; all zero: a UNIX socket */
	bool is_secured;         /* by TLS, or on a UNIX socket or loopback where the setting
				  * allows it: mechanisms in clear may be used */
	struct str exporter;     /* channel binding "tls-exporter" (RFC 9266); empty: none */
	struct str end_point;    /* "tls-server-end-point" (RFC 5929 section 4); empty: none */
	struct str certificate; /* SHA-256 of the client's verified certificate, in hexadecimal, for
				 * EXTERNAL; empty: none */
	struct str certificate_name; /* the name in it: an e-mail address or a host; empty: none */
	/* For the log: */
	struct str protocol; /* "submission" */
	uint16_t port;       /* 0: not known */
	struct str session;  /* what its lines have as session= */
};

enum auth_outcome { AUTH_CHALLENGE, AUTH_ACCEPTED, AUTH_REFUSED, AUTH_LAST_CHALLENGE };

enum auth_refusal {
	AUTH_FAILED,    /* 535 5.7.8: wrong user, password or token; nothing says which */
	AUTH_TEMPORARY, /* 454 4.7.0: cannot be judged now */
	AUTH_MALFORMED, /* 501 5.5.2: not a message of this mechanism */
	AUTH_UNKNOWN,   /* 504 5.5.4: no such mechanism, or not for this client */
	AUTH_INSECURE,  /* 538 5.7.11: this mechanism needs TLS */
	AUTH_TOO_WEAK,  /* 534 5.7.9: the user has no such credentials */
};

/* Valid during the call. */
struct auth_answer {
	enum auth_outcome outcome;
	struct str message; /* a challenge; ACCEPTED: the last message to the client, perhaps
			     * empty */
	struct str user;    /* ACCEPTED: in canonical form */
	struct str stamp;   /* ACCEPTED: for auth_login_new(); empty: it cannot be followed */
	enum auth_refusal refusal; /* REFUSED */
	bool is_failure;           /* the client has failed now: once in an exchange, whether it
				    * waits for its end or not */
};

typedef void auth_answered(void *context, const struct auth_answer *answer);

/* Storage of the caller, all zero at first. */
struct auth_exchange {
	auth_answered *answered;
	void *context;
	struct auth *auth; /* NULL: none is under way */
	uint32_t tag;
	int64_t until_us;
	bool is_asking;  /* an answer is to come */
	bool has_failed; /* the client was told so */
	bool is_lost;    /* "auth" has forgotten it */
	struct auth_exchange *next, *previous;
	UT_hash_handle hh;
};

/* PATH: the socket of "auth". */
struct auth *auth_new(struct os_loop *loop, const char *path);
/* Only after its exchanges have ended. NULL is allowed. */
void auth_free(struct auth *auth);
/* Calls CALL once, when "auth" next says which mechanisms it has. */
void auth_when_offered(struct auth *auth, void (*call)(void *context), void *context);

/* The mechanisms that may be offered to a client, separated by a space, best first; with what
 * "auth" can do now: empty while it is not connected. IS_SECURED, HAS_BINDING and HAS_CERTIFICATE
 * as in struct auth_peer. Valid until the next call. */
struct str auth_mechanisms(struct auth *auth, bool is_secured, bool has_binding,
			   bool has_certificate);

/* Begins an exchange by MECHANISM, in upper case. INITIAL: the initial response; HAS_INITIAL: there
 * was one, which may be empty. ANSWERED may be called before this returns. The exchange is over
 * with ACCEPTED or REFUSED. */
void auth_exchange_begin(struct auth *auth, const struct auth_peer *peer, struct str mechanism,
			 bool has_initial, struct str initial, struct auth_exchange *exchange);
/* The response to a challenge. */
void auth_exchange_respond(struct auth_exchange *exchange, struct str response);
/* ANSWERED is not called any more. Does nothing if none is under way. */
void auth_exchange_cancel(struct auth_exchange *exchange);
/* The same, because the client has cancelled it. Many do, to go on with another mechanism: whether
 * it was a failure is said later by auth_settle(), with what is returned here; 0: nothing is to be
 * said. */
uint32_t auth_exchange_leave(struct auth_exchange *exchange);
/* TAG may be 0. HAS_SUCCEEDED: the client has authenticated in the same session. */
void auth_settle(struct auth *auth, uint32_t tag, bool has_succeeded);

#endif
