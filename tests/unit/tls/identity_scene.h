// SPDX-License-Identifier: ISC
/* tests/unit/tls/identity_scene.h - identities of servers whose keys a signer_scene has. */
#ifndef TESTS_UNIT_IDENTITY_SCENE_H
#define TESTS_UNIT_IDENTITY_SCENE_H

#include "signer_scene.h"

/* The keys of all tests of a program, each made when it is first wanted, since RSA takes long; the
 * last is the authority's. */
enum { SMALL, LARGE, P256, P384, P521, ED, AUTHORITY, IDENTITY_KEYS };

struct identity_scene {
	EVP_PKEY *keys[IDENTITY_KEYS]; /* NULL: not made yet: identity_scene_key() */
	size_t places[IDENTITY_KEYS];  /* of those that are made, among the signer's */
	X509 *authority;
	struct signer_scene signer;
};

extern struct identity_scene scene;

int identity_scene_make(void **state);
int identity_scene_free(void **state);

struct wanted { /* a certificate of an identity */
	int key;
	const char *names;       /* in it: "DNS:a.example,DNS:b.example" */
	const char *selected[4]; /* those by which it is chosen; none: the same */
};

EVP_PKEY *identity_scene_key(int key);
/* A certificate that the authority has signed. */
X509 *identity_scene_certificate(int key, const char *names);
struct buffer identity_scene_text(X509 *certificate);
/* SETTINGS without certificates and signer. */
struct tls_context *identity_scene_open(const struct wanted *wanted, size_t count,
					struct tls_identity_settings settings);
/* One certificate, for mx.example.org. */
struct tls_context *identity_scene_simple(int key);
/* The handshake, which is done, and a byte each way. */
void identity_scene_agree(struct handshake *handshake);

#endif
