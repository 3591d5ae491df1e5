// SPDX-License-Identifier: ISC
/*
 * supervisor/talk/manager_why.h - finds out what messages wait for if no file says so: for a
 * message that was never tried, or is due, only the manager knows.
 */
#ifndef SUPERVISOR_TALK_MANAGER_WHY_H
#define SUPERVISOR_TALK_MANAGER_WHY_H

#include "base/buffer.h"
#include "mail/envelope.h"

struct manager_talk;

struct manager_why {
	const char *run; /* the run directory of the manager; borrowed */
	struct manager_talk *talk;
	int error; /* 0, or -errno: no manager runs, or it does not answer: it is asked no more */
};

void manager_why_clear(struct manager_why *why);

/* A listing_ask_why (listing/listing.h): CONTEXT is a struct manager_why. */
void manager_why_ask(void *context, struct mail_id id, struct buffer *name);

#endif
