// SPDX-License-Identifier: ISC
#include "directory/wire/transport.h"
#include "base/panic.h"
#include "os/loop.h"
#include "os/socket/socket.h"
#include <stdlib.h>

struct plain {
	int socket;
};

static ssize_t plain_read(void *state, void *data, size_t size)
{
	const struct plain *plain = state;

	return os_socket_read(plain->socket, data, size);
}

static ssize_t plain_write(void *state, const void *data, size_t size)
{
	const struct plain *plain = state;

	return os_socket_write(plain->socket, data, size);
}

static void plain_close(void *state)
{
	struct plain *plain = state;

	os_socket_close_politely(plain->socket);
	free(plain);
}

static unsigned plain_wants(void *state, bool has_output)
{
	(void)state;
	return has_output ? OS_WATCH_READ | OS_WATCH_WRITE : OS_WATCH_READ;
}

void directory_transport_plain(int socket, struct directory_transport *transport_out)
{
	struct plain *plain = memory_alloc(sizeof *plain);

	plain->socket = socket;
	*transport_out = (struct directory_transport){
		.read = plain_read,
		.write = plain_write,
		.close = plain_close,
		.wants = plain_wants,
		.descriptor = socket,
		.state = plain,
	};
}
