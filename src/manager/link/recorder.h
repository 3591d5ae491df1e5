// SPDX-License-Identifier: ISC
/*
 * manager/link/recorder.h - writes the outcomes of deliveries into control files, many at a time,
 * in a thread of its own (queue/update.h).
 */
#ifndef MANAGER_LINK_RECORDER_H
#define MANAGER_LINK_RECORDER_H

#include "base/heap.h"
#include "manager/wait/facts.h"
#include "os/loop.h"
#include "queue/control/control.h"
#include "queue/update.h"

struct recorder;
struct message;

/* What about a delivery is not on the disk yet. */
enum recorder_news {
	RECORDER_OUTCOME = 1 << 0,
	RECORDER_DELAY = 1 << 1,   /* that its delay was reported */
	RECORDER_REQUEUE = 1 << 2, /* that its recipient must be mapped again */
	RECORDER_MAP = 1 << 3,     /* set on the first delivery: all of them come from a new map */
	RECORDER_BOUNCED = 1 << 4, /* with RECORDER_OUTCOME: but its record in bounce/ is there */
};

/* A message and its news. Part of the message; zeroed at first. */
struct recording {
	struct message *message;
	struct heap_node due; /* by time, while it waits to be written */
};

/* Implemented by manager/hear/disk.c. */
struct recorder_handler {
	/* Whether the queue has a place for SERVICE. */
	bool (*has_service)(void *context, struct str service);
	/* RECORDING has become due: it should be written now. */
	void (*due)(void *context, struct message *message);
	/* RESULT 0: the news given is on the disk, and the message is at S5. Otherwise -errno:
	 * it may have names of S5, and NEWS, for each of its deliveries, must be written again. */
	void (*recorded)(void *context, struct message *message, int result,
			 const unsigned char *news);
	/* Everything that was written together has been reported. */
	void (*idle)(void *context);
};

struct recorder *recorder_new(struct os_loop *loop, struct queue_store *store,
			      const struct recorder_handler *handler, void *context);
/* Only when nothing is being written. */
void recorder_free(struct recorder *recorder);
bool recorder_is_idle(const struct recorder *recorder);

/* Makes RECORDING due in DELAY_US, unless it is due earlier already. */
void recorder_soon(struct recorder *recorder, struct recording *recording, int64_t delay_us);
/* Makes it not due any more; does nothing if it was not. */
void recorder_cancel(struct recorder *recorder, struct recording *recording);
/* How long news is deferred so that several messages share a commit. */
int64_t recorder_delay_us(void);
/* Makes all that wait due now. */
void recorder_flush(struct recorder *recorder);

struct recorder_work {
	struct mail_id id;
	struct message_facts facts;    /* where it is */
	struct queue_control *control; /* borrowed until it is recorded */
	unsigned char *news;           /* enum recorder_news, for each delivery */
	/* With RECORDER_MAP: the deliveries of the map that is on the disk, borrowed until it is
	 * replaced. */
	const struct queue_delivery *former;
	size_t former_count;
};

/* Begins to write the news of WORK as it is now, and clears it; later outcomes of the same
 * deliveries are new news. 0, or -errno: it cannot be written at all, and remains news. */
MUST_CHECK int recorder_write(struct recorder *recorder, struct message *message,
			      const struct recorder_work *work);
/* Whether the news is only that deliveries wait: without a record they would be tried earlier. */
bool recorder_only_waits(const struct recorder_work *work);

#endif
