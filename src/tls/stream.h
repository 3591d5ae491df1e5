// SPDX-License-Identifier: ISC
/*
 * tls/stream.h - the bytes of a connection, with or without TLS beneath them: what drives a
 * protocol's engine reads and writes here and does not care.
 *
 * A plain value: the owner of the socket has one, and puts a connection into it when TLS begins.
 */
#ifndef TLS_STREAM_H
#define TLS_STREAM_H

#include "os/socket/socket.h"
#include "tls/connection.h"

struct tls_stream {
	int socket;
	struct tls_connection *tls; /* NULL: none; else it owns the socket */
};

/* As os_socket_read() and os_socket_write(). With TLS also -ECONNRESET at an end without
 * close_notify, which is no end of anything, and -EACCES, -EPROTO: tls_connection_reason(). */
MUST_CHECK ssize_t tls_stream_read(struct tls_stream *stream, void *data, size_t size);
MUST_CHECK ssize_t tls_stream_write(struct tls_stream *stream, const void *data, size_t size);
/* The same of what more follows at once, or the end: os_socket_write_part(). */
MUST_CHECK ssize_t tls_stream_write_part(struct tls_stream *stream, const void *data, size_t size);
/* Whether a read would return something that poll does not report. */
bool tls_stream_has_pending(const struct tls_stream *stream);
/* What to wait for (enum os_watch_events) to read (WANTED has OS_WATCH_READ) or write. */
unsigned tls_stream_events(const struct tls_stream *stream, unsigned wanted);
/* Closes the socket; POLITELY as os_socket_close_politely(). */
void tls_stream_close(struct tls_stream *stream, bool politely);

#endif
