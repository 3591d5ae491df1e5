// SPDX-License-Identifier: ISC
#include "manager/schedule.h"
#include "base/timestamp.h"
#include <math.h>

int64_t schedule_next(int64_t born_us, int64_t now_us, unsigned skip, uint64_t random)
{
	int64_t age_us = now_us > born_us ? now_us - born_us : 0;
	double root = sqrt((double)age_us / (double)SECOND_US) + skip;
	int64_t next_us = born_us + (int64_t)(root * root * (double)SECOND_US);
	int64_t wait_us;

	if (next_us < now_us) /* born in the future: the clock was set back */
		next_us = now_us + (int64_t)skip * skip * SECOND_US;
	wait_us = next_us - now_us;
	return next_us - (int64_t)(random % (uint64_t)(wait_us / 10 + 1));
}
