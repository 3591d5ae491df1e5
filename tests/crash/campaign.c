// SPDX-License-Identifier: ISC
/*
 * tests/crash/campaign.c - runs every scenario and cuts the power wherever it
 * makes a difference; makes every call fail once; and proves with mutants that
 * it would notice.
 *
 * crash [-v | --some]
 *
 * --some, for a build that is slow: no mutants, hardly any states by chance, one error a call.
 */
#include "base/panic.h"
#include "base/timestamp.h"
#include "recorder.h"
#include "scenario.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	EXHAUSTIVE_MAX = 5,
	SAMPLES = 8,
	LIGHT_SAMPLES = 2,
	DEEP_SAMPLES = 2,
	SOME_SAMPLES = 1, /* instead of each of these */
	DEEP_EVERY = 150,
	DEEP_OFTEN = 1,
	ITEMS_MAX = 4096
};

static struct {
	bool is_broken; /* a promise was, in this run */
	bool goes_deep; /* what comes after a cut is cut as well */
	bool is_some;   /* --some */
	const char *scenario;
	struct buffer why;
	uint64_t states;
	uint64_t seen_changes;
	uint64_t seen_version;
	bool seen_full;
	uint64_t deep_runs;
	unsigned deep_every;
	const struct mutant *deep_mutant;
	uint32_t random;
} campaign;

static uint32_t next_random(void)
{
	campaign.random = campaign.random * 1664525u + 1013904223u;
	return campaign.random >> 8;
}

static void try_aftermath(const struct disk *disk, const bool *keep);

/* Cuts the power with these items on the disk, and judges. */
static void try_state(const struct disk *disk, bool *keep)
{
	struct world *world;
	struct world *before;
	struct recorder outside = recorder;
	struct buffer why = {0};

	if (disk->is_ordered)
		disk_keep_order(disk, keep);
	world = world_new(disk_crash(disk, keep, true));
	before = world_enter(world);

	recorder.before = NULL;
	recorder.mutant = NULL;
	recorder.fail_at = 0;
	campaign.states++;
	if (!ledger_holds(&why) && !campaign.is_broken) {
		campaign.is_broken = true;
		buffer_reset(&campaign.why);
		buffer_append_str(&campaign.why, buffer_view(&why));
	}
	buffer_clear(&why);
	recorder = outside;
	world_enter(before);
	world_free(world);
	if (campaign.goes_deep && campaign.states % campaign.deep_every == 0)
		try_aftermath(disk, keep);
}

static void try_with(const struct disk *disk, size_t count, bool *keep, bool others, size_t one)
{
	for (size_t i = 0; i < count; i++)
		keep[i] = i == one ? !others : others;
	try_state(disk, keep);
}

/* Bytes by chance, and all that is in an order up to one of ORDERS. */
static void keep_sample(const uint64_t *orders, size_t count, bool *keep)
{
	size_t number = 0;
	uint64_t last;

	for (size_t i = 0; i < count; i++)
		number += orders[i] > 0;
	last = number > 0 ? orders[next_random() % count] : 0;
	for (size_t i = 0; i < count; i++)
		keep[i] = orders[i] > 0 && last > 0 ? orders[i] <= last : (next_random() & 1) != 0;
}

static void try_samples(const struct disk *disk, size_t count, bool *keep, unsigned samples)
{
	uint64_t orders[ITEMS_MAX] = {0};

	if (disk->is_ordered)
		disk_orders(disk, orders);
	if (campaign.is_some)
		samples = SOME_SAMPLES;
	for (unsigned s = 0; s < samples && !campaign.is_broken; s++) {
		keep_sample(orders, count, keep);
		try_state(disk, keep);
	}
}

/* As few bytes as there may be with everything up to each of ORDERS. */
static void try_orders(const struct disk *disk, size_t count, bool *keep)
{
	uint64_t orders[ITEMS_MAX] = {0};

	disk_orders(disk, orders);
	for (size_t n = 0; n < count && !campaign.is_broken; n++) {
		if (orders[n] == 0)
			continue;
		for (size_t i = 0; i < count; i++)
			keep[i] = orders[i] > 0 && orders[i] <= orders[n];
		try_state(disk, keep);
	}
}

