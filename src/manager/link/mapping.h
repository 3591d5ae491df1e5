// SPDX-License-Identifier: ISC
/*
 * manager/link/mapping.h - what resolve answers, which is not believed, becomes the
 * deliveries of a message. Pure.
 */
#ifndef MANAGER_LINK_MAPPING_H
#define MANAGER_LINK_MAPPING_H

#include "ipc/job.h"
#include "queue/control.h"

/* Of one message, besides one for each recipient: what a control file holds, and memory. */
enum { MAPPING_DELIVERIES_MAX = 100000 };

/* Storage of the caller, zeroed at first but for ENVELOPE, whose arena owns all of it. */
struct mapping {
	struct mail_envelope *envelope;
	struct queue_delivery *deliveries;
	size_t count;
	size_t capacity;
	uint64_t version;   /* of the directory */
	bool is_unresolved; /* some recipient is not known now */
	bool is_overfull;   /* it became too many deliveries */
	struct str text;    /* why it is unresolved */
};

/* Adds TARGET. False when it is not one of the message's, or a control file cannot hold it.
 * TOO_OLD: what is not known now will never be. */
MUST_CHECK bool mapping_add(struct mapping *mapping, const struct ipc_job_target *target,
			    bool too_old, int64_t now_us);
/* Whether each recipient has its deliveries: one without would be forgotten. */
bool mapping_is_whole(const struct mapping *mapping);
/* Numbers the deliveries, in the order of their recipients: a recipient's only one has its number.
 */
void mapping_number(struct mapping *mapping);

#endif
