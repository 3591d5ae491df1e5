// SPDX-License-Identifier: ISC
/*
 * queue/client/client.h - adding messages to the queue from another process.
 *
 * A message of up to QUEUE_BY_VALUE_MAX bytes is sent by value with its commit, and this process
 * never sees a file. For a larger one the client asks "queue" for a file that no other message has
 * used or will use. Until then the caller holds the bytes, so the caller's limits apply to them.
 *
 * A few numbers are kept in stock, so that a message need not wait for one.
 */
#ifndef QUEUE_CLIENT_CLIENT_H
#define QUEUE_CLIENT_CLIENT_H

#include "base/buffer.h"
#include "base/table.h"
#include "mail/envelope.h"
#include "os/file/file.h"
#include "os/loop.h"

struct queue_client;

/* Connects to "queue" at PATH, and reconnects when the connection is lost. STOCK numbers (at
 * most QUEUE_OPEN_MAX) are requested ahead of time. */
struct queue_client *queue_client_new(struct os_loop *loop, const char *path, uint32_t stock);
/* The same over SOCKET, a connection to PATH, which is taken over; it does not reconnect. */
struct queue_client *queue_client_new_connected(struct os_loop *loop, int socket, const char *path);
void queue_client_free(struct queue_client *client);
/* Its messages end others, such as bounces: they may have the space that new mail leaves free. Only
 * "send" and "list" may do that. Before the first message. */
void queue_client_use_reserve(struct queue_client *client);
/* From now on a message that has a file is not written when fewer than BYTES would be free on the
 * queue's disk after that: -ENOSPC. 0, as at first: that is not looked at. */
void queue_client_set_reserve(struct queue_client *client, uint64_t bytes);
/* Calls CALL once, after the next success to connect: from then on messages can be opened. */
void queue_client_when_connected(struct queue_client *client, void (*call)(void *context),
				 void *context);

enum queue_client_state {
	QUEUE_CLIENT_IDLE,
	QUEUE_CLIENT_OPENING,
	QUEUE_CLIENT_OPEN,
	QUEUE_CLIENT_SHARING, /* OPEN, and waiting for its file */
	QUEUE_CLIENT_COMMITTING,
};

/* A message in progress. Storage of the caller, zeroed at first. */
struct queue_client_message {
	/* The end of OPENING or SHARING (RESULT 0: open; otherwise -errno: idle), or of
	 * COMMITTING (RESULT 0: durable; -errno: not queued), after which it is idle. May be
	 * called from inside queue_client_open(), queue_client_share() and
	 * queue_client_commit(). */
	void (*done)(void *context, int result);
	void *context;
	enum queue_client_state state;
	uint64_t number; /* valid unless IDLE or OPENING; 0: the connection was lost */

	/* Private to the client. */
	int file;         /* owned; -1: by value */
	uint64_t written; /* bytes in FILE */
	int error;        /* the first write error */
	struct str data;  /* kept while SHARING, for the commit that follows */
	struct buffer text;
	struct buffer handed; /* of a package: what comes before the text */
	struct queue_client *client;
	struct queue_client_message *next, *previous; /* while OPENING, OPEN or SHARING */
	UT_hash_handle hh;                            /* while COMMITTING: by number */
};

/* Requests a number: IDLE to OPENING, then OPEN. */
void queue_client_open(struct queue_client *client, struct queue_client_message *message);
/* The message is larger than QUEUE_BY_VALUE_MAX: OPEN to SHARING, then OPEN with a file. */
void queue_client_share(struct queue_client_message *message);
bool queue_client_is_shared(const struct queue_client_message *message);
/* What a message that is not queued has in its file: 0 if it has none. */
uint64_t queue_client_unfinished(const struct queue_client_message *message);
/* What is free where its file is, which it must have. False: the system does not say. */
bool queue_client_space(const struct queue_client_message *message,
			struct os_file_space *space_out);
/* OPEN with a file: appends BYTES to the data. Returns the message's first error, if any; the
 * commit returns it too. */
int queue_client_write(struct queue_client_message *message, struct str bytes);
/* OPEN to COMMITTING. DATA is all of the data or, with a file, the rest; size and id are in
 * ENVELOPE. If DATA is too large to go by value, the client asks for a file first: DATA must not
 * change before DONE is called. -EINVAL when the envelope cannot be written; -E2BIG when its
 * text is longer than QUEUE_ENVELOPE_MAX. */
void queue_client_commit(struct queue_client_message *message, const struct mail_envelope *envelope,
			 struct str data);
/* Any state to IDLE; DONE is not called. A commit that is already sent may still succeed. */
void queue_client_abandon(struct queue_client_message *message);

/* Has the manager try mail for DOMAIN whose hosts it waits for. False: there is no connection. */
MUST_CHECK bool queue_client_release(struct queue_client *client, struct str domain);

#endif
