// SPDX-License-Identifier: ISC
/*
 * manager/link/queue_link.h - the connection to "queue" (queue/protocol.h): what is new, and
 * what is to be removed. It is made again when it is lost.
 */
#ifndef MANAGER_LINK_QUEUE_LINK_H
#define MANAGER_LINK_QUEUE_LINK_H

#include "mail/envelope.h"
#include "os/loop.h"
#include "queue/protocol.h"

struct queue_link;

/* A message that is at S4. */
struct queue_link_notice {
	enum mail_stage stage;
	uint64_t number;
	struct str text;    /* its envelope; empty: it is on the disk */
	struct str content; /* its data; empty: the same */
};

struct queue_link_handler {
	/* "queue" is there, and nothing that was asked of it before is under way: what was not
	 * answered is to be asked again. Whatever is in the queue is to be looked for. */
	void (*managed)(void *context);
	void (*lost)(void *context);
	void (*queued)(void *context, const struct queue_link_notice *notice);
	/* Answer to queue_link_found(): it is a message at S4. */
	void (*stands)(void *context, enum mail_stage stage, uint64_t number);
	/* Some were not told: todo/ is to be looked through. */
	void (*missed)(void *context);
	/* Answer to queue_link_remove(). */
	void (*removed)(void *context, uint64_t number);
};

struct queue_link *queue_link_new(struct os_loop *loop, const char *path,
				  const struct queue_link_handler *handler, void *context);
void queue_link_free(struct queue_link *link);
/* Whether "queue" hears us as its manager. */
bool queue_link_is_up(const struct queue_link *link);
/* Asks for a removal, with the others of this turn. Lost with the connection. */
void queue_link_remove(struct queue_link *link, enum queue_remove kind, enum mail_stage stage,
		       uint64_t number);
/* Sends at once what was to be sent at the end of this turn. */
void queue_link_flush(struct queue_link *link);
/* A scan found the name in todo/, which may be on its way to the disk still: "queue" says what is a
 * message. Of one that is being committed QUEUED is said when it is. Lost with the connection. */
void queue_link_found(struct queue_link *link, enum mail_stage stage, uint64_t number);
/* No name is left whose message is gone. */
void queue_link_cleaned(struct queue_link *link);
/* For how much of the time since it was asked before "queue" was committing, in thousandths. */
unsigned queue_link_disk_load(struct queue_link *link);

#endif
