// SPDX-License-Identifier: ISC
/*
 * intake/limit/pace.h - how long we still wait for a client: each time no longer than the timeout,
 * and in total no longer than the timeout plus the time its bytes take at the minimum rate. So a
 * client gains nothing by sending a byte now and then. Only the time during which it was the
 * client's turn counts, not the time in which we were busy with its bytes.
 */
#ifndef INTAKE_LIMIT_PACE_H
#define INTAKE_LIMIT_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* All zeroes: nothing received, no wait. Times are monotonic. */
struct intake_pace {
	uint64_t bytes;    /* received since the last reply, or in this message */
	int64_t waited_us; /* the total wait for them */
	int64_t since_us;  /* when the current wait began; 0: none */
};

/* The client has done its part: starts from zero. */
void intake_pace_reset(struct intake_pace *pace);
/* It is the client's turn. May be called repeatedly: the current wait continues. */
void intake_pace_wait(struct intake_pace *pace, int64_t now_us);
/* The client has sent COUNT bytes. */
void intake_pace_receive(struct intake_pace *pace, int64_t now_us, uint64_t count);
/* The total wait for it until NOW. */
int64_t intake_pace_waited_us(const struct intake_pace *pace, int64_t now_us);
/* Whether it has taken too long, at NOW, for TIMEOUT and the bytes at that rate. */
bool intake_pace_is_over(const struct intake_pace *pace, int64_t timeout_us, uint32_t rate,
			 int64_t now_us);
/* The time left since the last byte; 0 or less when it has taken too long. RATE is in bytes per
 * second; 0: any. */
int64_t intake_pace_left_us(const struct intake_pace *pace, int64_t timeout_us, uint32_t rate);

#endif
