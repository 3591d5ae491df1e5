// SPDX-License-Identifier: ISC
/* tls/internal.h - between the files of this folder. */
#ifndef TLS_INTERNAL_H
#define TLS_INTERNAL_H

#include "base/arena.h"
#include "tls/context.h"
#include <openssl/ssl.h>

struct tls_context {
	SSL_CTX *openssl;
	enum tls_side side;
	bool has_authority;
	unsigned char protocol[256]; /* a length byte, and the name; 0: none */
};

/* OpenSSL keeps its errors in a queue of the thread: what is left there would be taken
 * for an error of the next call. Each of ours begins with an empty one and leaves one. */
void tls_errors_clear(void);
/* Appends what the queue holds as text, and empties it. "" when it holds nothing. */
void tls_errors_take(struct buffer *out);

/* Reads what SETTINGS name into CONTEXT. As tls_context_open(). */
MUST_CHECK int tls_files_read(struct tls_context *context, const struct tls_settings *settings,
			      struct buffer *reason);

/* The socket's bytes, by os_socket_read() and os_socket_write(): no signal when the peer
 * is gone. */
struct tls_socket {
	int descriptor;
	int error; /* the last -errno but -EAGAIN */
	bool has_ended;
};
/* SOCKET outlives the BIO. */
BIO *tls_socket_bio(struct tls_socket *socket);

/* The names of CERTIFICATE, in ARENA; see tls_connection_names(). */
const char *const *tls_names_read(const X509 *certificate, struct arena *arena, size_t *count_out);

#endif
