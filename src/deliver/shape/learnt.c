// SPDX-License-Identifier: ISC
#include "deliver/shape/learnt.h"
#include "base/timestamp.h"

static const int64_t LEARNT_KEPT_US = 60 * MINUTE_US;

uint32_t shape_learnt_most(const struct shape_learnt *learnt, int64_t now_us)
{
	return now_us < learnt->until_us ? learnt->most : 0;
}

bool shape_learnt_note(struct shape_learnt *learnt, uint32_t count, int64_t now_us)
{
	uint32_t most = shape_learnt_most(learnt, now_us);

	if (most > 0 && most <= count)
		return false;
	learnt->most = count;
	learnt->until_us = now_us + LEARNT_KEPT_US;
	return true;
}
