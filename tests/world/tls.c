// SPDX-License-Identifier: ISC
/* Connections of tls_internal.h: records, the handshake, and data. */
#include "base/panic.h"
#include "os/loop.h"
#include "os/socket/socket.h"
#include "tls_internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { HELLO = 'h', DATA = 'd', REFUSAL = 'r', END = 'e' };

/* --- records --- */

static int fail(struct tls_connection *connection, int error, const char *reason)
{
	connection->error = error;
	connection->reason = reason;
	return error;
}

/* 0: all of OUT is sent. */
static int flush(struct tls_connection *connection)
{
	while (connection->out_sent < connection->out_size) {
		ssize_t count =
			os_socket_write(connection->socket, connection->out + connection->out_sent,
					connection->out_size - connection->out_sent);

		if (count == -EAGAIN)
			return -EAGAIN;
		if (count < 0)
			return fail(connection, (int)count, strerror((int)-count));
		connection->out_sent += (size_t)count;
	}
	connection->out_size = 0;
	connection->out_sent = 0;
	return 0;
}

/* OUT is empty. */
static void put_record(struct tls_connection *connection, char type, const void *data, size_t size)
{
	connection->out[0] = type;
	connection->out[1] = (char)(size >> 8);
	connection->out[2] = (char)(size & 0xff);
	memcpy(connection->out + HEAD, data, size);
	connection->out_size = HEAD + size;
}

size_t tls_connection_content_size(const struct tls_connection *connection)
{
	return (size_t)(unsigned char)connection->in[1] << 8 | (unsigned char)connection->in[2];
}

/* 0: IN has a record. */
static int fill(struct tls_connection *connection)
{
	for (;;) {
		size_t wanted = HEAD;
		ssize_t count;

		if (connection->in_size >= HEAD)
			wanted += tls_connection_content_size(connection);
		if (wanted > sizeof connection->in)
			return fail(connection, -EPROTO, "a record is too long");
		if (connection->in_size == wanted && wanted >= HEAD &&
		    (connection->in_size > HEAD || tls_connection_content_size(connection) == 0))
			return 0;
		count = os_socket_read(connection->socket, connection->in + connection->in_size,
				       wanted - connection->in_size);
		if (count == -EAGAIN)
			return -EAGAIN;
		if (count == 0)
			return fail(connection, -ECONNRESET, "the peer has closed the connection");
		if (count < 0)
			return fail(connection, (int)count, strerror((int)-count));
		connection->in_size += (size_t)count;
	}
}

static void take_record(struct tls_connection *connection)
{
	connection->in_size = 0;
	connection->in_read = 0;
}

/* --- the handshake --- */

struct tls_connection *tls_connection_new(const struct tls_context *context, int socket,
					  const char *name)
{
	struct tls_connection *connection = memory_alloc_zero(1, sizeof *connection);
	char hello[4 * NAME_SIZE];
	int size = snprintf(hello, sizeof hello, "%s %s %s",
			    *context->name != '\0' ? context->name : "-",
			    *context->signed_by != '\0' ? context->signed_by : "-",
			    *context->protocol != '\0' ? context->protocol : "-");

	connection->context = *context;
	connection->socket = socket;
	connection->reason = "";
	snprintf(connection->wanted, NAME_SIZE, "%s", name != NULL ? name : "");
	put_record(connection, HELLO, hello, (size_t)size);
	return connection;
}

/* One that is not sent at once is not sent. */
static void send_last(struct tls_connection *connection, char type)
{
	if (flush(connection) < 0)
		return;
	put_record(connection, type, "", 0);
	(void)flush(connection);
}

void tls_connection_free(struct tls_connection *connection)
{
	if (connection == NULL)
		return;
	if (connection->error == 0)
		send_last(connection, END);
	os_socket_close(connection->socket);
	free(connection);
}

