// SPDX-License-Identifier: ISC
/*
 * manager/tally.h - how often something has happened: in all, and in the last minute. Values only.
 */
#ifndef MANAGER_TALLY_H
#define MANAGER_TALLY_H

#include <stddef.h>
#include <stdint.h>

enum { TALLY_SLOTS = 12, TALLY_SLOT_SECONDS = 5 };

/* Zeroed at first. */
struct tally {
	uint64_t total;
	uint64_t slots[TALLY_SLOTS]; /* by time, in a circle */
	int64_t slot;                /* the latest, counted from the beginning of time */
};

/* NOW_US: monotonic, here and below. */
void tally_add(struct tally *tally, int64_t now_us);
/* The slot of NOW_US has begun within the last five seconds, so these are at least 55 seconds. */
uint64_t tally_last_minute(const struct tally *tally, int64_t now_us);

#endif
