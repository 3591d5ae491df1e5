// SPDX-License-Identifier: ISC
/*
 * tls/peer_chain.h - the certificates that a server has sent, for people.
 */
#ifndef TLS_PEER_CHAIN_H
#define TLS_PEER_CHAIN_H

#include "base/arena.h"
#include "tls/connection.h"

enum { TLS_PEER_CHAIN_MAX = 10 }; /* certificates; further ones are ignored */

struct tls_peer_certificate { /* texts in UTF-8; control characters are escaped */
	const char *subject;  /* "CN=mx.example.net,O=Example" (RFC 2253) */
	const char *issuer;
	const char *key;       /* "rsaEncryption, 2048 bits" */
	int64_t not_before_us; /* wall clock */
	int64_t not_after_us;
	const char *const *names; /* alternative names: no others count */
	size_t name_count;
	char fingerprint[TLS_FINGERPRINT_SIZE];
	char key_fingerprint[TLS_FINGERPRINT_SIZE];
};

/* Also after a handshake that failed because of them. The peer's own one is the first; all of it is
 * in ARENA. */
size_t tls_peer_chain_read(const struct tls_connection *connection, struct arena *arena,
			   const struct tls_peer_certificate **list_out);

#endif
