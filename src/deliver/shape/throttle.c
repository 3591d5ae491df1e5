// SPDX-License-Identifier: ISC
#include "deliver/shape/throttle.h"
#include "base/timestamp.h"

enum { HALVINGS_MAX = 6 };

static const int64_t PROBE_US = 5 * MINUTE_US;

static int64_t longer_time_us(int64_t one_us, int64_t other_us)
{
	return one_us > other_us ? one_us : other_us;
}

static void widen_throttle_gap(struct shape_throttle *throttle, unsigned seen)
{
	if (throttle->gap_us == 0) {
		unsigned rate = seen > 2 ? seen : 2; /* one a minute at least */

		throttle->gap_us = 2 * MINUTE_US / rate;
		throttle->free_gap_us = MINUTE_US / rate / 2;
		throttle->halvings = 0;
	} else if (++throttle->halvings >= HALVINGS_MAX || throttle->gap_us * 2 > PROBE_US) {
		throttle->gap_us = PROBE_US;
	} else {
		throttle->gap_us *= 2;
	}
}

bool shape_throttle_slow(struct shape_throttle *throttle, unsigned seen, int64_t wait_us,
			 int64_t began_us, int64_t now_us)
{
	bool is_new = throttle->gap_us == 0 || began_us >= throttle->slowed_us;

	if (now_us + wait_us > throttle->not_before_us && wait_us > 0)
		throttle->not_before_us = now_us + wait_us;
	else if (!is_new)
		return false;
	if (is_new) {
		widen_throttle_gap(throttle, seen);
		throttle->slowed_us = throttle->stepped_us = now_us;
		throttle->sent_us = now_us; /* the next comes a gap later */
	}
	return true;
}

/* While nothing may be sent, nothing can be learnt. */
static int64_t next_step_us(const struct shape_throttle *throttle)
{
	return longer_time_us(throttle->stepped_us, throttle->not_before_us) +
	       longer_time_us(throttle->gap_us, MINUTE_US);
}

bool shape_throttle_recover(struct shape_throttle *throttle, int64_t now_us)
{
	if (throttle->gap_us == 0)
		return false;
	while (now_us >= next_step_us(throttle)) {
		throttle->stepped_us = next_step_us(throttle);
		throttle->gap_us = throttle->gap_us * 2 / 3;
		if (throttle->gap_us < throttle->free_gap_us) {
			throttle->gap_us = 0;
			return true;
		}
	}
	return false;
}

bool shape_throttle_is_paused(const struct shape_throttle *throttle, int64_t now_us)
{
	return throttle->not_before_us > now_us;
}

bool shape_throttle_is_free(const struct shape_throttle *throttle, int64_t now_us)
{
	return throttle->gap_us == 0 && !shape_throttle_is_paused(throttle, now_us);
}

int64_t shape_throttle_wait_us(const struct shape_throttle *throttle, int64_t now_us)
{
	int64_t next_us = throttle->not_before_us;

	if (throttle->gap_us > 0)
		next_us = longer_time_us(next_us, throttle->sent_us + throttle->gap_us);
	return next_us > now_us ? next_us - now_us : 0;
}

void shape_throttle_send(struct shape_throttle *throttle, int64_t now_us)
{
	throttle->sent_us = now_us;
}
