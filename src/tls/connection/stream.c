// SPDX-License-Identifier: ISC
#include "tls/stream.h"
#include "os/loop.h"

ssize_t tls_stream_read(struct tls_stream *stream, void *data, size_t size)
{
	return stream->tls != NULL ? tls_connection_read(stream->tls, data, size)
				   : os_socket_read(stream->socket, data, size);
}

ssize_t tls_stream_write(struct tls_stream *stream, const void *data, size_t size)
{
	return stream->tls != NULL ? tls_connection_write(stream->tls, data, size)
				   : os_socket_write(stream->socket, data, size);
}

ssize_t tls_stream_write_part(struct tls_stream *stream, const void *data, size_t size)
{
	return stream->tls != NULL ? tls_connection_write_part(stream->tls, data, size)
				   : os_socket_write_part(stream->socket, data, size);
}

bool tls_stream_has_pending(const struct tls_stream *stream)
{
	return stream->tls != NULL && tls_connection_has_pending(stream->tls);
}

/* TLS may have to write to read, and the other way round; so its own wishes count, but not to read
 * what nobody would take. */
unsigned tls_stream_events(const struct tls_stream *stream, unsigned wanted)
{
	unsigned events;

	if (stream->tls == NULL)
		return wanted;
	events = tls_connection_wants(stream->tls, (wanted & OS_WATCH_WRITE) != 0);
	if (wanted == OS_WATCH_NONE)
		events = OS_WATCH_NONE;
	else if ((wanted & OS_WATCH_READ) == 0)
		events = tls_connection_write_wants(stream->tls);
	return events;
}

void tls_stream_close(struct tls_stream *stream, bool politely)
{
	if (stream->tls != NULL)
		tls_connection_free(stream->tls);
	else if (politely)
		os_socket_close_politely(stream->socket);
	else
		os_socket_close(stream->socket);
	stream->tls = NULL;
	stream->socket = -1;
}
