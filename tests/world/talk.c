// SPDX-License-Identifier: ISC
#include "talk.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const int64_t PATIENCE_US = 600 * INT64_C(1000000);
static const int64_t CONNECT_US = 60 * INT64_C(1000000);

int talk_connect(uint32_t address, uint16_t port)
{
	union os_socket_address host = {0};
	int socket;

	host.v4.sin_family = AF_INET;
	host.v4.sin_port = htons(port);
	host.v4.sin_addr.s_addr = htonl(address);
	socket = os_socket_connect(&host);
	if (socket < 0)
		return -1;
	if (os_socket_wait(socket, true, CONNECT_US) == 0 && os_socket_error(socket) == 0)
		return socket;
	os_socket_close(socket);
	return -1;
}

bool talk_write(struct talk *talk, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t count = os_socket_write(talk->socket, data, size);

		if (count == -EAGAIN && os_socket_wait(talk->socket, true, PATIENCE_US) == 0)
			continue;
		if (count <= 0)
			return false;
		data += count;
		size -= (size_t)count;
	}
	return true;
}

bool talk_say(struct talk *talk, const char *text)
{
	return talk_write(talk, text, strlen(text));
}

/* The first LENGTH bytes become the line, those of END behind them go. */
static void take(struct talk *talk, const char *from, size_t length, size_t end)
{
	const size_t kept = length < sizeof talk->line ? length : sizeof talk->line - 1;
	const size_t gone = (size_t)(from - talk->data) + length + end;

	memcpy(talk->line, from, kept);
	talk->line[kept] = '\0';
	talk->used -= gone;
	memmove(talk->data, talk->data + gone, talk->used);
}

static bool take_line(struct talk *talk)
{
	const char *end = memchr(talk->data, '\n', talk->used);

	if (end == NULL)
		return false;
	take(talk, talk->data, (size_t)(end - talk->data), 1);
	talk->line[strcspn(talk->line, "\r")] = '\0';
	return true;
}

static bool take_netstring(struct talk *talk)
{
	const char *colon = memchr(talk->data, ':', talk->used);
	size_t length;

	if (colon == NULL)
		return false;
	length = strtoul(talk->data, NULL, 10);
	if (talk->used < (size_t)(colon + 1 - talk->data) + length + 1)
		return false;
	take(talk, colon + 1, length, 1);
	return true;
}

static bool hear(struct talk *talk, bool (*take_next)(struct talk *), int64_t patience_us)
{
	while (!take_next(talk)) {
		ssize_t count;

		if (talk->used == sizeof talk->data)
			return false;
		count = os_socket_read(talk->socket, talk->data + talk->used,
				       sizeof talk->data - talk->used);
		if (count == -EAGAIN && os_socket_wait(talk->socket, false, patience_us) == 0)
			continue;
		if (count <= 0)
			return false;
		talk->used += (size_t)count;
	}
	return true;
}

bool talk_hear(struct talk *talk, int64_t patience_us)
{
	return hear(talk, take_line, patience_us);
}

bool talk_hear_netstring(struct talk *talk, int64_t patience_us)
{
	return hear(talk, take_netstring, patience_us);
}

int talk_reply(struct talk *talk)
{
	do {
		if (!talk_hear(talk, PATIENCE_US) || strlen(talk->line) < 3)
			return 0;
	} while (talk->line[3] == '-');
	return atoi(talk->line);
}
