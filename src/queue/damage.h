// SPDX-License-Identifier: ISC
/*
 * queue/damage.h - says what a disk has changed in a message, for people who look for the cause:
 * which part of which file, where, and which checksum it should have (queue/control/checksum.h).
 *
 * Nothing is locked: a file may be reused for another message while it is read. Who shows what was
 * found makes sure afterwards that the message is still there, or looks a second time.
 */
#ifndef QUEUE_DAMAGE_H
#define QUEUE_DAMAGE_H

#include "queue/control/control.h"
#include "queue/store.h"

struct queue_damage {
	struct queue_store *store;
	bool with_data; /* reads all the data, too */
	/* PATH, in the queue, is of the file. May be NULL. */
	void (*each)(void *context, const char *path, const struct queue_difference *difference);
	void *context;
	/* out: */
	unsigned count;  /* calls of EACH */
	unsigned format; /* of the message, 1 or 2; 0: unknown */
};

/* Looks at the message NUMBER at todo/STAGE (STAGE not NULL) or at S5: 0 or -errno, -ENOENT when it
 * is not there. In format 1 there are no checksums: only what cannot be read is found. */
MUST_CHECK int queue_damage_look(struct queue_damage *damage, const enum mail_stage *stage,
				 uint64_t number);

/* "data", "envelope", "record", "trailer", "id". */
const char *queue_part_name(enum queue_part part);

#endif
