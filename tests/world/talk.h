// SPDX-License-Identifier: ISC
/*
 * world/talk.h - lines over a connection, for inhabitants: calls wait.
 */
#ifndef WORLD_TALK_H
#define WORLD_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct talk {
	int socket;
	size_t used;
	char data[8192];
	char line[1024]; /* the last one that was read, without its end */
};

/* A connection to PORT of the host, or -1. */
int talk_connect(uint32_t address, uint16_t port);
/* All of DATA, or false. */
bool talk_write(struct talk *talk, const char *data, size_t size);
bool talk_say(struct talk *talk, const char *text);
/* The next line; false when the connection has ended, or none came in PATIENCE_US. What does not
 * fit is cut off. */
bool talk_hear(struct talk *talk, int64_t patience_us);
/* The same for a netstring, without its length. */
bool talk_hear_netstring(struct talk *talk, int64_t patience_us);
/* A reply of one or more lines: its code, or 0. */
int talk_reply(struct talk *talk);

#endif
