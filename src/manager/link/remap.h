// SPDX-License-Identifier: ISC
/*
 * manager/link/remap.h - maps a message again, because an operator wants undecided recipients to go
 * to their current addresses; or because the postmaster of a domain has no mailbox
 * (manager/outcome.h), and this node's gets his mail. Pure, except that it uses the envelope's
 * arena.
 */
#ifndef MANAGER_LINK_REMAP_H
#define MANAGER_LINK_REMAP_H

#include "queue/control/control.h"

/* The envelope with only those recipients that have an open delivery which was requeued; NULL:
 * there are none. The address of one with a redirected delivery is "postmaster". It is in CONTROL's
 * arena and borrows everything from it. */
struct mail_envelope *remap_envelope(const struct queue_control *control);

/* The resulting deliveries of a message, by recipient, in its envelope's arena. */
struct remap {
	struct queue_delivery *deliveries;
	bool *is_new; /* for each: it is new, or has another outcome */
	size_t count;
};

/* Replaces the open deliveries of the requeued recipients by FRESH, which are COUNT deliveries,
 * for all recipients of remap_envelope():
 * - a decided delivery is kept, and a target of the same recipient with the same address is left
 *   out: nobody gets a second copy;
 * - a target with the destination of an open delivery becomes that delivery, to be tried at
 *   once;
 * - all others are new. They get numbers that were never used, except that the only delivery of
 *   a recipient may have the recipient's number; if a delay of the recipient was reported, it is
 *   not reported again.
 * A redirected delivery is replaced by targets to which the recipient has no delivery; its others
 * stay. If there are none, not even a delivery that does not fail, it has failed after all: the
 * node's postmaster has no mailbox either.
 * If a recipient would get so many deliveries that the message could not be kept, its deliveries
 * stay as they were. */
struct remap remap_merge(const struct queue_control *control, const struct queue_delivery *fresh,
			 size_t count, int64_t now_us);

#endif
