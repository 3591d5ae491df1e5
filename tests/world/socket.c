// SPDX-License-Identifier: ISC
/* os/socket/socket.h of connections. */
#include "os/socket/socket.h"
#include "endpoint.h"
#include <errno.h>
#include <string.h>

static struct endpoint *find(int socket)
{
	return (void *)table_of_kind(socket, &endpoint_description);
}

void os_socket_keep_alive(int socket)
{
	(void)socket;
}

int os_socket_error(int socket)
{
	struct endpoint *endpoint = find(socket);
	int error;

	if (endpoint == NULL)
		return -EBADF;
	error = endpoint->error;
	endpoint->error = 0;
	return error;
}

uint64_t os_socket_received(int socket)
{
	const struct endpoint *endpoint = find(socket);

	return endpoint != NULL && endpoint->is_tcp ? endpoint->received : 0;
}

int os_socket_local_address(int socket, union os_socket_address *out)
{
	const struct endpoint *endpoint = find(socket);

	if (endpoint == NULL)
		return -EBADF;
	*out = endpoint->local;
	return 0;
}

int os_socket_wait(int socket, bool for_writing, int64_t timeout_us)
{
	return table_wait(socket, for_writing ? OS_WATCH_WRITE : OS_WATCH_READ,
			  timeout_us > 0 ? timeout_us : 0);
}

ssize_t os_socket_read(int socket, void *data, size_t size)
{
	struct endpoint *endpoint = find(socket);

	return endpoint == NULL ? -EBADF : endpoint_read(endpoint, data, size);
}

ssize_t os_socket_write(int socket, const void *data, size_t size)
{
	struct endpoint *endpoint = find(socket);

	return endpoint == NULL ? -EBADF : endpoint_send(endpoint, data, size, NULL, 0);
}

ssize_t os_socket_write_part(int socket, const void *data, size_t size)
{
	return os_socket_write(socket, data, size);
}

void os_socket_close(int socket)
{
	if (socket >= 0)
		(void)table_close(socket);
}

void os_socket_close_politely(int socket)
{
	struct endpoint *endpoint = find(socket);
	char unread[4096];

	if (endpoint != NULL && endpoint->can_write) {
		endpoint_send_end(endpoint, 0);
		while (endpoint_read(endpoint, unread, sizeof unread) > 0)
			;
	}
	os_socket_close(socket);
}

uid_t os_socket_peer_user(int socket)
{
	const struct endpoint *endpoint = find(socket);

	return endpoint != NULL ? endpoint->peer_user : (uid_t)-1;
}

/* --- packets --- */

ssize_t os_socket_send(int socket, const void *data, size_t size, const int *descriptors,
		       size_t descriptor_count)
{
	struct description *descriptions[OS_SOCKET_DESCRIPTORS];
	struct endpoint *endpoint = find(socket);

	if (endpoint == NULL)
		return -EBADF;
	if (descriptor_count > OS_SOCKET_DESCRIPTORS)
		return -EINVAL;
	for (size_t i = 0; i < descriptor_count; i++) {
		descriptions[i] = table_find(descriptors[i]);
		if (descriptions[i] == NULL)
			return -EBADF;
	}
	return endpoint_send(endpoint, data, size, descriptions, descriptor_count);
}

/* What does not fit the table is lost, as in the kernel. */
static void take_descriptors(struct segment *segment, int *descriptors, size_t *count)
{
	bool has_room = true;

	for (size_t i = 0; i < segment->description_count; i++) {
		int descriptor = -EMFILE;

		if (has_room)
			descriptor = table_add(segment->descriptions[i]);
		else
			description_drop(segment->descriptions[i]);
		has_room = descriptor >= 0;
		if (has_room)
			descriptors[(*count)++] = descriptor;
	}
	segment->description_count = 0;
}

ssize_t os_socket_receive(int socket, void *data, size_t size, int *descriptors,
			  size_t *descriptor_count)
{
	struct endpoint *endpoint = find(socket);
	struct segment *segment;
	ssize_t count;

	*descriptor_count = 0;
	if (endpoint == NULL)
		return -EBADF;
	segment = endpoint_arrived(endpoint);
	if (segment == NULL || segment->is_end)
		return endpoint_read(endpoint, data, size);
	(void)endpoint_take(endpoint);
	count = (ssize_t)segment->size;
	if (segment->size > size) {
		count = -EMSGSIZE;
	} else {
		memcpy(data, segment->data, segment->size);
		take_descriptors(segment, descriptors, descriptor_count);
	}
	segment_free(segment);
	return count;
}

ssize_t os_socket_receive_from(int socket, void *data, size_t size,
			       struct os_socket_sender *sender_out)
{
	struct listener *listener = (void *)table_of_kind(socket, &listener_description);
	struct segment *segment;
	size_t count;

	if (listener == NULL || listener->datagrams == NULL)
		return -EBADF;
	segment = endpoint_arrived(listener->datagrams);
	if (segment == NULL)
		return -EAGAIN;
	(void)endpoint_take(listener->datagrams);
	count = segment->size < size ? segment->size : size;
	memcpy(data, segment->data, count);
	memcpy(&sender_out->address, &segment->asker, sizeof segment->asker);
	sender_out->size = sizeof segment->asker;
	sender_out->user = segment->user;
	segment_free(segment);
	return (ssize_t)count;
}

void os_socket_answer(int socket, const void *data, size_t size,
		      const struct os_socket_sender *sender)
{
	uint64_t asker;

	(void)socket;
	memcpy(&asker, &sender->address, sizeof asker);
	endpoint_answer(asker, data, size);
}
