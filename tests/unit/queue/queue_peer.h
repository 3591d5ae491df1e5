// SPDX-License-Identifier: ISC
/*
 * tests/unit/queue/queue_peer.h - one end of a connection of queue/client/protocol.h, by hand: it
 * can say what no process of ours would. And a place on the disk for a test.
 */
#ifndef TESTS_UNIT_QUEUE_PEER_H
#define TESTS_UNIT_QUEUE_PEER_H

#include "base/buffer.h"
#include "scratch.h"

struct queue_peer {
	int socket;
	struct buffer body; /* of the message heard last */
	int files[16];      /* that came with it */
	size_t file_count;
	unsigned loads; /* LOAD messages of "queue", which are passed over */
	uint64_t load_us;
};

/* A directory of its own, and its removal; for cmocka. */
extern char queue_peer_base[SCRATCH_SIZE];
int queue_peer_set_up(void **state);
int queue_peer_tear_down(void **state);

/* BASE/NAME, in one of a few places. */
const char *queue_peer_path(const char *name);

struct queue_peer queue_peer_connect(const char *path);
void queue_peer_close(struct queue_peer *peer);

void queue_peer_say(struct queue_peer *peer, uint16_t type, struct str body);
/* The same with COUNT files. */
void queue_peer_give(struct queue_peer *peer, uint16_t type, struct str body, const int *files,
		     size_t count);
/* The type of the next message; 0: the connection was ended. */
unsigned queue_peer_hear(struct queue_peer *peer);

#endif
