// SPDX-License-Identifier: ISC
#include "manager/wait/pace.h"
#include "base/timestamp.h"

static const int64_t QUIET_US = SECOND_US;
static const int64_t CREDIT_US = SECOND_US / 10; /* saved up at most, at the current rate */

/* Above this load a resource is scarce, in thousandths. */
enum { SCARCE = 850 };

static const double GROWTH = 1.25;
static const double SHRINKAGE = 0.6;

void pace_new_mail(struct pace *pace, int64_t now_us)
{
	if (pace_is_quiet(pace,
			  now_us)) { /* the rate learnt before was for a machine without load */
		pace->rate = PACE_FLOOR;
		pace->credit = 0;
		pace->credited_us = now_us;
		pace->stepped_us = now_us;
	}
	pace->new_mail_us = now_us;
}

bool pace_is_quiet(const struct pace *pace, int64_t now_us)
{
	return pace->new_mail_us == 0 || now_us - pace->new_mail_us > QUIET_US;
}

bool pace_wants_load(const struct pace *pace, int64_t now_us)
{
	return now_us - pace->stepped_us >= PACE_STEP_US;
}

void pace_load(struct pace *pace, int64_t now_us, unsigned processors, unsigned disk)
{
	pace->stepped_us = now_us;
	if (processors > SCARCE || disk > SCARCE)
		pace->rate *= SHRINKAGE;
	else if (pace->was_short) /* an unused rate must not grow: it would come as a burst */
		pace->rate = pace->rate * GROWTH + 1;
	pace->was_short = false;
	if (pace->rate < PACE_FLOOR)
		pace->rate = PACE_FLOOR;
	if (pace->rate > PACE_CEILING)
		pace->rate = PACE_CEILING;
}

static void add_credit(struct pace *pace, int64_t now_us)
{
	double most = pace->rate * (double)CREDIT_US / (double)SECOND_US;

	if (most < 1)
		most = 1;
	pace->credit += pace->rate * (double)(now_us - pace->credited_us) / (double)SECOND_US;
	pace->credited_us = now_us;
	if (pace->credit > most)
		pace->credit = most;
}

bool pace_take(struct pace *pace, int64_t now_us)
{
	if (pace_is_quiet(pace, now_us))
		return true;
	add_credit(pace, now_us);
	pace->was_short |= pace->credit < 1;
	if (pace->credit < 1)
		return false;
	pace->credit -= 1;
	return true;
}

int64_t pace_wait_us(const struct pace *pace, int64_t now_us)
{
	double lacking = 1 - pace->credit;

	if (pace_is_quiet(pace, now_us) || lacking <= 0)
		return 0;
	return (int64_t)(lacking / pace->rate * (double)SECOND_US) + 1;
}
