// SPDX-License-Identifier: ISC
#include "deliver/shape/meter.h"
#include <string.h>

enum { KEPT = SHAPE_SLICES + 1 };

static int64_t slice_us(int64_t interval_us)
{
	return (interval_us + SHAPE_SLICES - 1) / SHAPE_SLICES;
}

static uint32_t *slice_at_number(struct shape_meter *meter, int64_t number)
{
	return &meter->slices[number % KEPT];
}

/* Forgets the slices that are older than the interval. */
static void forget_old_slices(struct shape_meter *meter, int64_t interval_us, int64_t now_us)
{
	int64_t number = now_us / slice_us(interval_us);

	if (meter->interval_us != interval_us || number - meter->last >= KEPT) {
		memset(meter, 0, sizeof *meter);
		meter->interval_us = interval_us;
		meter->last = number;
	}
	while (meter->last < number) {
		uint32_t *oldest = slice_at_number(meter, ++meter->last);

		meter->total -= *oldest;
		*oldest = 0;
	}
}

uint64_t shape_meter_count(struct shape_meter *meter, int64_t interval_us, int64_t now_us)
{
	forget_old_slices(meter, interval_us, now_us);
	return meter->total;
}

void shape_meter_add(struct shape_meter *meter, int64_t interval_us, int64_t now_us,
		     uint32_t amount)
{
	forget_old_slices(meter, interval_us, now_us);
	*slice_at_number(meter, meter->last) += amount;
	meter->total += amount;
}

int64_t shape_meter_wait_us(struct shape_meter *meter, uint64_t limit, uint64_t under_way,
			    uint64_t amount, int64_t interval_us, int64_t now_us)
{
	uint64_t left;
	int64_t number;

	forget_old_slices(meter, interval_us, now_us);
	if (amount > limit)
		amount = limit;
	left = meter->total + under_way;
	if (left + amount <= limit)
		return 0;
	number = meter->last - SHAPE_SLICES; /* the oldest that counts */
	if (number < 0)
		number = 0;
	while (left + amount > limit && number <= meter->last)
		left -= *slice_at_number(meter, number++);
	return (number + SHAPE_SLICES) * slice_us(interval_us) - now_us;
}
