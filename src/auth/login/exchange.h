// SPDX-License-Identifier: ISC
/*
 * auth/login/exchange.h - the client's side of a login to another server: mechanisms of SASL (RFC
 * 4422).
 *
 * Known are SCRAM-SHA-256 and SCRAM-SHA-1 (RFC 5802, 7677), by which the server learns nothing that
 * it could log in with and has to prove that it knows the password, PLAIN (RFC 4616) and LOGIN. The
 * strongest that both sides know is taken, and never a weaker one after it has failed.
 *
 * With -PLUS, SCRAM is bound to the TLS connection: who sits in between, with a connection to each
 * side, is found out by the server. If somebody has taken -PLUS out of the offer, the server learns
 * that from the flag LOGIN_NOT_OFFERED.
 */
#ifndef AUTH_LOGIN_EXCHANGE_H
#define AUTH_LOGIN_EXCHANGE_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "base/str.h"

enum {
	LOGIN_USER_MAX = 255,      /* bytes */
	LOGIN_PASSWORD_MAX = 1000, /* bytes */
	/* Rounds of hashing that a server may ask of us (SCRAM): 0.1 s of the only thread. With
	 * fewer than the least (RFC 7677 section 4) who only pretends to be the server could guess
	 * the password faster by what it gets from us. */
	LOGIN_ROUNDS_MIN = 4096,
	LOGIN_ROUNDS_MAX = 200 * 1000,
};

/* What the client says of channel binding (RFC 5802 section 6). */
enum login_flag {
	LOGIN_UNBOUND = 'n',     /* it cannot bind */
	LOGIN_NOT_OFFERED = 'y', /* it could, and the server does not offer what is known here */
	LOGIN_BOUND = 'p',
};

/* The mechanisms, from the weakest on. */
enum login_strength {
	LOGIN_BY_LOGIN,
	LOGIN_BY_PLAIN,
	LOGIN_BY_SCRAM_SHA_1,
	LOGIN_BY_SCRAM_SHA_256,
	LOGIN_BY_SCRAM_SHA_1_PLUS,
	LOGIN_BY_SCRAM_SHA_256_PLUS,
	LOGIN_STRENGTHS,
};

struct login_choice {
	const char *mechanism; /* NULL: none is known that is strong enough */
	enum login_flag flag;
};

/* The strongest mechanism of OFFERED, names separated by spaces, that is at least as strong as
 * WEAKEST. CAN_BIND: the connection has a channel binding. */
struct login_choice login_choose(struct str offered, bool can_bind, enum login_strength weakest);
/* "SCRAM-SHA-1" */
const char *login_strength_name(enum login_strength strength);
/* Whether the client sends the first message by MECHANISM. */
bool login_begins(const char *mechanism);

/* All is copied. */
struct login_setup {
	const char *user;
	const char *password; /* of UTF-8 */
	struct str nonce;     /* for SCRAM: random, printable, without a comma */
	/* of a LOGIN_BOUND choice: "tls-exporter" (RFC 9266) or "tls-server-end-point" (RFC 5929),
	 * and its bytes */
	const char *binding;
	struct str binding_data;
};

struct login_exchange;

/* CHOICE: of login_choose(), with a mechanism. */
struct login_exchange *login_exchange_new(const struct login_choice *choice,
					  const struct login_setup *setup);
/* Overwrites what it knows. NULL is allowed. */
void login_exchange_free(struct login_exchange *exchange);

/* Appends to RESPONSE the answer to CHALLENGE, which is empty before the first message. NULL; or
 * why there is none. */
MUST_CHECK const char *login_exchange_step(struct login_exchange *exchange, struct str challenge,
					   struct buffer *response);
/* Whether the server may say now that it has succeeded: it has proved what MECHANISM lets it prove.
 */
bool login_exchange_is_complete(const struct login_exchange *exchange);

#endif
