// SPDX-License-Identifier: ISC
#include "partition.h"
#include "accounts.h"
#include "links.h"
#include "mail.h"

static const int64_t SECOND = 1000000;

enum { SHORT_S = 20, LONG_S = 900, LATE_S = 60, SLOWNESS_MAX_MS = 4000 };

static int64_t duration_us(void)
{
	return SECOND +
	       (int64_t)kernel_below((kernel_one_in(2) ? SHORT_S : LONG_S) * (uint64_t)SECOND);
}

/* What passes between the nodes is late: mail, and changes of the directory. */
static void be_late(void *context)
{
	struct partition *partition = context;

	ledger_excuse();
	for (size_t i = 0; i < partition->count; i++)
		accounts_moved(partition->nodes[i]);
	if (kernel_now_us() < partition->late_until_us)
		kernel_at(kernel_now_us() + LATE_S * SECOND, be_late, partition);
}

static void change_way(const struct machine *from, const struct machine *to, bool is_cut,
		       int64_t until_us)
{
	if (is_cut)
		links_cut(from->address, to->address, until_us);
	else
		links_slow(from->address, to->address,
			   1000 * (int64_t)kernel_below(SLOWNESS_MAX_MS), until_us);
	world_log("partition", "%s to %s is %s for %lld s", from->name, to->name,
		  is_cut ? "cut" : "slow", (long long)((until_us - kernel_now_us()) / SECOND));
}

/* From node FIRST to OTHER, back, or both; OTHER the same: to all others. */
static void part(const struct partition *partition, size_t first, size_t other, int64_t until_us)
{
	const bool is_cut = !kernel_one_in(4);
	const unsigned ways = 1 + (unsigned)kernel_below(3);

	for (size_t i = 0; i < partition->count; i++) {
		if (i == first || (other != first && i != other))
			continue;
		if ((ways & 1) != 0)
			change_way(partition->nodes[first], partition->nodes[i], is_cut, until_us);
		if ((ways & 2) != 0)
			change_way(partition->nodes[i], partition->nodes[first], is_cut, until_us);
	}
}

static void plan(struct partition *partition);

static void strike(void *context)
{
	struct partition *partition = context;
	int64_t until_us = kernel_now_us() + duration_us();

	if (kernel_now_us() >= partition->calm_from_us || *partition->strikes_left == 0)
		return;
	--*partition->strikes_left;
	if (until_us > partition->calm_from_us)
		until_us = partition->calm_from_us;
	part(partition, kernel_below(partition->count), kernel_below(partition->count), until_us);
	if (partition->late_until_us < until_us + SECOND)
		partition->late_until_us = until_us + SECOND;
	be_late(partition);
	plan(partition);
}

static void plan(struct partition *partition)
{
	kernel_at(kernel_now_us() + 1 + (int64_t)kernel_below(2 * (uint64_t)partition->pause_us),
		  strike, partition);
}

void partition_begin(struct partition *partition)
{
	plan(partition);
}
