// SPDX-License-Identifier: ISC
#include "ipc/channel.h"
#include "base/panic.h"
#include "log/event.h"
#include "os/socket/socket.h"
#include "os/stream/stream.h"
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct header {
	uint16_t version;
	uint16_t type;
	uint32_t tag;
};

/* A message that waits until the socket accepts it. */
struct waiting {
	struct waiting *next;
	size_t size;
	int descriptors[IPC_DESCRIPTORS_MAX];
	size_t descriptor_count;
	char bytes[];
};

struct ipc_channel {
	struct os_loop *loop;
	struct os_watch *watch;
	int socket;
	const struct ipc_channel_handler *handler;
	void *context;
	struct waiting *first;
	struct waiting **end;
	size_t backlog;
	const char *peer; /* NULL: not set */
	bool is_paused;
	bool is_secret;
	bool is_in_call; /* of a handler: if it is closed there, it is freed afterwards */
	bool is_closed;
	bool is_lost;
	struct os_task lost_task;
};

static void close_passed_descriptors(const int *descriptors, size_t count)
{
	for (size_t i = 0; i < count; i++)
		os_socket_close(descriptors[i]);
}

static void update_watch(struct ipc_channel *channel)
{
	unsigned events = channel->is_paused ? OS_WATCH_NONE : OS_WATCH_READ;

	if (channel->is_lost)
		events = OS_WATCH_NONE;
	else if (channel->first != NULL)
		events |= OS_WATCH_WRITE;
	os_watch_set(channel->watch, events);
}

/* The handler is called later, never from inside a call to this file. */
static void mark_lost(struct ipc_channel *channel)
{
	channel->is_lost = true;
	update_watch(channel);
	os_loop_defer(channel->loop, &channel->lost_task);
}

/* A disconnect is logged by the owner, who knows which process it was. */
static void fail_channel(struct ipc_channel *channel, const char *operation, int error)
{
	if (error != 0 && error != -EPIPE && error != -ECONNRESET)
		log_event(EVENT_IPC_ERROR, log_string(operation, operation), log_error(error));
	mark_lost(channel);
}

static void tell_channel_lost(void *context)
{
	struct ipc_channel *channel = context;

	channel->handler->lost(channel->context, channel);
}

static void erase_secret_packet(const struct ipc_channel *channel, char *bytes, size_t size)
{
	if (channel->is_secret)
		explicit_bzero(bytes, size);
}

static void drop_first(struct ipc_channel *channel)
{
	struct waiting *waiting = channel->first;

	channel->first = waiting->next;
	if (channel->first == NULL)
		channel->end = &channel->first;
	channel->backlog -= sizeof *waiting + waiting->size;
	close_passed_descriptors(waiting->descriptors, waiting->descriptor_count);
	erase_secret_packet(channel, waiting->bytes, waiting->size);
	free(waiting);
}

static void flush_channel(struct ipc_channel *channel)
{
	while (channel->first != NULL) {
		struct waiting *waiting = channel->first;
		ssize_t sent = os_socket_send(channel->socket, waiting->bytes, waiting->size,
					      waiting->descriptors, waiting->descriptor_count);

		if (sent == -EAGAIN)
			break;
		if (sent < 0) {
			fail_channel(channel, "send", (int)sent);
			return;
		}
		drop_first(channel);
	}
	update_watch(channel);
}

/* False when the packet is invalid. */
static bool read_packet_header(const char *packet, size_t length, struct ipc_message *message)
{
	struct header header;

	if (length < sizeof header)
		return false;
	memcpy(&header, packet, sizeof header);
	message->type = le16toh(header.type);
	message->tag = le32toh(header.tag);
	message->body = str_slice(packet + sizeof header, length - sizeof header);
	return le16toh(header.version) == IPC_VERSION;
}

enum { PEER_SIZE = 32 };

static const char *peer_name_of_channel(const struct ipc_channel *channel, char text[PEER_SIZE])
{
	if (channel->peer != NULL)
		return channel->peer;
	snprintf(text, PEER_SIZE, "uid:%lu", (unsigned long)os_socket_peer_user(channel->socket));
	return text;
}

/* Handles one packet. False when no more can be read now. */
static bool receive_packet(struct ipc_channel *channel)
{
	static char packet[sizeof(struct header) + IPC_BODY_MAX];
	struct ipc_message message = {0};
	ssize_t length = os_socket_receive(channel->socket, packet, sizeof packet,
					   message.descriptors, &message.descriptor_count);

	if (length == -EAGAIN)
		return false;
	if (length <= 0 && length != -EMSGSIZE) {
		fail_channel(channel, "receive", (int)length);
		return false;
	}
	if (length < 0 || !read_packet_header(packet, (size_t)length, &message)) {
		char peer[PEER_SIZE];

		log_event_rated(EVENT_IPC_REFUSED, log_number(length, length),
				log_string(peer, peer_name_of_channel(channel, peer)));
		close_passed_descriptors(message.descriptors, message.descriptor_count);
		mark_lost(channel);
		return false;
	}
	channel->handler->message(channel->context, channel, &message);
	close_passed_descriptors(message.descriptors, message.descriptor_count);
	erase_secret_packet(channel, packet, (size_t)length);
	return true;
}

