// SPDX-License-Identifier: ISC
/*
 * manager/link/mapping.h - turns the answers of resolve, which are not trusted, into the deliveries
 * of a message. Pure.
 */
#ifndef MANAGER_LINK_MAPPING_H
#define MANAGER_LINK_MAPPING_H

#include "ipc/job.h"
#include "queue/control/control.h"

/* Limit of the deliveries of one message, besides one for each recipient: by the size of a
 * control file, and memory. */
enum { MAPPING_DELIVERIES_MAX = 100000 };

/* Storage of the caller, zeroed at first except ENVELOPE, whose arena owns all of it. */
struct mapping {
	struct mail_envelope *envelope;
	struct queue_delivery *deliveries;
	size_t count;
	size_t capacity;
	uint64_t version;   /* of the directory */
	bool is_unresolved; /* some recipient cannot be resolved now */
	bool is_overfull;   /* there were too many deliveries */
	struct str text;    /* the reason, if unresolved */
};

/* Adds TARGET. False if it is not for a recipient of the message, or cannot be written to a
 * control file. TOO_OLD: a recipient that cannot be resolved now has failed. */
MUST_CHECK bool mapping_add(struct mapping *mapping, const struct ipc_job_target *target,
			    bool too_old, int64_t now_us);
/* Whether each recipient has deliveries: without any it would be forgotten. */
bool mapping_is_whole(const struct mapping *mapping);
/* Numbers the deliveries, in the order of their recipients: the only delivery of a recipient
 * gets the recipient's number. */
void mapping_number(struct mapping *mapping);

#endif