static void look_deep(void)
{
	bool keep[ITEMS_MAX];
	struct world *world = world_enter(NULL);
	const struct disk *disk = world_disk(world);
	size_t count = disk_undecided(disk);

	world_enter(world);
	if (campaign.is_broken || count > ITEMS_MAX)
		return;
	try_with(disk, count, keep, false, count);
	try_with(disk, count, keep, true, count);
	/* a removal that a mutant did not sync, and all that came after it */
	for (size_t i = 0; recorder.mutant != NULL && i < count && !campaign.is_broken; i++)
		try_with(disk, count, keep, true, i);
	try_samples(disk, count, keep, DEEP_SAMPLES);
}

static void before_deep_call(enum call call, const char *place)
{
	(void)place;
	if (call == CALL_SYNC || call == CALL_WRITE_OUT || call == CALL_SYNC_DIRECTORY ||
	    call == CALL_SYNC_FILESYSTEM)
		look_deep();
}

/* Recovers from a cut, takes new messages in, and is cut again. */
static void try_aftermath(const struct disk *disk, const bool *keep)
{
	struct world *world = world_new(disk_crash(disk, keep, false));
	struct world *before = world_enter(world);
	struct recorder outside = recorder;
	struct ledger promises = ledger;
	void (*look_before)(void) = scenario_look;

	campaign.goes_deep = false;
	campaign.deep_runs++;
	recorder.before = before_deep_call;
	recorder.mutant = campaign.deep_mutant;
	scenario_look = look_deep;
	scenario_aftermath();
	look_deep();
	for (size_t i = promises.count; i < ledger.count; i++) {
		buffer_clear(&ledger.messages[i].data);
		buffer_clear(&ledger.messages[i].control);
	}
	scenario_look = look_before;
	ledger = promises;
	outside.mutant_has_struck |= recorder.mutant_has_struck;
	recorder = outside;
	campaign.goes_deep = true;
	world_enter(before);
	world_free(world);
}

static void try_all(const struct disk *disk, size_t count, bool *keep)
{
	for (size_t set = 0; set < (size_t)1 << count && !campaign.is_broken; set++) {
		for (size_t i = 0; i < count; i++)
			keep[i] = (set >> i & 1) != 0;
		try_state(disk, keep);
	}
}

/* Every state that the power could leave now, or enough of them. */
static void look(bool is_full)
{
	struct disk *disk;
	bool keep[ITEMS_MAX];
	size_t count;
	struct world *world = world_enter(NULL);

	world_enter(world);
	disk = world_disk(world);
	count = disk_undecided(disk);
	if (campaign.is_broken || count > ITEMS_MAX)
		return;
	if (disk->changes == campaign.seen_changes && ledger.version == campaign.seen_version &&
	    campaign.seen_full >= is_full)
		return;
	campaign.seen_changes = disk->changes;
	campaign.seen_version = ledger.version;
	campaign.seen_full = is_full;
	if (count <= EXHAUSTIVE_MAX && is_full) {
		try_all(disk, count, keep);
		return;
	}
	try_with(disk, count, keep, false, count);
	try_with(disk, count, keep, true, count);
	if (disk->is_ordered && is_full)
		try_orders(disk, count, keep);
	for (size_t i = 0; is_full && i < count && !campaign.is_broken; i++) {
		try_with(disk, count, keep, false, i);
		try_with(disk, count, keep, true, i);
	}
	try_samples(disk, count, keep, is_full ? SAMPLES : LIGHT_SAMPLES);
}

/* A state before a sync has in it all those since the last one; in between it
 * is enough to look here and there. */
