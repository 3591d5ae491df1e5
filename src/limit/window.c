// SPDX-License-Identifier: ISC
#include "limit/window.h"

struct limit_window_time limit_window_time(int64_t interval_us, int64_t time_us)
{
	int64_t number = time_us / interval_us;

	return (struct limit_window_time){interval_us, time_us - number * interval_us,
					  (uint32_t)number};
}

void limit_window_sum(struct limit_window window, struct limit_window_time time,
		      struct limit_window_total *total)
{
	uint32_t age = time.number - window.number;

	if (age == 0) {
		total->now += window.now;
		total->before += window.before;
	} else if (age == 1) {
		total->before += window.now;
	} else if (age == UINT32_MAX) {
		total->now += (uint64_t)window.now + window.before;
	}
}

void limit_window_add(struct limit_window *window, struct limit_window_time time, uint32_t amount)
{
	uint32_t age = time.number - window->number;

	if (age != 0) {
		window->before = age == 1 ? window->now : 0;
		window->now = 0;
		window->number = time.number;
	}
	window->now = window->now > UINT32_MAX - amount ? UINT32_MAX : window->now + amount;
}

/* How long after the begin of a window COUNT that came in the window before is at most ROOM. */
static int64_t fades_after_us(uint64_t count, uint64_t room, int64_t interval_us)
{
	if (count <= room)
		return 0;
	/* rounded up: at that instant it is at most ROOM */
	return interval_us - (int64_t)((unsigned __int128)room * (uint64_t)interval_us / count);
}

int64_t limit_window_wait_us(const struct limit_window_total *total, uint64_t limit,
			     uint64_t amount, struct limit_window_time time)
{
	uint64_t room = amount < limit ? limit - amount : 0;
	int64_t ready_us;

	if (total->now <= room) {
		ready_us = fades_after_us(total->before, room - total->now, time.interval_us);
		return ready_us > time.elapsed_us ? ready_us - time.elapsed_us : 0;
	}
	return time.interval_us - time.elapsed_us +
	       fades_after_us(total->now, room, time.interval_us);
}
