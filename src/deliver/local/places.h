// SPDX-License-Identifier: ISC
/*
 * deliver/local/places.h - the threads ("hands") that put mail into mailboxes, each with its work,
 * and whose mail would block one more of them.
 */
#ifndef DELIVER_LOCAL_PLACES_H
#define DELIVER_LOCAL_PLACES_H

#include "deliver/local/devices.h"
#include "deliver/local/group.h"
#include "log/event.h"

enum { LOCAL_PLACES_MAX = 48 }; /* threads; each may be stuck with one mailbox owner */

struct local_place {
	struct local_hand *hand;
	struct local_writer *writer; /* owned by the hand */
	unsigned generation;         /* of the configuration that it was made from */
	struct local_batch batch;    /* while is_busy */
	size_t first;                /* in the batch: those before it are reported */
	struct local_disk disk;      /* the owner's, while is_stuck */
	bool is_busy;
	bool is_stuck; /* the disk of its current owner does not answer */
	bool is_lost;  /* its deliveries get no report */
};

/* Zeroed: no threads. */
struct local_places {
	struct local_place all[LOCAL_PLACES_MAX];
	size_t count;
};

/* Whether any is busy and not stuck. */
bool local_places_is_working(const struct local_places *places);
/* An idle place, perhaps a new one, whose hand sends WAKEUP; NULL: all are stuck. Ends the process
 * if not even the first thread can be created. */
struct local_place *local_places_idle(struct local_places *places, struct os_wakeup *wakeup);

/* How many are stuck on DISK. */
size_t local_places_stuck_on(const struct local_places *places, const struct local_disk *disk);
/* Whether mail for UID at PATH would block a hand too, because mail for the same owner does, or
 * mail for several owners on the same filesystem. A single owner whose files are slow delays
 * nobody else's mail. */
bool local_places_blocks(const struct local_places *places, const struct local_devices *devices,
			 uid_t uid, struct str path);

/* Logs what deliveries [FIRST, END) of PLACE, which are done, have found: mailboxes that are no
 * files to write to, and incomplete messages that were removed. */
void local_place_log_found(const struct local_place *place, size_t first, size_t end);
/* Logs that the mailbox at which PLACE stands got stuck, or came back. */
void local_place_log(const struct local_place *place, enum log_name name);

#endif
