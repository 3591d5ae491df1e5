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

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

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

/* --- names --- */

#define REMOTE "map: 1 remote <b@Example.NET>\nmapped: directory=1 count=1\n"
#define WAIT   "wait: 1 2026-11-20T08:33:14Z until=2026-11-20T08:40:01Z 4.4.1 "

static const struct named {
	const char *control;
	const char *by_reason, *by_destination;
} all_named[] = {
	{REMOTE, "not tried", "example.net"},
	{REMOTE WAIT "no\n", "4.4.1 no", "example.net"},
	{REMOTE WAIT "id 12345 at 123 of 1.2.3.4 12:34:56 x1y2z3w4\n",
	 "4.4.1 id # at 123 of 1.2.3.4 12:34:56 #", "example.net"},
	{"map: 1 local box <b@c>\nmapped: directory=1 count=1\n", "not tried", "local box"},
	{"map: 1 local box server=10.0.0.7:24 <b@c>\nmapped: directory=1 count=1\n", "not tried",
	 "local box 10.0.0.7:24"},
};

static void expect_name(void *context, const struct listing_group *group)
{
	const char *wanted = context;

	if (!str_equal(group->name, str_from(wanted)))
		fail_msg("\"" STR_FORMAT "\", not \"%s\"", STR_ARGUMENTS(group->name), wanted);
	world.groups++;
}

static void expect_only_name(enum listing_by by, const char *wanted)
{
	char copy[200];

	snprintf(copy, sizeof copy, "%s", wanted);
	world.groups = 0;
	assert_int_equal(listing_groups(world.store, by, expect_name, copy), 0);
	assert_int_equal(world.groups, 1);
}

static void put_waiting(const char *control)
{
	uint64_t number = queue_scene_enqueue(world.intake, NULL, "data\r\n");

	queue_scene_preprocess(world.store, world.intake, number, control, "");
}

static void a_group_has_the_name_of_what_is_common(void **state)
{
	for (size_t i = 0; i < COUNT_OF(all_named); i++) {
		assert_int_equal(set_up(state), 0);
		put_waiting(all_named[i].control);
		expect_only_name(LISTING_BY_REASON, all_named[i].by_reason);
		expect_only_name(LISTING_BY_DESTINATION, all_named[i].by_destination);
		assert_int_equal(tear_down(state), 0);
	}
}

/* Words are cut where the name is full. */
static void a_name_has_so_many_bytes(void **state)
{
	enum { NAME_MAX_BYTES = 160, STATUS = 6 /* "4.4.1 " */ };

	for (size_t length = NAME_MAX_BYTES - 3; length < NAME_MAX_BYTES + 4; length++) {
		struct buffer control CLEANUP(buffer_clear) = {0};
		struct buffer wanted CLEANUP(buffer_clear) = {0};

		assert_int_equal(set_up(state), 0);
		buffer_append_string(&control, REMOTE WAIT);
		buffer_append_string(&wanted, "4.4.1 ");
		for (size_t i = STATUS; i < length; i++) {
			buffer_append_byte(&control, 'x');
			if (wanted.length < NAME_MAX_BYTES)
				buffer_append_byte(&wanted, 'x');
		}
		buffer_append_byte(&control, '\n');
		buffer_append_byte(&control, '\0');
		buffer_append_byte(&wanted, '\0');
		put_waiting(buffer_data(&control));
		expect_only_name(LISTING_BY_REASON, buffer_data(&wanted));
		assert_int_equal(tear_down(state), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(sums_are_right),
		CASE(groups_have_a_bound),
		cmocka_unit_test(a_group_has_the_name_of_what_is_common),
		cmocka_unit_test(a_name_has_so_many_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
