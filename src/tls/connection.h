// SPDX-License-Identifier: ISC
/*
 * tls/connection.h - TLS over a socket that does not block.
 *
 * Nothing here waits or has a timer: whoever owns the connection gives it up when its
 * peer is too slow. Every failure is final, and told as text by tls_connection_reason().
 */
#ifndef TLS_CONNECTION_H
#define TLS_CONNECTION_H

#include "tls/context.h"
#include <sys/types.h>

struct tls_connection;

enum {
	TLS_NAMES_MAX = 100, /* of a certificate; others are not seen */
};

/* Over SOCKET, which is connected, and owned from now on. NAME, for clients: whose certificate
 * the server has to show, a host name or the literal of an address (RFC 6125; a wildcard
 * stands for a whole label). NULL: any that an authority stands for; and for servers. */
struct tls_connection *tls_connection_new(const struct tls_context *context, int socket,
					  const char *name);
/* Says close_notify, if that can be said at once, and closes the socket. NULL is allowed. */
void tls_connection_free(struct tls_connection *connection);

/* 0: both sides know who the other is (but see tls_connection_read()); -EAGAIN: see
 * tls_connection_wants(); -EACCES: one of them is not whom the other wants; -ECONNRESET: the
 * other has closed; -EPROTO: what came is not TLS, or not ours; another -errno of the socket. */
MUST_CHECK int tls_connection_handshake(struct tls_connection *connection);

/* As os_socket_read(): 0 after close_notify. The end of a connection without it is
 * -ECONNRESET, so nobody can cut off what was said unnoticed. By TLS 1.3 a client reads here
 * that the server does not take its certificate: -EACCES. When SIZE bytes were read,
 * there may be more that the socket does not tell of. */
MUST_CHECK ssize_t tls_connection_read(struct tls_connection *connection, void *data, size_t size);
/* 1 when there is something to read; else as tls_connection_read(), which reads that next. */
MUST_CHECK int tls_connection_peek(struct tls_connection *connection);
/* As os_socket_write(). After -EAGAIN the same bytes have to be written first, from wherever
 * they are by then, and as many or more. */
MUST_CHECK ssize_t tls_connection_write(struct tls_connection *connection, const void *data,
					size_t size);
/* Says that nothing more will be written (RFC 8446 section 6.1): 0, or as write. */
MUST_CHECK int tls_connection_close_notify(struct tls_connection *connection);

/* Events (enum os_watch_events) to wait for after -EAGAIN: of the handshake until that is done;
 * then of reading, and of writing if there HAS_OUTPUT. */
unsigned tls_connection_wants(const struct tls_connection *connection, bool has_output);
int tls_connection_socket(const struct tls_connection *connection);
/* Why it has failed, in words: "certificate has expired". "" while it has not. */
const char *tls_connection_reason(const struct tls_connection *connection);

/* After the handshake. The names of the peer's certificate: of the subjectAltName those
 * that are DNS; or, where it has none, the common name (RFC 6125 section 6.4.4). NULL
 * names when it showed none, or nobody had to stand for it. */
const char *const *tls_connection_names(const struct tls_connection *connection, size_t *count_out);
/* Whether NAME is one of these, letter by letter but for case: no wildcards. */
bool tls_connection_has_name(const struct tls_connection *connection, const char *name);
/* "TLSv1.3" and "TLS_AES_256_GCM_SHA384" */
const char *tls_connection_version(const struct tls_connection *connection);
const char *tls_connection_cipher(const struct tls_connection *connection);
/* Whether both have agreed on the protocol of the settings. */
bool tls_connection_has_protocol(const struct tls_connection *connection);

#endif
