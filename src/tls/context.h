// SPDX-License-Identifier: ISC
/*
 * tls/context.h - what the connections of a side share: our certificate, trusted authorities, and
 * the rules. tls/identity.h and tls/mutual.h make it.
 *
 * TLS 1.2 and 1.3 (RFC 5246, RFC 8446; RFC 8996 forbids older ones) with ciphers that have forward
 * secrecy and authenticate (RFC 9325 section 4), unless others are allowed for TLS 1.2; no
 * renegotiation or compression.
 */
#ifndef TLS_CONTEXT_H
#define TLS_CONTEXT_H

#include <stdbool.h>

struct tls_context;

enum tls_side { TLS_SERVER, TLS_CLIENT };

/* What a side accepts; zeros: as above. */
struct tls_strength {
	bool is_1_3; /* TLS 1.3 alone */
	const char
		*ciphers; /* of TLS 1.2: names of OpenSSL with ':' between them; NULL: as above */
};

/* Also those without authenticated encryption (CBC): for mail that would go in plain text. */
#define TLS_CIPHERS_WIDE \
	"ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM:DHE+CHACHA20:ECDHE+AES:DHE+AES:!aNULL"

/* Connections may stay open if their handshake is done; there must be no others. NULL is allowed.
 * */
void tls_context_free(struct tls_context *context);

#endif
