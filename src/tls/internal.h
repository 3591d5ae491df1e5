// SPDX-License-Identifier: ISC
/* tls/internal.h - shared by the files of this folder. */
#ifndef TLS_INTERNAL_H
#define TLS_INTERNAL_H

#include "base/arena.h"
#include "tls/connection.h"
#include "tls/context.h"
#include <openssl/ssl.h>

struct tls_context {
	SSL_CTX *openssl;
	enum tls_side side;
	bool has_authority;
	unsigned char protocol[256]; /* a length byte, and the name; 0: none */
};

/* OpenSSL keeps its errors in a queue of the thread: one left there would be taken for an error of
 * the next call. Each of our functions starts and ends with an empty queue. */
void tls_errors_clear(void);
/* Appends the errors in the queue as text, and empties it. Appends nothing if it is empty. */
void tls_errors_take(struct buffer *out);

/* Reads the files of SETTINGS into CONTEXT. Errors as of tls_context_open(). */
MUST_CHECK int tls_files_read(struct tls_context *context, const struct tls_settings *settings,
			      struct buffer *reason);

/* A BIO's socket, used by os_socket_read() and os_socket_write(): no signal if the peer has
 * closed. */
struct tls_socket {
	int descriptor;
	int error; /* the last -errno except -EAGAIN */
	bool has_ended;
	struct buffer early; /* read before TLS began: comes first */
};
/* SOCKET must outlive the BIO. */
BIO *tls_socket_bio(struct tls_socket *socket);

struct tls_connection;
/* Takes over OPENSSL, which has its rules, and SOCKET. */
struct tls_connection *tls_connection_wrap(SSL *openssl, enum tls_side side, int socket);
SSL *tls_connection_openssl(const struct tls_connection *connection);

/* As tls_connection_fingerprints(), of CERTIFICATE. */
bool tls_certificate_fingerprints(X509 *certificate, char certificate_out[TLS_FINGERPRINT_SIZE],
				  char key_out[TLS_FINGERPRINT_SIZE]);

/* The names of CERTIFICATE, in ARENA; see tls_connection_names(). */
const char *const *tls_names_read(const X509 *certificate, struct arena *arena, size_t *count_out);

#endif
