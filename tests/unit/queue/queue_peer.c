// SPDX-License-Identifier: ISC
#include "queue_peer.h"
#include "base/timestamp.h"
#include "ipc/channel.h"
#include "os/socket/socket.h"
#include "queue/client/protocol.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

char queue_peer_base[SCRATCH_SIZE];

int queue_peer_set_up(void **state)
{
	(void)state;
	return scratch_make(queue_peer_base);
}

int queue_peer_tear_down(void **state)
{
	(void)state;
	return scratch_remove(queue_peer_base);
}

const char *queue_peer_path(const char *name)
{
	static char paths[4][96];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof paths[0], "%s/%s", queue_peer_base, name);
	return path;
}

struct queue_peer queue_peer_connect(const char *path)
{
	struct queue_peer peer = {.socket = os_socket_connect_unix(path, SOCK_SEQPACKET)};

	assert_true(peer.socket >= 0);
	return peer;
}

static void drop_files(struct queue_peer *peer)
{
	while (peer->file_count > 0)
		close(peer->files[--peer->file_count]);
}

void queue_peer_close(struct queue_peer *peer)
{
	drop_files(peer);
	buffer_clear(&peer->body);
	os_socket_close(peer->socket);
}

void queue_peer_give(struct queue_peer *peer, uint16_t type, struct str body, const int *files,
		     size_t count)
{
	struct {
		uint16_t version, type;
		uint32_t tag;
	} header = {IPC_VERSION, type, 0};
	struct buffer packet = {0};
	ssize_t sent;

	buffer_append(&packet, &header, sizeof header);
	buffer_append_str(&packet, body);
	do
		sent = os_socket_send(peer->socket, buffer_data(&packet), packet.length, files,
				      count);
	while (sent == -EAGAIN && os_socket_wait(peer->socket, true, 10 * SECOND_US) == 0);
	assert_int_equal(sent, packet.length);
	buffer_clear(&packet);
}

void queue_peer_say(struct queue_peer *peer, uint16_t type, struct str body)
{
	queue_peer_give(peer, type, body, NULL, 0);
}

static unsigned hear(struct queue_peer *peer)
{
	static char packet[65536];
	uint16_t type;
	ssize_t length;

	drop_files(peer);
	do
		length = os_socket_receive(peer->socket, packet, sizeof packet, peer->files,
					   &peer->file_count);
	while (length == -EAGAIN && os_socket_wait(peer->socket, false, 10 * SECOND_US) == 0);
	assert_int_not_equal(length, -EAGAIN);
	if (length <= 0)
		return 0;
	assert_true(length >= 8);
	memcpy(&type, packet + 2, sizeof type);
	buffer_reset(&peer->body);
	buffer_append(&peer->body, packet + 8, (size_t)length - 8);
	return type;
}

unsigned queue_peer_hear(struct queue_peer *peer)
{
	unsigned type;

	while ((type = hear(peer)) ==
	       QUEUE_PROTOCOL_LOAD) { /* comes with any notice, or does not */
		uint64_t load_us = 0;

		assert_int_equal(peer->body.length, sizeof load_us);
		memcpy(&load_us, buffer_data(&peer->body), sizeof load_us);
		assert_true(load_us >= peer->load_us);
		peer->load_us = load_us;
		peer->loads++;
	}
	return type;
}
