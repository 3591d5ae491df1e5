// SPDX-License-Identifier: ISC
/*
 * queue/client.h - adding messages to the queue from another process.
 *
 * A message of up to QUEUE_BY_VALUE_MAX bytes is handed over with its commit, and this process
 * sees no file. For a larger one "queue" is asked for a file, which is no other message's
 * before or after. Until then the bytes are the caller's, so that whatever bounds them there
 * bounds them.
 *
 * A few numbers are kept in stock, so that a message need not wait for one.
 */
#ifndef QUEUE_CLIENT_H
#define QUEUE_CLIENT_H

#include "base/buffer.h"
#include "base/table.h"
#include "mail/envelope.h"
#include "os/loop.h"

struct queue_client;

/* Connects to "queue" at PATH, again when the connection is lost. STOCK numbers
 * (at most QUEUE_OPEN_MAX) are asked for ahead. */
struct queue_client *queue_client_new(struct os_loop *loop, const char *path, uint32_t stock);
void queue_client_free(struct queue_client *client);

enum queue_client_state {
	QUEUE_CLIENT_IDLE,
	QUEUE_CLIENT_OPENING,
	QUEUE_CLIENT_OPEN,
	QUEUE_CLIENT_SHARING, /* OPEN, but its file is waited for */
	QUEUE_CLIENT_COMMITTING,
};

/* One message under way. Storage of the caller, zeroed at first. */
struct queue_client_message {
	/* OPENING or SHARING ended (RESULT 0: open; otherwise -errno: idle), or COMMITTING did
	 * (RESULT 0: durable; -errno: not queued): idle. May be called from inside
	 * queue_client_open(), queue_client_share() and queue_client_commit(). */
	void (*done)(void *context, int result);
	void *context;
	enum queue_client_state state;
	uint64_t number; /* while not IDLE or OPENING; 0: the connection was lost */

	/* For the client alone. */
	int file;         /* -1: by value. Owned */
	uint64_t written; /* bytes in FILE */
	int error;        /* the first of writing */
	struct str data;  /* while it is shared and committed in one */
	struct buffer text;
	struct queue_client *client;
	struct queue_client_message *next, *previous; /* while OPENING, OPEN or SHARING */
	UT_hash_handle hh;                            /* while COMMITTING: by number */
};

/* Asks for a number: IDLE to OPENING, then OPEN. */
void queue_client_open(struct queue_client *client, struct queue_client_message *message);
/* The message is larger than QUEUE_BY_VALUE_MAX: OPEN to SHARING, then OPEN with a file. */
void queue_client_share(struct queue_client_message *message);
bool queue_client_is_shared(const struct queue_client_message *message);
/* OPEN with a file: appends BYTES to the data. The first error of the message, if any, which the
 * commit will say as well. */
int queue_client_write(struct queue_client_message *message, struct str bytes);
/* OPEN to COMMITTING. DATA is all of the data or, with a file, the rest; size and id are in
 * ENVELOPE. Where DATA is too large to go by value, a file is asked for in between: DATA must
 * not change before DONE is called. -EINVAL when the envelope cannot be written; -E2BIG when its
 * text is longer than QUEUE_ENVELOPE_MAX. */
void queue_client_commit(struct queue_client_message *message, const struct mail_envelope *envelope,
			 struct str data);
/* Any state to IDLE; nothing is called. A commit under way may still succeed. */
void queue_client_abandon(struct queue_client_message *message);

#endif
