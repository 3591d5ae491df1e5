// SPDX-License-Identifier: ISC
/*
 * auth/login/internal.h - what the mechanisms share.
 */
#ifndef AUTH_LOGIN_INTERNAL_H
#define AUTH_LOGIN_INTERNAL_H

#include "auth/login/exchange.h"

enum { LOGIN_KEY_MAX = 32 }; /* bytes: SHA-256 */

/* The messages of a mechanism in their order; is_complete is set by the last of them. */
typedef const char *login_step(struct login_exchange *exchange, struct str challenge,
			       struct buffer *response);

struct login_mechanism {
	const char *name;
	bool begins;
	bool binds;
	const char *digest; /* of SCRAM, as OpenSSL calls it */
	login_step *steps[3];
};

struct login_exchange {
	const struct login_mechanism *mechanism;
	struct buffer user;
	struct buffer password;
	unsigned step;
	bool is_complete;

	/* SCRAM (auth/login/scram.c) */
	struct buffer nonce; /* the client's */
	struct buffer
		header; /* the GS2 header, for LOGIN_BOUND with the binding's bytes after it */
	size_t header_length;       /* without them */
	struct buffer conversation; /* what both sides sign */
	unsigned char server_signature[LOGIN_KEY_MAX];
	size_t key_length;
};

/* NULL: there is none of that name. */
const struct login_mechanism *login_mechanism_find(struct str name);

/* auth/login/scram.c */
void login_scram_prepare(struct login_exchange *exchange, enum login_flag flag,
			 const struct login_setup *setup);
login_step login_scram_first;
login_step login_scram_prove;
login_step login_scram_verify;

#endif
