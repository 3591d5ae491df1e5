// SPDX-License-Identifier: ISC
#include "intake/limit/pace.h"
#include "base/timestamp.h"

void intake_pace_reset(struct intake_pace *pace)
{
	*pace = (struct intake_pace){0};
}

void intake_pace_wait(struct intake_pace *pace, int64_t now_us)
{
	if (pace->since_us == 0)
		pace->since_us = now_us;
}

void intake_pace_receive(struct intake_pace *pace, int64_t now_us, uint64_t count)
{
	if (pace->since_us > 0)
		pace->waited_us += now_us - pace->since_us;
	pace->since_us = 0;
	pace->bytes += count;
}

int64_t intake_pace_waited_us(const struct intake_pace *pace, int64_t now_us)
{
	return pace->waited_us + (pace->since_us > 0 ? now_us - pace->since_us : 0);
}

int64_t intake_pace_left_us(const struct intake_pace *pace, int64_t timeout_us, uint32_t rate)
{
	int64_t earned_us;

	if (rate == 0)
		return timeout_us;
	earned_us = (int64_t)(pace->bytes / rate) * SECOND_US;
	return earned_us >= pace->waited_us ? timeout_us : timeout_us + earned_us - pace->waited_us;
}

bool intake_pace_is_over(const struct intake_pace *pace, int64_t timeout_us, uint32_t rate,
			 int64_t now_us)
{
	return pace->since_us > 0 &&
	       now_us - pace->since_us >= intake_pace_left_us(pace, timeout_us, rate);
}
