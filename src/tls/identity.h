// SPDX-License-Identifier: ISC
/*
 * tls/identity.h - a server's certificates as a whole: which one a client gets, by the name that it
 * asks for (SNI, RFC 6066 section 3) and the keys that it can verify.
 *
 * Immutable. When files change, a new one is made; connections keep the one that they began with.
 */
#ifndef TLS_IDENTITY_H
#define TLS_IDENTITY_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "tls/context.h"
#include "tls/signer.h"

enum {
	TLS_CERTIFICATES_MAX = 256, /* of an identity */
	TLS_CHAIN_SIZE_MAX = 32 * 1024,
	TLS_TICKET_KEYS_MAX = 3, /* the first encrypts, all decrypt */
};

/* One certificate with its chain; the private key is the signer's. */
struct tls_certificate {
	struct str chain;         /* PEM: the certificate, then the intermediate ones */
	const char *const *names; /* host names or "*.NAME" to select it by; without any, those of
				   * the certificate */
	size_t name_count;
};

/* Keys of session tickets (RFC 5077, RFC 8446 section 4.6.1): the same in all processes, never on
 * disk. */
struct tls_ticket_key {
	uint8_t name[16];
	uint8_t secret[32]; /* AES-256-CBC */
	uint8_t mac[32];    /* HMAC-SHA-256 */
};

struct tls_identity_settings {
	const struct tls_certificate *certificates; /* the first is the default */
	size_t certificate_count;
	const struct tls_signer *signer; /* must outlive the context and its connections */
	const struct tls_ticket_key *ticket_keys;
	size_t ticket_key_count; /* 0: no tickets */
	/* PEM: clients are asked for a certificate, and one that these authorities did not sign is
	 * not verified (tls_connection_is_verified()), but does not end the handshake. Empty: not
	 * asked. */
	struct str client_authorities;
	struct tls_strength strength;
	bool asks_clients; /* asks for a certificate even without authorities, for fingerprints */
};

/* The context of a server. A name is compared without case; an exact one before a wildcard, which
 * stands for one label. Of the certificates that a name selects, the first of each kind of key is
 * offered, and the client's abilities decide. A name that none has, or no name, gets the default
 * and those of other kinds with the same names. 0; or -EINVAL, with "certificate N: why" in REASON.
 * The context is freed by tls_context_free(), after which its connections may go on. */
MUST_CHECK int tls_identity_open(const struct tls_identity_settings *settings,
				 struct tls_context **context_out, struct buffer *reason);

/* Whether PEM can be client_authorities: 0; or -EINVAL with a REASON. */
MUST_CHECK int tls_identity_judge_authorities(struct str pem, struct buffer *reason);

/* The identifier of the key of CHAIN's first certificate. -EINVAL with a REASON. */
MUST_CHECK int tls_identity_key(struct str chain, uint8_t key_out[TLS_KEY_ID_SIZE],
				struct buffer *reason);

#endif
