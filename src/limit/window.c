// SPDX-License-Identifier: ISC
#include "limit/window.h"

uint32_t limit_window_number(int64_t interval_us, int64_t time_us)
{
	return (uint32_t)(time_us / interval_us);
}

void limit_window_sum(struct limit_window window, int64_t interval_us, int64_t time_us,
		      struct limit_window_total *total)
{
	uint32_t age = limit_window_number(interval_us, time_us) - window.number;

	if (age == 0) {
		total->now += window.now;
		total->before += window.before;
	} else if (age == 1) {
		total->before += window.now;
	} else if (age == UINT32_MAX) {
		total->now += (uint64_t)window.now + window.before;
	}
}

void limit_window_add(struct limit_window *window, int64_t interval_us, int64_t time_us,
		      uint32_t amount)
{
	uint32_t number = limit_window_number(interval_us, time_us);
	uint32_t age = number - window->number;

	if (age != 0) {
		window->before = age == 1 ? window->now : 0;
		window->now = 0;
		window->number = number;
	}
	window->now = window->now > UINT32_MAX - amount ? UINT32_MAX : window->now + amount;
}

bool limit_window_is_over(struct limit_window window, int64_t interval_us, int64_t time_us)
{
	struct limit_window_total total = {0};

	limit_window_sum(window, interval_us, time_us, &total);
	return total.now == 0 && total.before == 0;
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
			     uint64_t amount, int64_t interval_us, int64_t time_us)
{
	int64_t elapsed_us = time_us % interval_us;
	uint64_t room = amount < limit ? limit - amount : 0;
	int64_t ready_us;

	if (total->now <= room) {
		ready_us = fades_after_us(total->before, room - total->now, interval_us);
		return ready_us > elapsed_us ? ready_us - elapsed_us : 0;
	}
	return interval_us - elapsed_us + fades_after_us(total->now, room, interval_us);
}
