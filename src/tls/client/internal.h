// SPDX-License-Identifier: ISC
/* tls/client/internal.h - shared by the files of the client. */
#ifndef TLS_CLIENT_INTERNAL_H
#define TLS_CLIENT_INTERNAL_H

#include "tls/client.h"
#include "tls/internal.h"
#include <openssl/ssl.h>

enum {
	TLS_TLSA_USAGE_TA = 2, /* RFC 7218: DANE-TA, DANE-EE, Cert, SPKI, Full */
	TLS_TLSA_USAGE_EE = 3,
	TLS_TLSA_CERTIFICATE = 0,
	TLS_TLSA_KEY = 1,
	TLS_TLSA_FULL = 0,
	TLS_TLSA_SHA256 = 1,
	TLS_TLSA_SHA512 = 2,
	TLS_SHA256_SIZE = 32,
	TLS_SHA512_SIZE = 64,
	TLS_CLIENT_KEY_SIZE = TLS_SHA256_SIZE,
};

/* What is the same for all clients. */
void tls_client_set_rules(SSL_CTX *openssl);

struct tls_client_certificate {
	uint64_t number; /* never used again, unlike an address */
	SSL_CTX *openssl;
	struct tls_identity *identity;
};

X509_STORE *tls_authorities_store(const struct tls_authorities *authorities);

/* False: TEXT is not 64 hexadecimal digits. */
bool tls_fingerprint_parse(const char *text, char digest_out[TLS_SHA256_SIZE]);

/* A digest of all of REQUEST, which has a peer: requests with the same one may resume each other's
 * sessions. */
void tls_client_key(const struct tls_client_request *request, uint8_t key_out[TLS_CLIENT_KEY_SIZE]);

/* A bounded cache of sessions by key, a few for each; the most recent ones stay. */
struct tls_sessions;

struct tls_sessions *tls_sessions_new(void);
void tls_sessions_free(struct tls_sessions *sessions);
void tls_sessions_clear(struct tls_sessions *sessions);
/* Takes over the reference to SESSION, which replaces one that was found before. */
void tls_sessions_put(struct tls_sessions *sessions, const uint8_t key[TLS_CLIENT_KEY_SIZE],
		      SSL_SESSION *session, enum tls_verified verified);
/* One that was not found before, or else the one that was found the longest time ago. NULL: none
 * that is still valid. The reference is the cache's. */
SSL_SESSION *tls_sessions_find(struct tls_sessions *sessions,
			       const uint8_t key[TLS_CLIENT_KEY_SIZE],
			       enum tls_verified *verified_out);

#endif
