// SPDX-License-Identifier: ISC
/* Deliveries by what they have in common, against sums of a few arrays; as many groups as there may
 * be, and more. */
#include "base/timestamp.h"
#include "chance.h"
#include "queue/listing/listing.h"
#include "test.h"
#include "unit/queue/queue_scene.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOMAINS = 6, MESSAGES = 20 };

struct group {
	uint64_t deliveries, messages;
	int64_t oldest_us;
};

static struct {
	struct queue_store *store;
	struct queue_intake *intake;
	struct group domains[DOMAINS], all;
	uint64_t told_deliveries, last;
	unsigned groups, rests;
} world;

/* To COUNT recipients, whose domains begin with FIRST. */
static void enqueue(size_t first, size_t count, size_t domains, int64_t born_us)
{
	struct mail_envelope *envelope = queue_scene_envelope();
	bool is_met[DOMAINS] = {false};

	envelope->id.born_us = born_us;
	for (size_t i = 0; i < count; i++) {
		size_t domain = domains > 0 ? chance(domains) : first + i;
		char address[40];

		snprintf(address, sizeof address, "u%zu@%cD%zu.Example", i,
			 chance(2) == 0 ? 'd' : 'D', domain);
		mail_envelope_add(envelope, arena_copy_str(envelope->arena, str_from(address)));
		if (domains == 0)
			continue;
		world.domains[domain].deliveries++;
		world.domains[domain].messages += !is_met[domain];
		is_met[domain] = true;
		if (world.domains[domain].oldest_us == 0 ||
		    born_us < world.domains[domain].oldest_us)
			world.domains[domain].oldest_us = born_us;
	}
	world.all.deliveries += count;
	world.all.messages++;
	if (world.all.oldest_us == 0 || born_us < world.all.oldest_us)
		world.all.oldest_us = born_us;
	(void)queue_scene_enqueue(world.intake, envelope, "data\r\n");
}

static void take_domain(void *context, const struct listing_group *group)
{
	size_t domain = group->name.length > 2 ? (size_t)(group->name.data[2] - '0') : DOMAINS;

	(void)context;
	assert_false(group->is_rest);
	assert_true(domain < DOMAINS && str_equal(str_skip(group->name, 3), STR(".example")));
	assert_int_equal(group->deliveries, world.domains[domain].deliveries);
	assert_int_equal(group->messages, world.domains[domain].messages);
	assert_int_equal(group->oldest_us, world.domains[domain].oldest_us);
	assert_true(world.last == 0 || group->deliveries <= world.last);
	world.last = group->deliveries;
	world.told_deliveries += group->deliveries;
	world.groups++;
}

static void take_reason(void *context, const struct listing_group *group)
{
	(void)context;
	assert_true(str_equal(group->name, STR("not tried")));
	assert_int_equal(group->deliveries, world.all.deliveries);
	assert_int_equal(group->messages, world.all.messages);
	assert_int_equal(group->oldest_us, world.all.oldest_us);
	world.groups++;
}

static void sums_are_right(void **state)
{
	(void)state;
	for (size_t count = 0; count < MESSAGES; count++) {
		world.groups = 0;
		world.told_deliveries = world.last = 0;
		assert_int_equal(
			listing_groups(world.store, LISTING_BY_DESTINATION, take_domain, NULL), 0);
		assert_int_equal(world.told_deliveries, world.all.deliveries);
		world.groups = 0;
		assert_int_equal(listing_groups(world.store, LISTING_BY_REASON, take_reason, NULL),
				 0);
		assert_int_equal(world.groups, count > 0);
		enqueue(0, 1 + chance(8), DOMAINS, SECOND_US * (int64_t)(10 + chance(100)));
	}
}

static void count_groups(void *context, const struct listing_group *group)
{
	(void)context;
	world.groups++;
	world.told_deliveries += group->deliveries;
	world.rests += group->is_rest;
	assert_int_equal(group->name.length == 0, group->is_rest);
	if (world.rests > 0)
		assert_true(group->is_rest); /* it comes last */
	if (group->is_rest)
		assert_int_equal(group->deliveries, world.all.deliveries - LISTING_GROUPS_MAX);
}

static void groups_have_a_bound(void **state)
{
	static const size_t steps[] = {LISTING_GROUPS_MAX - 1, 1, 1, 1};
	size_t made = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(steps); i++) {
		enqueue(made, steps[i], 0, 10 * SECOND_US);
		made += steps[i];
		world.groups = world.rests = 0;
		world.told_deliveries = 0;
		assert_int_equal(
			listing_groups(world.store, LISTING_BY_DESTINATION, count_groups, NULL), 0);
		assert_int_equal(world.told_deliveries, made);
		assert_int_equal(world.rests, made > LISTING_GROUPS_MAX);
		assert_int_equal(world.groups, made < LISTING_GROUPS_MAX
						       ? made
						       : LISTING_GROUPS_MAX + world.rests);
	}
}

static int set_up(void **state)
{
	memset(&world, 0, sizeof world);
	if (queue_scene_set_up(state) != 0)
		return -1;
	world.store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	world.intake = queue_scene_intake(world.store);
	return 0;
}

static int tear_down(void **state)
{
	queue_intake_close(world.intake);
	queue_store_close(world.store);
	return queue_scene_tear_down(state);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(sums_are_right),
		CASE(groups_have_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
