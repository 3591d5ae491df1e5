// SPDX-License-Identifier: ISC
/*
 * manager/link/remap.h - a message that was mapped is mapped anew, because an operator wants what
 * is not decided to go by the addresses of today. Pure, but for the envelope's arena.
 */
#ifndef MANAGER_LINK_REMAP_H
#define MANAGER_LINK_REMAP_H

#include "queue/control.h"

/* The envelope with only those recipients that have an open delivery which was requeued; NULL:
 * there is none. It is in CONTROL's arena and borrows all that it has. */
struct mail_envelope *remap_envelope(const struct queue_control *control);

/* The deliveries of a message after that, by recipient, in its envelope's arena. */
struct remap {
	struct queue_delivery *deliveries;
	bool *is_new; /* for each: it was not there before, or has another outcome */
	size_t count;
};

/* Puts the COUNT deliveries in FRESH, all of remap_envelope()'s recipients, in place of the open
 * ones of these:
 * - what is decided stays as it is, and a target of the same recipient with the same address is
 *   left out: nobody gets a second copy;
 * - one that leads where an open delivery leads already is that delivery, to be tried at once;
 * - all others are new. Their numbers were never used, but that the only delivery of a recipient
 *   may have his; and where a delay of the recipient was reported, it is not reported again.
 * A recipient with so many deliveries that the message could not be kept stays as he was. */
struct remap remap_merge(const struct queue_control *control, const struct queue_delivery *fresh,
			 size_t count, int64_t now_us);

#endif
