// SPDX-License-Identifier: ISC
/*
 * tls/provider/internal.h - keys for OpenSSL whose private half a signer has.
 *
 * They look like keys of the types RSA, EC and ED25519, so that libssl chooses by them as by any
 * other; but their signatures have names that no other provider knows, so that no operation takes
 * them for keys of the default provider, which would miss the private half. Everything else about
 * them is asked of their public half.
 */
#ifndef TLS_PROVIDER_INTERNAL_H
#define TLS_PROVIDER_INTERNAL_H

#include "tls/internal.h"
#include <openssl/core.h>
#include <openssl/provider.h>

/* A library context with the default provider and ours. */
struct tls_library {
	OSSL_LIB_CTX *openssl;
	OSSL_PROVIDER *standard;
	OSSL_PROVIDER *own;
	EVP_MD *digests[TLS_HASH_SHA512 + 1]; /* by enum tls_hash; the first is NULL */
};

void tls_library_open(struct tls_library *library);
/* What was made with it must have been freed. */
void tls_library_close(struct tls_library *library);

/* A context without any rules yet. */
SSL_CTX *tls_library_new_context(const struct tls_library *library, enum tls_side side);

struct tls_remote_key {
	const struct tls_library *library;
	const struct tls_signer *signer;
	EVP_PKEY *public; /* of the default provider */
	enum tls_key_kind kind;
	uint8_t id[TLS_KEY_ID_SIZE];
};

/* An EVP_PKEY for a copy of SOURCE, whose PUBLIC has one more reference. */
EVP_PKEY *tls_remote_key_new(const struct tls_remote_key *source);

/* The key management and the signatures of each kind of key (enum tls_key_kind). */
extern const OSSL_DISPATCH *const tls_remote_key_functions[TLS_KEY_KINDS + 1];
extern const OSSL_DISPATCH *const tls_remote_signature_functions[TLS_KEY_KINDS + 1];
/* The names of these signatures. */
extern const char *const tls_remote_signature_names[TLS_KEY_KINDS + 1];

/* In a job (tls_job_handshake()): pauses until the signer has answered. The length of the
 * signature in SIGNATURE, of SIZE bytes; 0: there is none. REQUEST must not be in the caller's
 * frame: the sanitizers think that frames end when another stack is used. */
size_t tls_signing_wait(const struct tls_signer *signer, const struct tls_signing_request *request,
			unsigned char *signature, size_t size);

#endif
