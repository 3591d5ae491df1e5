// SPDX-License-Identifier: ISC
#include "manager/tally.h"
#include "base/timestamp.h"

static int64_t slot_at(int64_t now_us)
{
	return now_us / (TALLY_SLOT_SECONDS * SECOND_US);
}

void tally_add(struct tally *tally, int64_t now_us)
{
	int64_t slot = slot_at(now_us);
	int64_t first = slot - TALLY_SLOTS > tally->slot ? slot - TALLY_SLOTS : tally->slot;

	for (int64_t past = first + 1; past <= slot; past++)
		tally->slots[past % TALLY_SLOTS] = 0;
	tally->slot = slot;
	tally->slots[slot % TALLY_SLOTS]++;
	tally->total++;
}

uint64_t tally_last_minute(const struct tally *tally, int64_t now_us)
{
	int64_t slot = slot_at(now_us);
	uint64_t sum = 0;

	for (int64_t past = tally->slot;
	     past > tally->slot - TALLY_SLOTS && past > slot - TALLY_SLOTS; past--)
		if (past >= 0)
			sum += tally->slots[past % TALLY_SLOTS];
	return sum;
}
