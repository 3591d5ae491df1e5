// SPDX-License-Identifier: ISC
/* auth/server/internal.h - shared by the parts of the server. */
#ifndef AUTH_SERVER_INTERNAL_H
#define AUTH_SERVER_INTERNAL_H

#include "auth/protocol.h"
#include "auth/server/dovecot/dovecot.h"
#include "auth/server/failures.h"
#include "auth/server/invent.h"
#include "auth/server/known.h"
#include "auth/server/server.h"
#include "auth/server/tokens.h"
#include "base/table.h"
#include "directory/client/client.h"
#include "ipc/server.h"

enum { AUTH_ATTEMPTS_CLIENT_MAX = 32 /* open attempts of one client, however many connections */ };

struct auth_offered {
	char name[AUTH_MECHANISM_SIZE];
	unsigned needs;
	const struct sasl_mechanism *own; /* NULL: it is passed to Dovecot */
	bool is_withheld;                 /* clients are not told of it, and may use it */
};

enum { AUTH_KEYS = 2 }; /* methods of passwords with keys for a mechanism of theirs */

/* Whether all users have keys of one of them: keys.c. */
struct auth_keys {
	struct auth_server *server;
	struct directory_question question;
	bool has_answered; /* the directory, or it has failed to */
	bool is_known;
	bool is_lacking; /* some user has a password, and no keys */
	bool is_due;     /* to be asked again */
};

/* How many attempts a client has open. */
struct auth_tally {
	struct in6_addr client;
	unsigned open;
	UT_hash_handle hh;
};

struct auth_server {
	struct auth_server_ways ways;
	const struct config *config;
	struct ipc_server *ipc;
	struct directory_client *directory; /* NULL: there is none */
	struct auth_failures *failures;
	struct auth_known *known;
	struct auth_checks *checks;
	struct auth_inventor *inventor;
	struct auth_jwt_keys *keys;
	struct auth_tokens *tokens;
	struct buffer secret; /* for introspection */
	struct dovecot *dovecot;
	bool is_leaving_dovecot; /* while the settings change */
	struct auth_offered offered[AUTH_MECHANISMS_MAX];
	size_t offered_count;
	struct auth_tally *tallies;
	struct auth_keys user_keys[AUTH_KEYS];
	void (*keys_changed)(struct auth_server *server); /* what keys.c knows of them */
	struct os_timer *keys_again;    /* runs while the directory does not answer about them */
	struct auth_followed *followed; /* users who have authenticated, by name */
	struct auth_followed *due;      /* of them, whose records are to be looked at */
	size_t looks;                   /* questions about them that are under way */
	bool is_looking;
	struct os_timer *look_again; /* runs while the directory does not answer */
	struct os_task doubt;        /* says that it is not known who is valid */
};

/* A process that asks. */
struct auth_asker {
	struct auth_server *server;
	struct ipc_channel *channel;
	struct auth_attempt *attempts;   /* by tag */
	struct auth_follower *followers; /* by tag */
};

enum auth_attempt_state { ATTEMPT_SPEAKS, ATTEMPT_ASKS, ATTEMPT_HELD, ATTEMPT_LEFT };

struct auth_attempt {
	struct auth_asker *asker;
	uint32_t tag;
	enum auth_attempt_state state;
	const struct auth_offered *mechanism;
	char mechanism_name[AUTH_MECHANISM_SIZE];
	struct in6_addr address;
	uint32_t port;
	struct in6_addr client; /* auth/server/failures.h */
	struct buffer texts;    /* of the peer, which SASL views */
	struct sasl_peer peer;
	struct str protocol;
	struct str session;
	struct sasl *sasl; /* NULL: Dovecot's */
	struct dovecot_request dovecot;
	struct buffer dovecot_user; /* accepted, while the last message is under way */
	struct buffer owner;        /* of a token */
	struct buffer stamp;        /* of what the user has logged in with; empty: none is known */
	struct directory_question question;
	struct auth_check *check;
	struct auth_token_request *token;
	struct os_timer *timer; /* HELD, LEFT */
	bool has_failed;        /* it was counted, and held back */
	int64_t asked_us;       /* when the client's last message came */
	const char *reason;     /* of a failure, for the log; NULL: the mechanism's */
	UT_hash_handle hh;
};

