// SPDX-License-Identifier: ISC
/*
 * auth/server/password.h - whether a password is that of a user, for auth/server/checks.h: by the
 * hashes of the directory, or by a server that is asked to bind as the user.
 */
#ifndef AUTH_SERVER_PASSWORD_H
#define AUTH_SERVER_PASSWORD_H

#include "auth/sasl/sasl.h"
#include "auth/server/checks.h"

/* Blocks; called by several threads at once. CHECK: RIGHT, WRONG, or LATER when no server has
 * answered. */
struct auth_binder {
	enum sasl_finding (*check)(void *context, struct str user, struct str password);
	void *context;
};

struct auth_password;
/* HASH: the one that is the password's, if it is RIGHT; empty with a BINDER. */
typedef void auth_password_judged(void *context, enum sasl_finding finding, struct str hash);

/* BINDER: NULL: by the hashes, of which one must be the password's. */
struct auth_password *auth_password_new(const struct auth_binder *binder, struct str user,
					struct str password);
/* At most AUTH_PASSWORD_HASHES_MAX; further ones are ignored. */
void auth_password_add_hash(struct auth_password *password, struct str hash);
/* Whatever comes out, it is WRONG, and takes as long. */
void auth_password_spoil(struct auth_password *password);
/* Queues it, and gives it away. NULL: there is no room, or it was never to be asked. */
struct auth_check *auth_password_check(struct auth_password *password, struct auth_checks *checks,
				       const struct in6_addr *client, enum auth_trust trust,
				       auth_password_judged *judged, void *context);

enum { AUTH_PASSWORD_HASHES_MAX = 20 };

#endif