static void on_channel_ready(void *context, unsigned events)
{
	enum { PACKETS_A_TURN = 64 };
	struct ipc_channel *channel = context;

	channel->is_in_call = true;
	if (events & OS_WATCH_WRITE)
		flush_channel(channel);
	if (events & OS_WATCH_READ)
		for (unsigned i = 0; i < PACKETS_A_TURN; i++)
			if (channel->is_paused || channel->is_lost || !receive_packet(channel) ||
			    channel->is_closed)
				break;
	channel->is_in_call = false;
	if (channel->is_closed)
		ipc_channel_close(channel);
}

void ipc_channel_receive(struct ipc_channel *channel)
{
	on_channel_ready(channel, OS_WATCH_READ);
}

struct ipc_channel *ipc_channel_new(struct os_loop *loop, int socket,
				    const struct ipc_channel_handler *handler, void *context)
{
	struct ipc_channel *channel = memory_alloc_zero(1, sizeof *channel);

	channel->loop = loop;
	channel->socket = socket;
	channel->handler = handler;
	channel->context = context;
	channel->end = &channel->first;
	channel->lost_task = (struct os_task){.call = tell_channel_lost, .context = channel};
	channel->watch = os_watch_new(loop, socket, OS_WATCH_READ, on_channel_ready, channel);
	return channel;
}

void ipc_channel_close(struct ipc_channel *channel)
{
	if (channel == NULL)
		return;
	if (channel->is_in_call) {
		channel->is_closed = true;
		return;
	}
	while (channel->first != NULL)
		drop_first(channel);
	os_task_cancel(channel->loop, &channel->lost_task);
	os_watch_free(channel->watch);
	os_socket_close(channel->socket);
	free(channel);
}

static void keep_packet(struct ipc_channel *channel, const char *packet, size_t size,
			const int *descriptors, size_t descriptor_count)
{
	struct waiting *waiting = memory_alloc(sizeof *waiting + size);

	memcpy(waiting->bytes, packet, size);
	waiting->size = size;
	waiting->next = NULL;
	waiting->descriptor_count = 0;
	for (size_t i = 0; i < descriptor_count; i++) {
		int copy = os_stream_copy(descriptors[i]);

		if (copy < 0) {
			fail_channel(channel, "keep", copy);
			close_passed_descriptors(waiting->descriptors, waiting->descriptor_count);
			free(waiting);
			return;
		}
		waiting->descriptors[waiting->descriptor_count++] = copy;
	}
	*channel->end = waiting;
	channel->end = &waiting->next;
	channel->backlog += sizeof *waiting + size;
	update_watch(channel);
}

void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *descriptors, size_t descriptor_count)
{
	char packet[sizeof(struct header) + IPC_BODY_MAX];
	struct header header = {htole16(IPC_VERSION), htole16(type), htole32(tag)};
	size_t size = sizeof header + body.length;
	ssize_t sent = -EAGAIN;

	if (body.length > IPC_BODY_MAX || descriptor_count > IPC_DESCRIPTORS_MAX)
		panic("a message of %zu bytes and %zu descriptors", body.length, descriptor_count);
	if (channel->is_lost || channel->is_closed)
		return;
	memcpy(packet, &header, sizeof header);
	if (body.length > 0)
		memcpy(packet + sizeof header, body.data, body.length);
	if (channel->first == NULL)
		sent = os_socket_send(channel->socket, packet, size, descriptors, descriptor_count);
	if (sent == -EAGAIN)
		keep_packet(channel, packet, size, descriptors, descriptor_count);
	else if (sent < 0)
		fail_channel(channel, "send", (int)sent);
	erase_secret_packet(channel, packet, size);
}

uid_t ipc_channel_user(const struct ipc_channel *channel)
{
	return os_socket_peer_user(channel->socket);
}

void ipc_channel_set_secret(struct ipc_channel *channel)
{
	channel->is_secret = true;
}

void ipc_channel_set_peer(struct ipc_channel *channel, const char *name)
{
	channel->peer = name;
}

void ipc_channel_log_refused(const struct ipc_channel *channel, uint16_t type)
{
	char peer[PEER_SIZE];

	log_event_rated(EVENT_IPC_REFUSED, log_number(type, type),
			log_string(peer, peer_name_of_channel(channel, peer)));
}

void ipc_channel_refuse(struct ipc_channel *channel, uint16_t type)
{
	ipc_channel_log_refused(channel, type);
	mark_lost(channel);
}

size_t ipc_channel_backlog(const struct ipc_channel *channel)
{
	return channel->backlog;
}

void ipc_channel_pause(struct ipc_channel *channel, bool paused)
{
	channel->is_paused = paused;
	update_watch(channel);
}