/* auth/server/attempt/attempt.c: false: the message is malformed. */
MUST_CHECK bool auth_attempt_begin(struct auth_asker *asker, uint32_t tag, struct str body);
MUST_CHECK bool auth_attempt_respond(struct auth_attempt *attempt, struct str body);

/* auth/server/attempt/end.c: ends it without an answer. */
void auth_attempt_free(struct auth_attempt *attempt);
/* The same; it was a failure if the client has learnt something about a user. */
void auth_attempt_cancel(struct auth_attempt *attempt);
/* The client has cancelled it: whether that was a failure is decided later. */
void auth_attempt_leave(struct auth_attempt *attempt);
/* Of an attempt that was not begun. */
void auth_attempt_send_refusal(struct auth_asker *asker, uint32_t tag, enum auth_refusal refusal);
/* Sends a challenge; ends it as accepted; as refused, perhaps later. */
void auth_attempt_challenge(struct auth_attempt *attempt, struct str message);
void auth_attempt_accept(struct auth_attempt *attempt, struct str user);
void auth_attempt_refuse(struct auth_attempt *attempt, enum auth_refusal refusal, struct str user,
			 const char *reason);
/* Counts the failure, and holds the answer back: the challenge, or the refusal. */
void auth_attempt_fail(struct auth_attempt *attempt, struct str user, const char *reason);

/* A session elsewhere, whose login is followed. */
struct auth_follower {
	struct auth_asker *asker;
	uint32_t tag;
	struct auth_followed *user;
	struct buffer stamp;
	bool is_asking;                        /* an answer is due */
	struct auth_follower *next, *previous; /* of the same user */
	UT_hash_handle hh;                     /* by tag */
};

/* auth/server/logins.c */
void auth_logins_open(struct auth_server *server);
void auth_logins_close(struct auth_server *server);
/* Of the server's directory: struct directory_client_handler. */
void auth_logins_hear_directory(void *server, bool is_up);
/* False: the message is malformed. */
MUST_CHECK bool auth_logins_follow(struct auth_asker *asker, uint32_t tag, struct str body);
void auth_logins_unfollow(struct auth_asker *asker, uint32_t tag);
void auth_logins_lose(struct auth_asker *asker);
/* Sets *OUT to the stamp of a login with HASH; empty: it is valid while the user is active. */
void auth_login_stamp(const struct auth_server *server, struct str hash, struct buffer *out);

/* auth/server/attempt/tally.c: how many attempts a client has open. */
unsigned auth_tally_count(struct auth_server *server, const struct in6_addr *client);
void auth_tally_add(struct auth_server *server, const struct in6_addr *client);
void auth_tally_remove(struct auth_server *server, const struct in6_addr *client);

/* auth/server/attempt/ask.c: does what the mechanism wants next. */
void auth_attempt_advance(struct auth_attempt *attempt);

/* auth/server/attempt/dovecot.c: a mechanism that Dovecot has. */
void auth_attempt_pass(struct auth_attempt *attempt, bool has_initial, struct str initial,
		       struct str certificate_name);
void auth_attempt_pass_on(struct auth_attempt *attempt, struct str message);

/* auth/server/keys.c: asks the directory whether all users can log in by the mechanisms that need
 * keys, unless the settings say what is offered. */
void auth_keys_open(struct auth_server *server);
void auth_keys_close(struct auth_server *server);
/* To call when the settings, or anything in the directory, may have changed. */
void auth_keys_ask(struct auth_server *server);
/* False also while that is not known. */
bool auth_keys_have_all(const struct auth_server *server, enum directory_password_method method);
/* Whether there is no answer yet, not even that the directory does not answer. */
bool auth_keys_are_awaited(const struct auth_server *server);

/* auth/server/attempt/offer.c: finds out what can be offered now, and tells all who ask if it is
 * something else. */
void auth_offer_update(struct auth_server *server);
void auth_offer_tell(void *asker, struct ipc_channel *channel);
const struct auth_offered *auth_offer_find(const struct auth_server *server, struct str name);
/* Whether one with -PLUS is offered. */
bool auth_offer_has_binding(const struct auth_server *server);

#endif
