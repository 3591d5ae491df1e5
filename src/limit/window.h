// SPDX-License-Identifier: ISC
/*
 * limit/window.h - how much came within an interval until now, by two counters. Pure.
 *
 * Time is cut into windows of the interval's length. What came in the present window counts whole;
 * of the one before counts the part that the interval, ending now, still covers, as if it had come
 * evenly:
 *
 *        before        |       now
 *   ----------[========|=======>]------        [=>]: one interval
 *
 * Times are monotonic microseconds, the same for all processes of the machine, so the windows of
 * all processes begin at the same instants and their counters can be added.
 */
#ifndef LIMIT_WINDOW_H
#define LIMIT_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/* What is counted for one key and interval. Zeros: nothing came. */
struct limit_window {
	uint32_t number; /* of the window that NOW is for, from limit_window_number() */
	uint32_t now;
	uint32_t before; /* in the window before that */
};

/* Totals of any number of counters with the same interval at the same time. */
struct limit_window_total {
	uint64_t now;
	uint64_t before;
};

/* The window in which TIME_US is. It wraps around, which nobody notices: counters that are older
 * than a window count as nothing, and 2^32 windows are 136 years for an interval of a second. */
uint32_t limit_window_number(int64_t interval_us, int64_t time_us);
/* Adds what WINDOW has at TIME_US to TOTAL; also if another process has begun its next window just
 * now: all of that counts as present. */
void limit_window_sum(struct limit_window window, int64_t interval_us, int64_t time_us,
		      struct limit_window_total *total);
/* Counts AMOUNT more at TIME_US; a counter stays at its maximum. */
void limit_window_add(struct limit_window *window, int64_t interval_us, int64_t time_us,
		      uint32_t amount);
/* Whether WINDOW counts for nothing from TIME_US on. */
bool limit_window_is_over(struct limit_window window, int64_t interval_us, int64_t time_us);
/* How long after TIME_US until AMOUNT more would stay within LIMIT, if nothing else comes; 0: at
 * once. An AMOUNT above LIMIT is taken for LIMIT, because it could never come otherwise. */
int64_t limit_window_wait_us(const struct limit_window_total *total, uint64_t limit,
			     uint64_t amount, int64_t interval_us, int64_t time_us);

#endif
