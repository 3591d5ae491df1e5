// SPDX-License-Identifier: ISC
/*
 * manager/wait/wake.h - who of those who sleep is woken when.
 *
 * New mail comes with its envelope and is awake at once; here are those that must be read
 * from the disk, a few at a time, so that the loop is never kept long. First attempts go
 * before retries, as far as there is memory to map them (share.h); retries as pace.h says. Sources
 * of retries take turns: those that are due, those for which a destination has room again, those
 * whose trigger was released, those that had to wait for memory to be mapped.
 */
#ifndef MANAGER_WAIT_WAKE_H
#define MANAGER_WAIT_WAKE_H

#include "manager/wait/share.h"
#include "manager/wait/trigger.h"

struct wake;

struct wake_handler {
	/* SLEEPER is to be awake: it is read and removed from among the sleepers. Later
	 * wake_retry_ended() is called once for each that IS_RETRY. */
	void (*wake)(void *context, struct sleeper *sleeper, bool is_retry);
	/* How busy processors and disk were since it was asked before, in thousandths. */
	void (*load)(void *context, unsigned *processors_out, unsigned *disk_out);
};

struct wake *wake_new(struct os_loop *loop, struct sleepers *sleepers, struct triggers *triggers,
		      const struct share *share, const struct wake_handler *handler, void *context);
/* Nobody is woken any more. */
void wake_stop(struct wake *wake);
void wake_free(struct wake *wake);

/* A new message has come: retries may get less. */
void wake_new_mail(struct wake *wake);
/* Whether none comes. */
bool wake_is_quiet(const struct wake *wake);
/* SLEEPER is among the next to be woken. */
void wake_first(struct wake *wake, struct sleeper *sleeper);
/* The first COUNT of WAITERS are, or when they are RETRIES, as others are. */
void wake_waiters(struct wake *wake, struct waiters *waiters, size_t count, bool retries);
/* A retry that was woken is over, or sleeps again; IS_CROWDED_OUT: because its destination has too
 * many: then others are given a moment. */
void wake_retry_ended(struct wake *wake, bool is_crowded_out);
/* After a change of what sleeps, or of the share: somebody may be woken earlier. */
void wake_schedule(struct wake *wake);
/* Before a time is compared with those of sleepers or put among them: where the wall
 * clock was set meanwhile, theirs follow, so that who had to wait ten minutes more waits
 * ten minutes more. */
void wake_check_clock(struct wake *wake);

#endif
