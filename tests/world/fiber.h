// SPDX-License-Identifier: ISC
/*
 * world/fiber.h - stacks that one thread runs in turn.
 */
#ifndef WORLD_FIBER_H
#define WORLD_FIBER_H

struct fiber;

/* A fiber that runs MAIN with ARGUMENT when it is first switched to. MAIN must not return: it
 * switches away for the last time. The one of the caller's own stack: MAIN is NULL. */
struct fiber *fiber_new(void (*main)(void *argument), void *argument);
/* Not the one that runs. What its stack held is not cleaned up. */
void fiber_free(struct fiber *fiber);
/* Goes on in TO; returns when somebody switches to FROM again. */
void fiber_switch(struct fiber *from, struct fiber *to);
/* The same, and FROM never runs again. */
_Noreturn void fiber_leave(struct fiber *from, struct fiber *to);

#endif