/* The world's clients verify by authorities, or not at all. */
static bool is_verified(const struct tls_connection *connection, const char *signed_by)
{
	const char *authority = connection->context.authority;

	if (connection->authority != NULL)
		authority = connection->authority;
	return *authority == '\0' || strcmp(signed_by, authority) == 0;
}

static int check_hello(struct tls_connection *connection)
{
	const struct tls_context *context = &connection->context;
	char text[4 * NAME_SIZE];
	char signed_by[NAME_SIZE] = "";
	char protocol[NAME_SIZE] = "";

	snprintf(text, sizeof text, "%.*s", (int)tls_connection_content_size(connection),
		 connection->in + HEAD);
	if (connection->in[0] != HELLO ||
	    sscanf(text, "%63s %63s %63s", connection->peer, signed_by, protocol) != 3)
		return fail(connection, -EPROTO, "no TLS");
	connection->has_protocol = strcmp(protocol, context->protocol) == 0;
	if (!is_verified(connection, signed_by)) {
		send_last(connection, REFUSAL);
		return fail(connection, -EACCES, "unable to get local issuer certificate");
	}
	if (*connection->wanted != '\0' && strcasecmp(connection->wanted, connection->peer) != 0) {
		send_last(connection, REFUSAL);
		return fail(connection, -EACCES, "hostname mismatch");
	}
	connection->is_shaken = true;
	if (*context->authority != '\0')
		connection->names[0] = connection->peer;
	take_record(connection);
	return 0;
}

int tls_connection_handshake(struct tls_connection *connection)
{
	int error;

	if (connection->error < 0)
		return connection->error;
	error = flush(connection);
	if (error < 0 || connection->is_shaken)
		return error;
	error = fill(connection);
	return error < 0 ? error : check_hello(connection);
}

/* --- data --- */

/* 1: IN has data; 0: the peer has ended. */
static int next_data(struct tls_connection *connection)
{
	int error =
		connection->is_shaken ? connection->error : tls_connection_handshake(connection);

	while (error == 0 && !connection->has_ended) {
		error = fill(connection);
		if (error < 0)
			return error;
		if (connection->in[0] == REFUSAL)
			return fail(connection, -EACCES, "the peer rejects our certificate");
		if (connection->in[0] == END)
			connection->has_ended = true;
		else if (connection->in[0] != DATA)
			return fail(connection, -EPROTO, "an unknown record");
		else if (connection->in_read < tls_connection_content_size(connection))
			return 1;
		else
			take_record(connection);
	}
	return error;
}

int tls_connection_peek(struct tls_connection *connection)
{
	return next_data(connection);
}

ssize_t tls_connection_read(struct tls_connection *connection, void *data, size_t size)
{
	int result = next_data(connection);
	size_t left;

	if (result <= 0)
		return result;
	left = tls_connection_content_size(connection) - connection->in_read;
	if (size > left)
		size = left;
	memcpy(data, connection->in + HEAD + connection->in_read, size);
	connection->in_read += size;
	return (ssize_t)size;
}

/* As OpenSSL: what is in a record is reported once all of it is sent. */
ssize_t tls_connection_write(struct tls_connection *connection, const void *data, size_t size)
{
	int error = tls_connection_handshake(connection);
	size_t count;

	if (error < 0)
		return error;
	if (connection->promised == 0 && size > 0) {
		connection->promised = size < RECORD_MAX ? size : RECORD_MAX;
		put_record(connection, DATA, data, connection->promised);
		error = flush(connection);
	}
	if (error < 0)
		return error;
	count = connection->promised;
	connection->promised = 0;
	return (ssize_t)count;
}

ssize_t tls_connection_write_part(struct tls_connection *connection, const void *data, size_t size)
{
	return tls_connection_write(connection, data, size);
}

int tls_connection_close_notify(struct tls_connection *connection)
{
	int error = tls_connection_handshake(connection);

	if (error < 0)
		return error;
	put_record(connection, END, "", 0);
	return flush(connection);
}
