// SPDX-License-Identifier: ISC
/*
 * supervisor/talk/manager_why.h - finds out what messages wait for if no file says so: for a
 * message that was never tried, only the manager knows the trigger.
 */
#ifndef SUPERVISOR_TALK_MANAGER_WHY_H
#define SUPERVISOR_TALK_MANAGER_WHY_H

#include "base/buffer.h"
#include "mail/envelope.h"

struct manager_talk;

struct manager_why {
	const char *run; /* the run directory of the manager; borrowed */
	struct manager_talk *talk;
	bool is_over; /* no manager runs, or it does not answer: ask no more */
};

void manager_why_clear(struct manager_why *why);

/* Whether deliveries are paused for a while, or messages sleep for want of memory, so that an
 * answer may be a pause. */
bool manager_why_has_pauses(struct manager_why *why);
/* For struct listing_filter: CONTEXT is a struct manager_why. Appends the trigger's name, a pause,
 * or nothing. */
void manager_why_ask(void *context, struct mail_id id, struct buffer *name);

#endif
