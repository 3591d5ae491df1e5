// SPDX-License-Identifier: ISC
/*
 * keys/set.h - what "keys" tells other processes: certificates, authorities of clients, and the
 * keys of session tickets. No private key.
 */
#ifndef KEYS_SET_H
#define KEYS_SET_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "tls/identity.h"

enum {
	KEYS_SET_SIZE_MAX = 32 << 20,                     /* bytes, packed */
	KEYS_CERTIFICATES_MAX = TLS_CERTIFICATES_MAX + 1, /* the directory's */
	KEYS_AUTHORITIES_MAX = 256,
	KEYS_AUTHORITY_SIZE_MAX = 1 << 20,    /* bytes: a system's store has a quarter of that */
	KEYS_AUTHORITIES_SIZE_MAX = 16 << 20, /* of all files */
};

struct keys_text {
	struct str name; /* of config_key_at(); or the path of a file of authorities */
	struct str pem;
};

/* Texts are views of the packed set. */
struct keys_set {
	struct keys_text certificates[KEYS_CERTIFICATES_MAX]; /* those that can be used now */
	size_t certificate_count;
	struct keys_text authorities[KEYS_AUTHORITIES_MAX];
	size_t authority_count;
	struct tls_ticket_key tickets[TLS_TICKET_KEYS_MAX];
	size_t ticket_count;
};

/* The texts, then the tickets, are a set. */
void keys_set_pack_texts(const struct keys_set *set, struct buffer *out);
void keys_set_pack_tickets(const struct keys_set *set, struct buffer *out);
/* False: PACKED is malformed, or over a limit. */
MUST_CHECK bool keys_set_unpack(struct str packed, struct keys_set *set_out);
/* The PEM of TEXTS[i] called NAME; "": none. */
struct str keys_set_find(const struct keys_text *texts, size_t count, struct str name);

#endif
