// SPDX-License-Identifier: ISC
/*
 * queue/client.h - adding messages to the queue from another process.
 *
 * A few data files are kept in stock, so that a message need not wait for one.
 */
#ifndef QUEUE_CLIENT_H
#define QUEUE_CLIENT_H

#include "mail/envelope.h"
#include "os/loop.h"
#include <uthash.h>

struct queue_client;

/* Connects to "queue" at PATH, again when the connection is lost. STOCK data
 * files (at most QUEUE_OPEN_MAX) are asked for ahead. */
struct queue_client *queue_client_new(struct os_loop *loop, const char *path, uint32_t stock);
void queue_client_free(struct queue_client *client);

enum queue_client_state {
	QUEUE_CLIENT_IDLE,
	QUEUE_CLIENT_OPENING,
	QUEUE_CLIENT_OPEN,
	QUEUE_CLIENT_COMMITTING,
};

/* One message under way. Storage of the caller, zeroed at first. */
struct queue_client_message {
	/* OPENING ended (RESULT 0: open; otherwise -errno: idle), or COMMITTING did
	 * (RESULT 0: durable; -errno: not queued): idle. May be called from inside
	 * queue_client_open() and queue_client_commit(). */
	void (*done)(void *context, int result);
	void *context;
	enum queue_client_state state;
	uint64_t number; /* while OPEN or COMMITTING */
	int file;        /* while OPEN: write the data here, from offset 0. Not owned */
	struct queue_client *client;
	struct queue_client_message *next, *previous; /* while OPENING or OPEN */
	UT_hash_handle hh;                            /* while COMMITTING: by number */
};

/* Asks for a data file: IDLE to OPENING, then OPEN. */
void queue_client_open(struct queue_client *client, struct queue_client_message *message);
/* OPEN to COMMITTING. The data is written, size and id are in ENVELOPE. -EINVAL
 * when the envelope cannot be written; -E2BIG when its text is longer than QUEUE_ENVELOPE_MAX. */
void queue_client_commit(struct queue_client_message *message,
			 const struct mail_envelope *envelope);
/* Any state to IDLE; nothing is called. A commit under way may still succeed. */
void queue_client_abandon(struct queue_client_message *message);

#endif
