// SPDX-License-Identifier: ISC
/*
 * tls/client.h - TLS as a client of many servers: what each connection verifies, and sessions that
 * are resumed (RFC 5077, RFC 8446 section 2.2).
 *
 * The connections are those of tls/connection.h. A handshake is done only if the server is what was
 * asked for; otherwise it fails with -EACCES.
 */
#ifndef TLS_CLIENT_H
#define TLS_CLIENT_H

#include "base/buffer.h"
#include "tls/connection.h"
#include "tls/signer.h"

/* Trusted authorities. Immutable. */
struct tls_authorities;

/* Reads the certificates in FILE (PEM). 0; or -errno, with "FILE: why" in REASON: -ENOENT, -EACCES,
 * -EINVAL for invalid contents. */
MUST_CHECK int tls_authorities_open(const char *file, struct tls_authorities **authorities_out,
				    struct buffer *reason);
/* Connections that use it must have been freed. NULL is allowed. */
void tls_authorities_free(struct tls_authorities *authorities);

/* A TLSA record (RFC 6698 section 2.1). */
struct tls_tlsa {
	uint8_t usage;
	uint8_t selector;
	uint8_t matching;
	struct str data;
};

/* Whether SMTP can use it: usage 2 or 3, a known selector and matching type, and data in its form
 * (RFC 7672 section 3.1). */
bool tls_tlsa_is_usable(const struct tls_tlsa *record);

enum tls_verify_by {
	TLS_VERIFY_NOTHING,      /* any certificate */
	TLS_VERIFY_AUTHORITIES,  /* signed by one of AUTHORITIES, for one of NAMES */
	TLS_VERIFY_FINGERPRINTS, /* one of FINGERPRINTS; names and dates do not matter */
	/* One of RECORDS (RFC 7671): with usage 3 names and dates do not matter; with usage 2 it
	 * must be for one of NAMES. */
	TLS_VERIFY_TLSA,
};

struct tls_verify {
	enum tls_verify_by by;
	const struct tls_authorities *authorities; /* must outlive the connection */
	/* "NAME", ".NAME" for any name below it, or one literal address alone; with TLSA the first
	 * is the base domain. At least one. They are looked for among the certificate's alternative
	 * names; its common name counts with TLSA alone, where there is no DNS name among these. */
	const char *const *names;
	size_t name_count;
	const char *const *fingerprints; /* SHA-256 of the certificate or the public key: 64
					  * hexadecimal digits */
	size_t fingerprint_count;
	const struct tls_tlsa *records; /* those that are not usable are ignored */
	size_t record_count;
	/* With AUTHORITIES: a certificate that is not valid is accepted, and known by
	 * tls_connection_flaw(). */
	bool is_tried;
};

/* How a connection was verified. */
enum tls_verified {
	TLS_VERIFIED_NOT,
	TLS_VERIFIED_AUTHORITY,
	TLS_VERIFIED_FINGERPRINT,
	TLS_VERIFIED_DANE_TA,
	TLS_VERIFIED_DANE_EE,
};

/* For logs: "no", "authority", "fingerprint", "dane-ta", "dane-ee". */
const char *tls_verified_name(enum tls_verified verified);

/* What the client connections of a process share: the rules, and a bounded cache of sessions. */
struct tls_client;

/* Has OpenSSL read its configuration, before a sandbox is entered that forbids that. */
void tls_client_prepare(void);

/* Costs nothing before the first connection. */
struct tls_client *tls_client_new(void);
/* Its connections must have been freed. NULL is allowed. */
void tls_client_free(struct tls_client *client);
/* Forgets all sessions. */
void tls_client_forget(struct tls_client *client);

/* A certificate of ours that servers may ask for; its private key is a signer's. */
struct tls_client_certificate;

/* CHAIN: PEM, the certificate, then the intermediate ones. SIGNER must outlive it and its
 * connections. 0; or -EINVAL with a REASON. */
MUST_CHECK int tls_client_certificate_open(struct str chain, const struct tls_signer *signer,
					   struct tls_client_certificate **certificate_out,
					   struct buffer *reason);
/* Connections with it may go on; none may be begun. NULL is allowed. */
void tls_client_certificate_free(struct tls_client_certificate *certificate);

struct tls_client_request {
	const char *host; /* sent as SNI, unless it is a literal address */
	/* "192.0.2.7:25": a session is resumed only with the same peer, and if all the rest of the
	 * request is the same. NULL: sessions are neither kept nor resumed. */
	const char *peer;
	struct tls_verify verify;
	struct tls_strength strength;
	/* NULL: none. The handshake then may wait for the signer (tls_connection_on_resume()). */
	const struct tls_client_certificate *certificate;
};

/* Wraps SOCKET, which is connected, and owns it from now on. REQUEST is copied. */
struct tls_connection *tls_client_connect(struct tls_client *client, int socket,
					  const struct tls_client_request *request);

/* What is wrong with the server's certificate. */
enum tls_flaw {
	TLS_FLAW_NONE,
	TLS_FLAW_NAME,      /* it is for others */
	TLS_FLAW_EXPIRED,   /* or not valid yet */
	TLS_FLAW_UNTRUSTED, /* no authority has signed it */
	TLS_FLAW_OTHER,
};

/* After the handshake, or its failure; NONE, too, if nothing was verified. */
enum tls_flaw tls_connection_flaw(const struct tls_connection *connection);

/* After the handshake, of such a connection. */
enum tls_verified tls_connection_verified(const struct tls_connection *connection);
/* Whether it continues an earlier session, whose verification counts. */
bool tls_connection_is_resumed(const struct tls_connection *connection);

/* For a library that makes connections of its own with OPENSSL, an SSL_CTX, and verifies: the
 * certificate must have HOST among its alternative names. */
void tls_client_expect_host(void *openssl, const char *host);

#endif