static void before_call(enum call call, const char *place)
{
	(void)place;
	switch (call) {
	case CALL_SYNC:
	case CALL_WRITE_OUT:
	case CALL_SYNC_DIRECTORY:
	case CALL_SYNC_FILESYSTEM:
		look(true);
		break;
	case CALL_WRITE:
	case CALL_TRUNCATE:
	case CALL_LINK:
	case CALL_RENAME:
	case CALL_UNLINK:
		if (recorder.mutant == NULL)
			look(false);
		break;
	default:
		break;
	}
}

static void look_at_promise(void)
{
	if (recorder.before != NULL)
		look(true);
}

static struct world *begin_run(const struct scenario *scenario, enum queue_sync sync,
			       const struct disk *base)
{
	struct disk *disk;

	ledger_reset();
	ledger.sync = sync;
	ledger.spares = scenario->spares;
	ledger.has_queue = !scenario->is_empty_disk;
	ledger.may_be_damaged = scenario->is_by_hand;
	campaign.is_broken = false;
	campaign.scenario = scenario->name;
	campaign.random = 1;
	campaign.seen_changes = UINT64_MAX;
	recorder = (struct recorder){.now_us = 1000 * DAY_US};
	scenario_look = look_at_promise;
	disk = scenario->is_empty_disk ? disk_new() : disk_copy(base);
	disk->is_ordered = sync == QUEUE_SYNC_ORDERED;
	return world_new(disk);
}

static bool run_with_cuts(const struct scenario *scenario, enum queue_sync sync,
			  const struct disk *base, const struct mutant *mutant)
{
	struct world *world = begin_run(scenario, sync, base);
	bool is_late = mutant != NULL && mutant->is_aftermath;

	world_enter(world);
	recorder.mutant = is_late ? NULL : mutant;
	campaign.deep_mutant = is_late ? mutant : NULL;
	campaign.deep_every = is_late ? DEEP_OFTEN : DEEP_EVERY;
	campaign.goes_deep = (mutant == NULL || is_late) && !scenario->is_empty_disk;
	recorder.before = before_call;
	scenario->run();
	look(true);
	campaign.goes_deep = false;
	world_enter(NULL);
	world_free(world);
	return !campaign.is_broken;
}

static unsigned report(enum queue_sync sync, const char *what)
{
	printf("FAILED: %s (%s), %s: " STR_FORMAT "\n", campaign.scenario, queue_sync_name(sync),
	       what, STR_ARGUMENTS(buffer_view(&campaign.why)));
	return 1;
}

/* After one failed call everything goes on; then the process ends, or the power. */
static unsigned run_with_fault(const struct scenario *scenario, enum queue_sync sync,
			       const struct disk *base, uint64_t at, int error, uint64_t *calls_out)
{
	struct world *world = begin_run(scenario, sync, base);
	unsigned failures = 0;
	struct disk *disk;
	bool keep[ITEMS_MAX] = {0};
	size_t count;

	world_enter(world);
	recorder.fail_at = at;
	recorder.fail_with = error;
	scenario->run();
	*calls_out = recorder.calls;
	disk = world_disk(world);
	count = disk_undecided(disk);
	if (count <= ITEMS_MAX) {
		try_with(disk, count, keep, true, count);
		try_with(disk, count, keep, false, count);
		try_samples(disk, count, keep, 2);
	}
	if (campaign.is_broken)
		failures = report(sync, recorder.failed);
	world_enter(NULL);
	world_free(world);
	return failures;
}

static unsigned run_faults(const struct scenario *scenario, enum queue_sync sync,
			   const struct disk *base, uint64_t *faults)
{
	static const int errors[] = {-EIO, -ENOSPC, -EDQUOT, -EMFILE, -ENFILE};
	unsigned failures = 0;
	uint64_t calls = 1;

	for (uint64_t at = 1; at <= calls && failures < 5; at++) {
		/* nothing in the queue tells one error from another, but for these */
		if (!campaign.is_some || at % 2 == 0) {
			failures += run_with_fault(scenario, sync, base, at, -EIO, &calls);
			++*faults;
		}
		if (!campaign.is_some || at % 2 != 0) {
			failures += run_with_fault(scenario, sync, base, at,
						   errors[1 + at % (COUNT_OF(errors) - 1)], &calls);
			++*faults;
		}
	}
	return failures;
}

