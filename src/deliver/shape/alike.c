// SPDX-License-Identifier: ISC
#include "deliver/shape/alike.h"
#include "base/timestamp.h"
#include <string.h>

static const int64_t ALIKE_KEPT_US = 5 * MINUTE_US;

static bool is_of_other(const struct shape_told *one, const struct shape_told *other)
{
	return one->reply == other->reply && one->sender != other->sender &&
	       (one->recipient == 0 || one->recipient != other->recipient);
}

static enum shape_told_whom whom_reply_concerns(const struct shape_alike *alike,
						const struct shape_told *told)
{
	bool is_only = false;

	for (size_t i = 0; i < alike->count; i++) {
		const struct shape_told *before = &alike->last[i].told;

		if (!alike->last[i].is_over && is_of_other(told, before))
			return SHAPE_TOLD_OTHERS;
		is_only |= alike->last[i].is_over && before->reply == told->reply &&
			   before->sender == told->sender;
	}
	return is_only ? SHAPE_TOLD_ONLY : SHAPE_TOLD_ONE;
}

enum shape_told_whom shape_alike_refused(struct shape_alike *alike, const struct shape_told *told,
					 int64_t now_us)
{
	enum shape_told_whom result;

	while (alike->count > 0 && now_us - alike->last[alike->count - 1].at_us >= ALIKE_KEPT_US)
		alike->count--;
	result = whom_reply_concerns(alike, told);
	if (alike->count < SHAPE_ALIKE_MAX)
		alike->count++;
	memmove(alike->last + 1, alike->last, (alike->count - 1) * sizeof alike->last[0]);
	alike->last[0].told = *told;
	alike->last[0].at_us = now_us;
	alike->last[0].is_over = false;
	return result;
}

void shape_alike_taken(struct shape_alike *alike)
{
	for (size_t i = 0; i < alike->count; i++)
		alike->last[i].is_over = true;
}
