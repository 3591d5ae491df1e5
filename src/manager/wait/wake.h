// SPDX-License-Identifier: ISC
/*
 * manager/wait/wake.h - which sleepers are woken when.
 *
 * New mail comes with its envelope and is awake at once; this is about messages that must be read
 * from the disk, a few at a time, so that the loop is never blocked for long. First attempts go
 * before retries, if there is memory to map them (share.h); retries as pace.h allows. The sources
 * of retries take turns: messages that are due, those whose destination has room again, those whose
 * trigger was released, and those that had to wait for memory to be mapped.
 */
#ifndef MANAGER_WAIT_WAKE_H
#define MANAGER_WAIT_WAKE_H

#include "manager/wait/share.h"
#include "manager/wait/trigger/trigger.h"

struct wake;

/* Implemented by manager/hear/waiting.c. */
struct wake_handler {
	/* SLEEPER must wake: read it and remove it from the sleepers. Later wake_retry_ended()
	 * must be called once for each that IS_RETRY. */
	void (*wake)(void *context, struct sleeper *sleeper, bool is_retry);
	/* How busy processors and disk were since the last call, in thousandths. */
	void (*load)(void *context, unsigned *processors_out, unsigned *disk_out);
};

struct wake *wake_new(struct os_loop *loop, struct sleepers *sleepers, struct triggers *triggers,
		      const struct share *share, const struct wake_handler *handler, void *context);
/* No message is woken any more. */
void wake_stop(struct wake *wake);
void wake_free(struct wake *wake);

/* A new message has come: retries may get a smaller share. */
void wake_new_mail(struct wake *wake);
/* Whether no new mail comes. */
bool wake_is_quiet(const struct wake *wake);
/* SLEEPER becomes one of the next to be woken. */
void wake_first(struct wake *wake, struct sleeper *sleeper);
/* Wakes the first COUNT of WAITERS next, or, if they are RETRIES, like other retries. */
void wake_waiters(struct wake *wake, struct waiters *waiters, size_t count, bool retries);
/* Where retries at S4 wait for memory to be mapped; those that are due are woken without it. */
struct waiters *wake_unmapped(struct wake *wake);
/* A retry that was woken is over, or sleeps again; IS_CROWDED_OUT: because its destination has
 * too many: then the next is woken a moment later. */
void wake_retry_ended(struct wake *wake, bool is_crowded_out);
/* After a change of the sleepers, or of the share: a message may be woken earlier. */
void wake_schedule(struct wake *wake);
/* Before a time is compared with due times or stored as one: if the wall clock was set
 * meanwhile, all due times are shifted, so that a message that had ten more minutes to wait
 * still has. */
void wake_check_clock(struct wake *wake);

#endif
