// SPDX-License-Identifier: ISC
/*
 * world/kernel_internal.h - what the parts of the kernel ask of each other: chance.c, events.c,
 * tasks.c, kernel.c.
 */
#ifndef WORLD_KERNEL_INTERNAL_H
#define WORLD_KERNEL_INTERNAL_H

#include "kernel.h"

/* LIST of *SIZE elements, EACH so large, with room for one more than COUNT. */
void *kernel_grow(void *list, size_t count, size_t *size, size_t each);

/* --- chance.c --- */

void chance_begin(uint64_t seed);

/* --- events.c: time, and what happens at which --- */

void events_begin(void);
void events_end(void);
/* Time goes on by that. */
void events_pass(int64_t us);
/* Calls what is due now. */
void events_run(void);
/* Time goes on to the next event, but not beyond WHEN_US; false: there is none. */
bool events_go_on(int64_t when_us);

/* --- tasks.c --- */

void tasks_begin(void);
void tasks_end(void);
/* One that can run does so until it waits; false: none can. */
bool tasks_run_one(void);

#endif
