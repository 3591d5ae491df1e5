// SPDX-License-Identifier: ISC
#include "policy/sts/age.h"
#include "os/clock.h"

/* A clock that is a little slow, or was set a little, is not wrong. */
static const int64_t TOLERANCE_US = HOUR_US;

static bool is_from_future(const struct sts_age *age)
{
	return os_clock_wall_us() < age->fetched_us - TOLERANCE_US;
}

void sts_age_begin(struct sts_age *age, int64_t fetched_us, int64_t max_age_us)
{
	int64_t old_us = os_clock_wall_us() - fetched_us;

	*age = (struct sts_age){
		.fetched_us = fetched_us,
		.length_us = max_age_us > MINUTE_US ? max_age_us : MINUTE_US,
		.learnt_us = os_clock_boot_us(),
	};
	/* one from the future would be valid for too long */
	age->begin_us = age->learnt_us - (old_us > 0 ? old_us : 0);
	age->is_doubted = old_us >= age->length_us;
}

static bool is_over_by_wall(const struct sts_age *age)
{
	return is_from_future(age) || os_clock_wall_us() >= age->fetched_us + age->length_us;
}

void sts_age_settle(struct sts_age *age)
{
	if (age->is_doubted && !is_over_by_wall(age))
		sts_age_begin(age, age->fetched_us, age->length_us);
}

bool sts_age_is_over(const struct sts_age *age)
{
	if (age->is_doubted)
		return is_over_by_wall(age);
	return os_clock_boot_us() >= age->begin_us + age->length_us;
}

bool sts_age_is_over_for_good(const struct sts_age *age)
{
	if (!sts_age_is_over(age))
		return false;
	return !age->is_doubted || os_clock_boot_us() >= age->learnt_us + STS_AGE_DOUBT_US;
}

bool sts_age_is_due(const struct sts_age *age, int64_t pause_us)
{
	return os_clock_boot_us() >= age->begin_us + pause_us || is_from_future(age);
}

int64_t sts_age_end_us(const struct sts_age *age)
{
	return os_clock_wall_us() + age->begin_us + age->length_us - os_clock_boot_us();
}
