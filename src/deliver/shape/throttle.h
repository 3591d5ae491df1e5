// SPDX-License-Identifier: ISC
/*
 * deliver/shape/throttle.h - how fast a server is sent mail that has said that it gets too much.
 * Pure; times are monotonic.
 *
 *   state    event                             becomes
 *   FREE     it says so                        SLOWED to half of what it got in the last minute,
 *                                              to one message a minute at least
 *   SLOWED   it says so again                  half of that; after six times one message in five
 *                                              minutes
 *   SLOWED   a minute without its saying so    half as fast again; FREE from twice of what it got
 *                                              before it was slowed
 *   any      it says for how long              nothing before
 *
 * Messages of a server that is SLOWED are apart by its gap. While that is longer than a minute, a
 * step of recovery takes as long as the gap, because only a message shows whether it still says so.
 * What it says of messages that began before the last step down is about the speed then, and
 * changes nothing.
 */
#ifndef DELIVER_SHAPE_THROTTLE_H
#define DELIVER_SHAPE_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

/* Zeros: FREE. */
struct shape_throttle {
	int64_t gap_us;        /* between messages; 0: FREE */
	int64_t free_gap_us;   /* a smaller gap is none */
	int64_t stepped_us;    /* when the gap was set */
	int64_t slowed_us;     /* when it was made longer */
	int64_t not_before_us; /* as the server says */
	int64_t sent_us;       /* the last message */
	unsigned halvings;
};

/* The server has said so, about what began at BEGAN_US; it got SEEN messages in the last minute.
 * WAIT_US: for how long it wants nothing; 0: it does not say. Whether anything has changed. */
bool shape_throttle_slow(struct shape_throttle *throttle, unsigned seen, int64_t wait_us,
			 int64_t began_us, int64_t now_us);
/* Recovers as far as it is time for. Whether it has become FREE. */
bool shape_throttle_recover(struct shape_throttle *throttle, int64_t now_us);
/* Whether it wants nothing now, as it has said. */
bool shape_throttle_is_paused(const struct shape_throttle *throttle, int64_t now_us);
bool shape_throttle_is_free(const struct shape_throttle *throttle, int64_t now_us);
/* In how long the next message may begin; 0: now. */
int64_t shape_throttle_wait_us(const struct shape_throttle *throttle, int64_t now_us);
/* A message begins. */
void shape_throttle_send(struct shape_throttle *throttle, int64_t now_us);

#endif
