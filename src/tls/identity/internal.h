// SPDX-License-Identifier: ISC
/* tls/identity/internal.h - shared by the files that make a server's identity. */
#ifndef TLS_IDENTITY_INTERNAL_H
#define TLS_IDENTITY_INTERNAL_H

#include "tls/identity.h"
#include "tls/provider/internal.h"

struct tls_name;
struct tls_choice;

/* A certificate whose private key the signer has. */
struct tls_certified {
	STACK_OF(X509) * chain; /* the intermediate ones */
	X509 *certificate;
	EVP_PKEY *key;
	enum tls_key_kind kind;
};

struct tls_clients { /* what clients are asked for */
	bool are_asked;
	X509_STORE *authorities;
	STACK_OF(X509_NAME) * names;
};

struct tls_tickets {
	OSSL_LIB_CTX *library;
	EVP_CIPHER *cipher;
	struct tls_ticket_key keys[TLS_TICKET_KEYS_MAX];
	size_t count;
};

struct tls_identity {
	size_t users; /* its context, and the connections */
	struct tls_library library;
	struct tls_certified *certificates;
	size_t count;
	struct tls_clients clients;
	struct tls_strength strength; /* its own copy */
	struct tls_tickets tickets;
	unsigned char session_context[TLS_KEY_ID_SIZE];
	unsigned char protocol[TLS_PROTOCOL_SIZE]; /* of tls/mutual.h */
	struct tls_name *names;                    /* a table by name */
	struct tls_choice *choices;                /* a table by what they offer */
};

/* Which certificates are offered together: their indexes, by enum tls_key_kind; -1: none. */
struct tls_offer {
	int by_kind[TLS_KEY_KINDS + 1];
};

/* An identity with the certificates of SETTINGS and nothing else: 0; or -EINVAL with a REASON. */
MUST_CHECK int tls_identity_read(const struct tls_identity_settings *settings,
				 struct tls_identity **identity_out, struct buffer *reason);
/* Those that signers know. */
void tls_identity_set_signatures(SSL_CTX *openssl);
/* Presents CERTIFIED, of the identity whose library OPENSSL has. */
void tls_identity_use(SSL_CTX *openssl, const struct tls_certified *certified);

/* An SSL_CTX with the rules of IDENTITY, which offers OFFER. */
SSL_CTX *tls_offer_new_context(struct tls_identity *identity, const struct tls_offer *offer);

/* Makes the tables of IDENTITY, whose certificates are read, and returns the SSL_CTX of the
 * default, which chooses another one by the name that a client asks for. */
SSL_CTX *tls_choices_make(struct tls_identity *identity,
			  const struct tls_identity_settings *settings);
void tls_choices_free(struct tls_identity *identity);

/* 0; or -EINVAL with a REASON. */
MUST_CHECK int tls_clients_read(struct tls_clients *clients,
				const struct tls_identity_settings *settings, OSSL_LIB_CTX *library,
				struct buffer *reason);
void tls_clients_apply(const struct tls_clients *clients, SSL_CTX *openssl);
/* What is verified must be, or the handshake fails; also of servers. */
void tls_clients_demand(const struct tls_clients *clients, SSL_CTX *openssl);
void tls_clients_free(struct tls_clients *clients);

void tls_tickets_read(struct tls_tickets *tickets, const struct tls_identity_settings *settings,
		      OSSL_LIB_CTX *library);
/* TICKETS must outlive OPENSSL and its connections. */
void tls_tickets_apply(struct tls_tickets *tickets, SSL_CTX *openssl);
void tls_tickets_free(struct tls_tickets *tickets);

#endif
