// SPDX-License-Identifier: ISC
/*
 * manager/link/queue_link.h - the connection to "queue" (queue/client/protocol.h): new messages
 * come in, removals are requested. It reconnects when it is lost.
 */
#ifndef MANAGER_LINK_QUEUE_LINK_H
#define MANAGER_LINK_QUEUE_LINK_H

#include "mail/envelope.h"
#include "os/loop.h"
#include "queue/client/protocol.h"

struct queue_link;

/* A message that is at S4. */
struct queue_link_notice {
	enum mail_stage stage;
	uint64_t number;
	struct str text;    /* its envelope; empty: read it from the disk */
	struct str content; /* its data; empty: likewise */
};

/* Implemented by manager/hear/queue.c. */
struct queue_link_handler {
	/* "queue" is connected, and no earlier request is in progress: whatever was not answered
	 * must be requested again. The queue must be scanned. */
	void (*managed)(void *context);
	void (*lost)(void *context);
	void (*queued)(void *context, const struct queue_link_notice *notice);
	/* Answer to queue_link_found(): it is a message at S4. */
	void (*stands)(void *context, enum mail_stage stage, uint64_t number);
	/* Answer to queue_link_found() too: of some names "queue" could not tell yet. */
	void (*unknown)(void *context);
	/* Some messages were not reported: todo/ must be scanned. */
	void (*missed)(void *context);
	/* A client asks for the mail of DOMAIN; any bytes. */
	void (*release)(void *context, struct str domain);
	/* Answer to queue_link_remove(). */
	void (*removed)(void *context, uint64_t number);
};

/* TOKEN, which is presented to "queue" (ipc/token.h), is borrowed. */
struct queue_link *queue_link_new(struct os_loop *loop, const char *path, struct str token,
				  const struct queue_link_handler *handler, void *context);
void queue_link_free(struct queue_link *link);
/* Whether "queue" has accepted us as its manager. */
bool queue_link_is_up(const struct queue_link *link);
/* Requests a removal, together with the others of this turn. Lost with the connection. */
void queue_link_remove(struct queue_link *link, enum queue_remove kind, enum mail_stage stage,
		       uint64_t number);
/* Sends at once what would be sent at the end of this turn. */
void queue_link_flush(struct queue_link *link);
/* A scan found the name in todo/, which may still be in the middle of its commit: "queue" says
 * whether it is a message; if it is being committed, QUEUED follows. Lost with the connection. */
void queue_link_found(struct queue_link *link, enum mail_stage stage, uint64_t number);
/* Reports that no names of ended messages are left. */
void queue_link_cleaned(struct queue_link *link);
/* The share of the time since the last call during which "queue" was committing, in thousandths. */
unsigned queue_link_disk_load(struct queue_link *link);

#endif
