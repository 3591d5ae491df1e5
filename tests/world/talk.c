// SPDX-License-Identifier: ISC
#include "talk.h"
#include "os/socket.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const int64_t PATIENCE_US = 600 * INT64_C(1000000);

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

static bool take_line(struct talk *talk)
{
	char *end = memchr(talk->data, '\n', talk->used);
	size_t length;

	if (end == NULL)
		return false;
	length = (size_t)(end - talk->data);
	memcpy(talk->line, talk->data, length < sizeof talk->line ? length : sizeof talk->line - 1);
	talk->line[length < sizeof talk->line ? length : sizeof talk->line - 1] = '\0';
	talk->line[strcspn(talk->line, "\r")] = '\0';
	talk->used -= length + 1;
	memmove(talk->data, end + 1, talk->used);
	return true;
}

bool talk_hear(struct talk *talk, int64_t patience_us)
{
	while (!take_line(talk)) {
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

int talk_reply(struct talk *talk)
{
	do {
		if (!talk_hear(talk, PATIENCE_US) || strlen(talk->line) < 3)
			return 0;
	} while (talk->line[3] == '-');
	return atoi(talk->line);
}
