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

#include <stdint.h>

/* What is counted for one key and interval. Zeros: nothing came. */
struct limit_window {
	uint32_t number; /* of the window that NOW is for, from struct limit_window_time */
	uint32_t now;
	uint32_t before; /* in the window before that */
};

/* Totals of any number of counters with the same interval at the same time. */
struct limit_window_total {
	uint64_t now;
	uint64_t before;
};

/* A time among the windows of an interval. The window's number wraps around, which nobody notices:
 * counters that are older than a window count as nothing, and 2^32 windows are 136 years for an
 * interval of a second. */
struct limit_window_time {
	int64_t interval_us;
	int64_t elapsed_us; /* since its window began */
	uint32_t number;
};
struct limit_window_time limit_window_time(int64_t interval_us, int64_t time_us);

/* Adds what WINDOW has at that TIME to TOTAL; also if another process has begun its next window
 * just now: all of that counts as present. */
void limit_window_sum(struct limit_window window, struct limit_window_time time,
		      struct limit_window_total *total);
/* Counts AMOUNT more; a counter stays at its maximum. */
void limit_window_add(struct limit_window *window, struct limit_window_time time, uint32_t amount);
/* How long until AMOUNT more would stay within LIMIT, if nothing else comes; 0: at once. An AMOUNT
 * above LIMIT is taken for LIMIT, because it could never come otherwise. */
int64_t limit_window_wait_us(const struct limit_window_total *total, uint64_t limit,
			     uint64_t amount, struct limit_window_time time);

#endif
