// SPDX-License-Identifier: ISC
/*
 * deliver/shape/meter.h - how much of something there was in the interval that ends now. Pure.
 *
 * What we promise to another server is exact: in no interval of the length, whenever it begins, is
 * there more than the limit. So the interval is cut into slices, and a slice counts until all of it
 * is older than the interval; two counters, as limit/window.h has them, can allow nearly twice the
 * limit in an interval that they do not look at.
 */
#ifndef DELIVER_SHAPE_METER_H
#define DELIVER_SHAPE_METER_H

#include <stdint.h>

enum { SHAPE_SLICES = 60 };

/* Zeros: nothing came. */
struct shape_meter {
	int64_t interval_us;
	int64_t last; /* the newest slice's number, counted from the clock's 0 */
	uint32_t slices[SHAPE_SLICES + 1]; /* the newest one is only begun */
	uint64_t total;
};

/* How much there was in INTERVAL_US until NOW_US, monotonic. */
uint64_t shape_meter_count(struct shape_meter *meter, int64_t interval_us, int64_t now_us);
void shape_meter_add(struct shape_meter *meter, int64_t interval_us, int64_t now_us,
		     uint32_t amount);
/* In how long AMOUNT more stays within LIMIT, if nothing else comes; 0: now. An AMOUNT above LIMIT
 * is taken for LIMIT. UNDER_WAY is not added yet: as it can only be later, it counts like what
 * comes now. */
int64_t shape_meter_wait_us(struct shape_meter *meter, uint64_t limit, uint64_t under_way,
			    uint64_t amount, int64_t interval_us, int64_t now_us);

#endif
