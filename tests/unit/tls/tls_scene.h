// SPDX-License-Identifier: ISC
/* tests/unit/tls/tls_scene.h - keys and certificates that a test makes in memory. */
#ifndef TESTS_UNIT_TLS_SCENE_H
#define TESTS_UNIT_TLS_SCENE_H

#include "base/buffer.h"
#include <openssl/x509.h>

/* A new key of TYPE: "RSA" with BITS, "ED25519", or a curve: "P-256". */
EVP_PKEY *tls_scene_key(const char *type, size_t bits);
/* Appends it to PEM. */
void tls_scene_write_key(EVP_PKEY *key, struct buffer *pem);

struct tls_scene_certificate {
	const char *name;  /* common name; NULL: none */
	const char *names; /* subjectAltName: "DNS:a.example,DNS:b.example"; NULL: none */
	bool is_authority;
	EVP_PKEY *key;
	X509 *issuer; /* NULL: signed by itself, and then SIGNER is not used */
	EVP_PKEY *signer;
	long begins; /* seconds from now; both 0: since an hour, for a day */
	long ends;
};

X509 *tls_scene_certificate(const struct tls_scene_certificate *wanted);
void tls_scene_write(X509 *certificate, struct buffer *pem);

#endif
