// SPDX-License-Identifier: ISC
#include "manager/wait/schedule.h"
#include "base/timestamp.h"
#include <math.h>

int64_t schedule_next(int64_t born_us, int64_t now_us, unsigned skip, uint32_t attempts,
		      uint64_t random)
{
	double root = now_us > born_us ? sqrt((double)(now_us - born_us) / (double)SECOND_US)
				       : (double)attempts * skip;
	int64_t wait_us = (int64_t)((2 * root * skip + (double)skip * skip) * (double)SECOND_US);

	return now_us + wait_us - (int64_t)(random % (uint64_t)(wait_us / 10 + 1));
}

bool schedule_may_join(int64_t changed_us, int64_t until_us, int64_t now_us)
{
	return until_us > now_us && now_us > changed_us &&
	       until_us - now_us <= (until_us - changed_us) / 8;
}

int64_t schedule_longest_us(int64_t lifetime_us)
{
	return schedule_next(0, lifetime_us, SCHEDULE_SKIP_REMOTE, 0, 0) - lifetime_us;
}

/* Clocks that are set by little are right. */
static bool is_to_come(int64_t noted_us, int64_t now_us)
{
	return noted_us > now_us + MINUTE_US;
}

/* A time in the future was recorded before the clock was set back, and how long the message has
 * waited since is unknown. */
int64_t schedule_until(int64_t changed_us, int64_t until_us, int64_t now_us)
{
	return is_to_come(changed_us, now_us) ? now_us : until_us;
}

bool schedule_is_by_other_clock(int64_t noted_us, int64_t until_us, int64_t now_us,
				int64_t longest_us)
{
	return until_us > now_us + longest_us ||
	       (until_us > now_us && is_to_come(noted_us, now_us));
}
