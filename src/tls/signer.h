// SPDX-License-Identifier: ISC
/*
 * tls/signer.h - signatures by private keys that this process does not have.
 *
 * A context whose certificates came from tls/identity.h signs through a provider of OpenSSL 3
 * (provider(7), provider-keymgmt(7), provider-signature(7)) that is built in here and knows RSA,
 * ECDSA and Ed25519. It has the public key and the key's identifier only. For each signature it
 * asks the signer, and the handshake, which runs in a job of its own (ASYNC_start_job(3)), is
 * paused until the answer: no event loop waits.
 */
#ifndef TLS_SIGNER_H
#define TLS_SIGNER_H

#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

enum {
	TLS_KEY_ID_SIZE = 32,     /* SHA-256 of the SubjectPublicKeyInfo (RFC 7469 section 2.4) */
	TLS_SIGNED_MAX = 4096,    /* bytes to sign: a digest, or with Ed25519 all of the data */
	TLS_SIGNATURE_MAX = 1024, /* bytes: RSA with 8192 bits */
	TLS_SIGNINGS_MAX = 256, /* that a thread waits for; other handshakes wait for their turn */
};

/* The keys that can be used: RSA of 2048 to 8192 bits; P-256, P-384 or P-521; Ed25519. */
enum tls_key_kind { TLS_KEY_RSA = 1, TLS_KEY_ECDSA, TLS_KEY_ED25519 };
enum { TLS_KEY_KINDS = 3 };

/* What TLS 1.2 and 1.3 ask of a key (RFC 8446 section 4.2.3). Numbers are part of keys/protocol.h.
 */
enum tls_scheme {
	TLS_SCHEME_RSA_PKCS1 = 1, /* TLS 1.2 only */
	TLS_SCHEME_RSA_PSS,       /* the salt is as long as the digest, MGF1 with the same hash */
	TLS_SCHEME_ECDSA,         /* the signature in DER */
	TLS_SCHEME_ED25519,       /* signs the data itself, not a digest */
};

enum tls_hash { TLS_HASH_NONE, TLS_HASH_SHA256 = 1, TLS_HASH_SHA384, TLS_HASH_SHA512 };

struct tls_signing_request {
	uint8_t key[TLS_KEY_ID_SIZE];
	enum tls_scheme scheme;
	enum tls_hash hash;
	struct str data; /* the digest; for Ed25519 what is to be signed */
};

/* A signature that somebody waits for. */
struct tls_signing;

struct tls_signer {
	/* Begins to make a signature. REQUEST is valid during the call. The answer is given by
	 * tls_signing_done(), once, never during the call. Called from
	 * tls_connection_handshake(), on the thread's ordinary stack. */
	void (*sign)(void *context, struct tls_signing *signing,
		     const struct tls_signing_request *request);
	/* Nobody waits any more: tls_signing_done() must not be called. */
	void (*cancel)(void *context, struct tls_signing *signing);
	/* The turn of handshakes that wait for it has come without an answer: tls_signing_go_on()
	 * is to be called soon, but not during this call, in which somebody closes a connection. */
	void (*wake)(void *context);
	void *context;
};

/* The answer; an empty SIGNATURE: there is none, and the handshake fails. Resumes the handshake
 * (tls_connection_on_resume()), whose owner may free the connection, and those whose turn it is
 * then: sign and cancel of the signer may be called meanwhile. */
void tls_signing_done(struct tls_signing *signing, struct str signature);

/* Resumes the handshakes whose turn it is; as tls_signing_done(). */
void tls_signing_go_on(void);

/* For the signer's own use. */
void tls_signing_set_state(struct tls_signing *signing, void *state);
void *tls_signing_state(const struct tls_signing *signing);

#endif
