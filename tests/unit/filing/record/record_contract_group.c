// SPDX-License-Identifier: ISC
/* Groups: what is asked for all at once says of each what a single question would. */
#include "record_scene.h"
#include <errno.h>
#include <stdio.h>

/* More than one batch of a statement. */
enum { COUNT = 150, KNOWN = 70, CONTENT = 71, TAKEN = 80 };

static struct {
	char ids[COUNT][40];
	struct record_message messages[COUNT];
	struct record_entry entries[COUNT];
	struct record_attempt attempts[COUNT];
	struct record_attempt *all[COUNT];
} group;

/* Of two messages each in the same mailbox. */
static void make_group(void)
{
	static char users[COUNT][40];

	for (int i = 0; i < COUNT; i++) {
		snprintf(group.ids[i], sizeof group.ids[i], "<%d@example.com>", i);
		snprintf(users[i], sizeof users[i], "user-%d@example.org", i / 2);
		group.messages[i] = record_scene_message(group.ids[i], 1);
		group.entries[i] = (struct record_entry){.message = &group.messages[i]};
		group.attempts[i] =
			(struct record_attempt){.mailbox = {str_from(users[i]), STR("INBOX")},
						.copy = str_from(group.ids[i])};
		group.attempts[i].token.bytes[0] = 7;
		group.all[i] = &group.attempts[i];
	}
}

static void open_group(struct record *record)
{
	assert_fine(record, record_put_all(record, group.entries, COUNT));
	for (size_t i = 0; i < COUNT; i++)
		group.attempts[i].message = group.entries[i].number;
	assert_fine(record, record_open_all(record, group.all, COUNT, 2000));
}

/* One is recorded, and somebody tries to file it; one has its Message-ID with another content. */
static void make_some(void)
{
	struct record_message known = record_scene_message(group.ids[KNOWN], 1);
	struct record_message other = record_scene_message(group.ids[CONTENT], 2);
	struct record_filing row;

	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.b,
		    record_open(world.b, record_scene_put(world.b, &known),
				&group.attempts[KNOWN].mailbox, &world.token_b, 1000, &row));
	(void)record_scene_put(world.b, &other);
	assert_fine(world.b, record_commit(world.b));
}

static void each_of_a_group_is_recorded_and_opened(void **state)
{
	(void)state;
	make_group();
	make_some();
	assert_fine(world.a, record_begin(world.a));
	open_group(world.a);
	assert_fine(world.a, record_commit(world.a));
	for (size_t i = 0; i < COUNT; i++) {
		const struct record_filing *row = &group.attempts[i].row;

		assert_int_equal(group.entries[i].is_new, i != KNOWN);
		assert_int_equal(group.entries[i].different, i == CONTENT);
		assert_int_equal(row->is_new, i != KNOWN);
		assert_true(row->is_ours && row->state == RECORD_FILING);
		assert_int_equal(row->others, i == KNOWN);
		assert_true(i == 0 || group.entries[i].number != group.entries[i - 1].number);
		assert_true(i == 0 || row->number != group.attempts[i - 1].row.number);
	}
	/* their contents are theirs */
	for (size_t i = 0; i < COUNT; i++) {
		struct record_scene_seen seen =
			record_scene_list((struct record_query){.id = group.ids[i]});

		assert_int_equal(seen.count, i == CONTENT ? 2 : 1);
		assert_int_equal(seen.participants, 3);
		assert_int_equal(seen.parts, 2);
	}
}

static void each_of_a_group_is_filed(void **state)
{
	(void)state;
	make_group();
	assert_fine(world.a, record_begin(world.a));
	open_group(world.a);
	assert_fine(world.a, record_commit(world.a));
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_look_all(world.a, group.all, COUNT));
	assert_fine(world.a, record_filed_all(world.a, group.all, COUNT - 1, 3000));
	assert_fine(world.a, record_end_all(world.a, group.all + COUNT - 1, 1));
	assert_fine(world.a, record_commit(world.a));
	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.b, record_look_all(world.b, group.all, COUNT));
	for (size_t i = 0; i < COUNT - 1; i++) {
		assert_int_equal(group.attempts[i].row.state, RECORD_FILED);
		assert_true(str_equal(group.attempts[i].row.copy, str_from(group.ids[i])));
		assert_false(group.attempts[i].row.is_ours);
	}
	assert_int_equal(group.attempts[COUNT - 1].row.state, RECORD_FILING);
	assert_false(group.attempts[COUNT - 1].row.is_ours);
	/* one that was removed is missed */
	assert_fine(world.b, record_unfile(world.b, group.attempts[TAKEN].row.number));
	assert_int_equal(record_look_all(world.b, group.all, COUNT), -ENOENT);
	record_rollback(world.b);
}

static void the_locks_of_others_are_told_apart(void **state)
{
	static struct lock_name names[COUNT];
	struct record_turn turns[COUNT];

	(void)state;
	make_group();
	for (size_t i = 0; i < COUNT; i++) {
		lock_name_make(str_from(group.ids[i]), &names[i]);
		turns[i] = (struct record_turn){.name = &names[i]};
	}
	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.b, record_lock(world.b, &names[TAKEN]));
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_lock_all(world.a, turns, COUNT));
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(turns[i].is_taken, i != TAKEN);
	assert_int_equal(record_lock(world.b, &names[0]), -EAGAIN);
	record_rollback(world.b);
	record_rollback(world.a);
}

int record_contract_group(void)
{
	const struct CMUnitTest tests[] = {
		CASE(each_of_a_group_is_recorded_and_opened),
		CASE(each_of_a_group_is_filed),
		CASE(the_locks_of_others_are_told_apart),
	};

	return cmocka_run_group_tests_name("record_contract_group", tests, NULL, NULL);
}
