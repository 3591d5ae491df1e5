// SPDX-License-Identifier: ISC
#include "directory/wire/transport_tls.h"

static ssize_t read_tls(void *state, void *data, size_t size)
{
	return tls_connection_read(state, data, size);
}

static ssize_t write_tls(void *state, const void *data, size_t size)
{
	return tls_connection_write(state, data, size);
}

static void close_tls(void *state)
{
	tls_connection_free(state);
}

static unsigned events_wanted_by_tls(void *state, bool has_output)
{
	return tls_connection_wants(state, has_output);
}

void directory_transport_tls(struct tls_connection *connection,
			     struct directory_transport *transport_out)
{
	*transport_out = (struct directory_transport){
		.read = read_tls,
		.write = write_tls,
		.close = close_tls,
		.wants = events_wanted_by_tls,
		.descriptor = tls_connection_socket(connection),
		.state = connection,
	};
}
