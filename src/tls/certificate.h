// SPDX-License-Identifier: ISC
/*
 * tls/certificate.h - what a file of certificates says, for those who judge it before it is used.
 *
 * Nothing here decides whether anybody trusts it: a chain without its root is complete.
 */
#ifndef TLS_CERTIFICATE_H
#define TLS_CERTIFICATE_H

#include "base/arena.h"
#include "base/attributes.h"
#include "base/buffer.h"
#include "tls/signer.h"

enum { TLS_CHAIN_MAX = 16 /* certificates in a chain */ };

struct tls_chain_link { /* one certificate */
	const char
		*subject; /* one line: "CN=mx.example.org,O=Example", what is not ASCII escaped */
	const char *issuer;
	int64_t begins_us; /* not valid before this time, nor after the other */
	int64_t ends_us;
};

/* Texts are the arena's. */
struct tls_chain {
	const struct tls_chain_link *links; /* the server's own first */
	size_t link_count;                  /* at least one */
	/* Of the first: the DNS names in subjectAltName, or without these the common name. */
	const char *const *names;
	size_t name_count;
	enum tls_key_kind kind;
	unsigned bits;
	uint8_t key[TLS_KEY_ID_SIZE];
	/* The number, from 1, of the first certificate that the next one has not signed, or may
	 * not sign; 0: the chain hangs together. A certificate may be repeated. */
	size_t broken_at;
};

/* Reads PEM, which other blocks may surround, such as a private key. 0; or -EINVAL, with the
 * REASON: "it holds no certificate in PEM form". */
MUST_CHECK int tls_chain_read(struct str pem, struct arena *arena, struct tls_chain *chain_out,
			      struct buffer *reason);

/* Whether a client that asks for NAME, a host name, would accept the names of CHAIN: case is
 * ignored, and a wildcard is a whole label, the first (RFC 6125 section 6.4.3). NAME may itself be
 * "*.DOMAIN": only the same wildcard covers it. */
bool tls_chain_covers(const struct tls_chain *chain, struct str name);

#endif
