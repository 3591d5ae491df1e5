// SPDX-License-Identifier: ISC
/* tests/unit/tls/signer_scene.h - a signer that answers when a test wants it, and handshakes with
 * clients that are OpenSSL alone. */
#ifndef TESTS_UNIT_SIGNER_SCENE_H
#define TESTS_UNIT_SIGNER_SCENE_H

#include "tls/connection.h"
#include "tls/identity.h"
#include "tls/private_key.h"
#include "tls_scene.h"
#include <openssl/ssl.h>

enum { SIGNER_KEYS_MAX = 16, SIGNER_WAITING_MAX = 2000 };

struct signer_scene {
	struct tls_signer signer;
	struct tls_private_key *keys[SIGNER_KEYS_MAX];
	size_t key_count;
	struct tls_signing *waiting[SIGNER_WAITING_MAX]; /* oldest first */
	struct signer_answer {
		uint8_t signature[TLS_SIGNATURE_MAX + 1];
		size_t length;
	} * answers; /* to those that wait */
	size_t waiting_count;
	size_t cancelled;
	size_t woken;           /* calls for tls_signing_go_on() */
	enum tls_scheme scheme; /* of the last request */
	enum tls_hash hash;
};

void signer_scene_open(struct signer_scene *scene);
void signer_scene_close(struct signer_scene *scene);
/* It signs with KEY from now on. */
void signer_scene_add(struct signer_scene *scene, EVP_PKEY *key);
/* The right answer to the oldest that waits; false: none does. */
bool signer_scene_answer(struct signer_scene *scene);

/* A server's connection, and the client's end. */
struct handshake {
	struct tls_connection *server;
	SSL *client;
	int server_result; /* as of tls_connection_handshake() */
	int client_result;
	unsigned resumed; /* calls */
};

/* The client wants the name NAME; NULL: none. */
void handshake_begin(struct handshake *handshake, const struct tls_context *server, SSL_CTX *client,
		     const char *name);
/* Each side once. */
void handshake_step(struct handshake *handshake);
/* Until both are done; SCENE's answers are right. */
void handshake_finish(struct handshake *handshake, struct signer_scene *scene);
/* The client says a byte, and gets one back: with TLS 1.3 also tickets, and the server's verdict on
 * its certificate. False: the connection does not last. */
bool handshake_exchange(struct handshake *handshake);
void handshake_end(struct handshake *handshake);

/* A client that takes any certificate. VERSION: TLS1_2_VERSION, TLS1_3_VERSION, 0: both. */
SSL_CTX *handshake_client(int version, const char *signatures);

#endif
