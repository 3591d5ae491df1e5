// SPDX-License-Identifier: ISC
/*
 * keys/store.h - the files of certificates, private keys and authorities that a configuration
 * names: read, judged, and read again when they change.
 *
 * A certificate whose files change to something that cannot be used stays as it was, which is
 * logged once: those who renew one write two files, one after the other.
 */
#ifndef KEYS_STORE_H
#define KEYS_STORE_H

#include "config/config.h"
#include "keys/set.h"
#include "tls/private_key.h"

struct keys_store;

struct keys_store *keys_store_new(void);
/* NULL is allowed. */
void keys_store_free(struct keys_store *store);

/* Reads what CONFIG names and has changed since the last call. True: the set differs from the one
 * before. Also makes a new key for session tickets when the last is KEYS_TICKET_US old, and logs
 * which certificates end soon. */
bool keys_store_refresh(struct keys_store *store, const struct config *config);
/* Whether a file could not be read for a reason that passes: to be tried again soon. */
bool keys_store_is_unsure(const struct keys_store *store);

/* Appends what is wrong with the certificates that cannot be used, each with its file and the
 * reason, after "; ". */
void keys_store_append_problems(const struct keys_store *store, struct buffer *out);

/* A set, packed (keys/set.h), in two parts: who accepts no sessions gets NO_TICKETS for TICKETS. */
struct keys_packed {
	struct buffer texts;
	struct buffer tickets; /* secret */
	struct buffer no_tickets;
};

/* Appends to *OUT. */
void keys_store_pack(const struct keys_store *store, struct keys_packed *out);
/* Empties it. */
void keys_packed_clear(struct keys_packed *packed);
/* By its TLS_KEY_ID_SIZE bytes; also one that was replaced or dropped within the last minute
 * (keys/retired.h). NULL: unknown. */
const struct tls_private_key *keys_store_find(const struct keys_store *store, const void *id);

/* How long a key encrypts tickets; it decrypts them for TLS_TICKET_KEYS_MAX times as long. */
#define KEYS_TICKET_US (12 * HOUR_US)

#endif
