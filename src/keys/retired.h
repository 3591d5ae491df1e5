// SPDX-License-Identifier: ISC
/*
 * keys/retired.h - private keys that were replaced, or whose certificates the configuration has no
 * more: for a minute they still sign, as handshakes go on with the certificate with which they
 * began.
 */
#ifndef KEYS_RETIRED_H
#define KEYS_RETIRED_H

#include "base/timestamp.h"
#include "tls/private_key.h"

enum { KEYS_RETIRED_MAX = 64 }; /* with more, the oldest goes */

#define KEYS_RETIRED_US MINUTE_US

struct keys_retired { /* all zero at first */
	struct keys_retired_key {
		struct tls_private_key *key;
		int64_t since_us; /* monotonic */
	} keys[KEYS_RETIRED_MAX]; /* oldest first */
	size_t count;
};

/* Takes over KEY; NULL is allowed. */
void keys_retired_add(struct keys_retired *retired, struct tls_private_key *key);
/* Frees those whose time is over. */
void keys_retired_expire(struct keys_retired *retired);
/* By its TLS_KEY_ID_SIZE bytes; NULL: unknown. */
const struct tls_private_key *keys_retired_find(const struct keys_retired *retired, const void *id);
void keys_retired_clear(struct keys_retired *retired);

#endif
