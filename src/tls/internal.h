// SPDX-License-Identifier: ISC
/* tls/internal.h - shared by the files of this folder. */
#ifndef TLS_INTERNAL_H
#define TLS_INTERNAL_H

#include "base/arena.h"
#include "base/buffer.h"
#include "tls/connection.h"
#include "tls/context.h"
#include "tls/signer.h"
#include <openssl/ssl.h>

struct tls_identity;

enum { TLS_PROTOCOL_SIZE = 256 }; /* a length byte, and the name; 0: none */

struct tls_context {
	SSL_CTX *openssl;
	struct tls_identity *identity; /* tls_identity_open(); else NULL */
	enum tls_side side;
	unsigned char protocol[TLS_PROTOCOL_SIZE];
};

/* OpenSSL keeps its errors in a queue of the thread: one left there would be taken for an error of
 * the next call. Each of our functions starts and ends with an empty queue. */
void tls_errors_clear(void);
/* Appends the errors in the queue as text, and empties it. Appends nothing if it is empty. */
void tls_errors_take(struct buffer *out);
/* Appends WHAT, and the errors in the queue, which it empties. -EINVAL. */
MUST_CHECK int tls_errors_refuse(const char *what, struct buffer *reason);
/* For PEM files: nobody could enter a passphrase. */
int tls_deny_passphrase(char *text, int size, int is_new, void *context);

/* Has OPENSSL trust the certificates in the file PATH. Errors as of tls_authorities_open(). */
MUST_CHECK int tls_files_read_authorities(SSL_CTX *openssl, const char *path,
					  struct buffer *reason);

/* A BIO's socket, used by os_socket_read() and os_socket_write(): no signal if the peer has
 * closed. */
struct tls_socket {
	const SSL *openssl;
	int descriptor;
	bool has_more; /* follows what is being written at once: os_socket_write_part() */
	int error;     /* the last -errno except -EAGAIN */
	bool has_ended;
	struct buffer early; /* read before TLS began: comes first */
};
/* SOCKET must outlive the BIO. */
BIO *tls_socket_bio(struct tls_socket *socket);

struct tls_connection;
/* Takes over OPENSSL, which has its rules, and SOCKET. IDENTITY: whose signer signs; NULL: no
 * signer does. */
struct tls_connection *tls_connection_wrap(SSL *openssl, struct tls_identity *identity,
					   enum tls_side side, int socket);
SSL *tls_connection_openssl(const struct tls_connection *connection);

/* As tls_connection_fingerprints(), of CERTIFICATE. */
bool tls_certificate_fingerprints(X509 *certificate, char certificate_out[TLS_FINGERPRINT_SIZE],
				  char key_out[TLS_FINGERPRINT_SIZE]);

/* Lets contexts speak PROTOCOL (ALPN) alone; NULL: whatever they like. KEPT must live as long as
 * OPENSSL and its connections. */
void tls_context_set_protocol(SSL_CTX *openssl, enum tls_side side, const char *protocol,
			      unsigned char kept[TLS_PROTOCOL_SIZE]);

/* What tls/context.h says of all contexts. */
void tls_context_set_rules(SSL_CTX *openssl);
/* After these: STRENGTH, in OPENSSL and all connections that are made of it. */
void tls_context_set_strength(SSL_CTX *openssl, const struct tls_strength *strength);
/* Whether the common name counts where there is no DNS name among the alternative ones. */
enum tls_common_name {
	TLS_COMMON_NAME_NEVER, /* RFC 9525 section 2, RFC 8461 section 4.2 */
	TLS_COMMON_NAME_ELSE,  /* RFC 6125 section 6.4.4, as with DANE (RFC 7672 section 3.1.2) */
};

/* A server's names are the alternative ones of its certificate, and a '*' in them is a whole
 * label. */
void tls_rules_set_names(X509_VERIFY_PARAM *rules, enum tls_common_name common_name);

/* An identity lives as long as its context or a connection. NULL is allowed. */
struct tls_identity *tls_identity_hold(struct tls_identity *identity);
void tls_identity_release(struct tls_identity *identity);

/* A handshake that may have to wait for a signer (tls/signer.h), or for its turn to ask one. */
struct tls_job {
	void (*resume)(void *context); /* tls_connection_on_resume() */
	void *context;
	struct tls_signing *signing; /* that it waits for, or whose answer it has; or NULL */
	bool is_queued;
	bool is_over;    /* to be freed: no signature any more */
	bool has_failed; /* there was no signature */
	struct tls_job *prev;
	struct tls_job *next;
};

/* SSL_do_handshake(), to be called only if the job is not waiting. If it waits then, RESUME will be
 * called when it does not any more. */
int tls_job_handshake(struct tls_job *job, SSL *openssl);
bool tls_job_is_waiting(const struct tls_job *job);
/* Before SSL_free(): gives up a signature, and ends the job that waits for it. */
void tls_job_end(struct tls_job *job, SSL *openssl);

/* What KEY is, and its identifier: 0; or -EINVAL, "its key is ..." appended to REASON. */
MUST_CHECK int tls_key_identify(EVP_PKEY *key, enum tls_key_kind *kind_out,
				uint8_t id_out[TLS_KEY_ID_SIZE], struct buffer *reason);

/* The properties by which everything but the keys of signers is fetched in a library context with
 * our provider (tls/provider/internal.h). */
#define TLS_PROPERTIES "?provider=default"

struct tls_chain_limits {
	size_t size;
	int count;
};

/* Reads the certificates of PEM, at least one, for LIBRARY: 0; or -EINVAL with a REASON. */
MUST_CHECK int tls_chain_parse(struct str pem, struct tls_chain_limits limits,
			       OSSL_LIB_CTX *library, STACK_OF(X509) * *chain_out,
			       struct buffer *reason);
/* Those of the public headers. */
extern const struct tls_chain_limits tls_chain_limits;

/* The names of CERTIFICATE, in ARENA; see tls_connection_names(). */
const char *const *tls_names_read(const X509 *certificate, struct arena *arena, size_t *count_out);
/* Those alone that count for a server: the alternative names. */
const char *const *tls_names_of_server(const X509 *certificate, struct arena *arena,
				       size_t *count_out);
/* The first e-mail address in it; NULL: none. */
const char *tls_names_email(const X509 *certificate, struct arena *arena);

#endif
