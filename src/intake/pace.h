// SPDX-License-Identifier: ISC
/*
 * intake/pace.h - how long a client may still be waited for: no longer than the
 * timeout at a time, and in all no longer than the timeout and what its bytes
 * take at the least rate. A client that sends a byte now and then gains nothing by
 * it. Only the time counts in which the client was to send, not that in which we
 * were busy with its bytes.
 */
#ifndef INTAKE_PACE_H
#define INTAKE_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* All zeroes: nothing received, nobody waited for. Times are monotonic. */
struct intake_pace {
	uint64_t bytes;    /* received since the last reply, or in this message */
	int64_t waited_us; /* for them */
	int64_t since_us;  /* when this wait began; 0: none is under way */
};

/* The client did what it had to: it begins anew. */
void intake_pace_reset(struct intake_pace *pace);
/* It is the client's turn. Again and again: the wait that is under way goes on. */
void intake_pace_wait(struct intake_pace *pace, int64_t now_us);
/* It has sent COUNT bytes. */
void intake_pace_receive(struct intake_pace *pace, int64_t now_us, uint64_t count);
/* Whether it took too long already, at NOW, for TIMEOUT and the bytes at that rate. */
bool intake_pace_is_over(const struct intake_pace *pace, int64_t timeout_us, uint32_t rate,
			 int64_t now_us);
/* From the last byte on; 0 or less when it took too long. RATE is in bytes per
 * second; 0: any. */
int64_t intake_pace_left_us(const struct intake_pace *pace, int64_t timeout_us, uint32_t rate);

#endif
