// SPDX-License-Identifier: ISC
/*
 * auth/server/invent.h - what is answered about users who do not exist, so that nobody learns who
 * does: SCRAM keys that no password fits, the same ones each time, and a hash that costs as much to
 * check as those of others.
 */
#ifndef AUTH_SERVER_INVENT_H
#define AUTH_SERVER_INVENT_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "directory/record/password.h"

struct auth_inventor;

/* SEED: secret, and the same after a restart; empty: a new one for this process. Copied. */
struct auth_inventor *auth_inventor_new(struct str seed);
/* NULL is allowed. */
void auth_inventor_free(struct auth_inventor *inventor);
/* The keys of USER, a name in canonical form, for METHOD. */
void auth_inventor_keys(const struct auth_inventor *inventor, struct str user,
			enum directory_password_method method, struct directory_scram *keys_out);
/* HASH is that of a user: invented things cost the same from now on. */
void auth_inventor_learn(struct auth_inventor *inventor, struct str hash);
/* The hash to check for a user who has none. Its result means nothing. */
struct str auth_inventor_hash(const struct auth_inventor *inventor);

/* Appends a keyed digest of HASH, the same after a restart. */
void auth_inventor_stamp(const struct auth_inventor *inventor, struct str hash, struct buffer *out);

#endif