/* Only creation syncs these directories, and all in that mode. */
static bool is_of_creation(const struct mutant *mutant, enum queue_sync sync)
{
	static const char *const places[] = {".", "..", "format.new"};

	for (size_t i = 0; i < COUNT_OF(places); i++)
		if (strcmp(mutant->place, places[i]) == 0)
			return true;
	return sync == QUEUE_SYNC_FILESYSTEM && mutant->call == CALL_SYNC_DIRECTORY &&
	       !mutant->is_aftermath;
}

static bool is_caught(const struct mutant *mutant, enum queue_sync sync, const struct disk *base,
		      bool is_verbose)
{
	bool has_struck = false;

	/* creation, the first, is for its own mutants: it would hide who else notices; what
	 * comes after a cut is told apart soonest where numbers are used again at once */
	for (size_t n = 0; n < scenario_count; n++) {
		size_t i = mutant->is_aftermath
				   ? scenario_count - 1 - n
				   : (n + !is_of_creation(mutant, sync)) % scenario_count;
		bool is_whole = run_with_cuts(&scenarios[i], sync, base, mutant);

		has_struck |= recorder.mutant_has_struck;
		if (is_whole)
			continue;
		if (is_verbose)
			printf("caught: %s (%s) by %s: " STR_FORMAT "\n", mutant->name,
			       queue_sync_name(sync), scenarios[i].name,
			       STR_ARGUMENTS(buffer_view(&campaign.why)));
		return true;
	}
	printf("SURVIVED: %s (%s)%s\n", mutant->name, queue_sync_name(sync),
	       has_struck ? "" : ", which never struck");
	return false;
}

static unsigned run_mutants(enum queue_sync sync, const struct disk *base, bool is_verbose,
			    unsigned *total)
{
	unsigned mode = 1u << sync;
	unsigned caught = 0;

	for (size_t i = 0; i < mutant_count; i++) {
		if ((mutants[i].modes & mode) == 0)
			continue;
		++*total;
		caught += is_caught(&mutants[i], sync, base, is_verbose);
	}
	return caught;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	bool is_verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	unsigned failures = 0;
	unsigned total = 0;
	unsigned caught = 0;
	uint64_t faults = 0;
	double start = now();

	campaign.is_some = argc > 1 && strcmp(argv[1], "--some") == 0;
	for (enum queue_sync sync = QUEUE_SYNC_FILES; sync <= QUEUE_SYNC_ORDERED; sync++) {
		struct disk *base;

		ledger.sync = sync;
		recorder = (struct recorder){0};
		base = scenario_prepare();
		for (size_t i = 0; i < scenario_count; i++) {
			uint64_t states = campaign.states;

			if (!run_with_cuts(&scenarios[i], sync, base, NULL))
				failures += report(sync, "power cut");
			if (is_verbose)
				printf("%s (%s): %llu states, %.1f s\n", scenarios[i].name,
				       queue_sync_name(sync),
				       (unsigned long long)(campaign.states - states),
				       now() - start);
		}
		for (size_t i = 0; i < scenario_count; i++)
			failures += run_faults(&scenarios[i], sync, base, &faults);
		if (is_verbose)
			printf("faults: %.1f s\n", now() - start);
		if (!campaign.is_some)
			caught += run_mutants(sync, base, is_verbose, &total);
		if (is_verbose)
			printf("mutants: %.1f s\n", now() - start);
		disk_free(base);
	}
	ledger_reset();
	buffer_clear(&campaign.why);
	printf("second cuts after %llu of them\n", (unsigned long long)campaign.deep_runs);
	printf("crash states: %llu, faults: %llu, failures: %u\n",
	       (unsigned long long)campaign.states, (unsigned long long)faults, failures);
	printf("mutants: %u of %u caught\n", caught, total);
	printf("seconds: %.1f\n", now() - start);
	return failures > 0 || caught < total;
}
