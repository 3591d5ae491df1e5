// SPDX-License-Identifier: ISC
#include "record_life.h"
#include "record_scene.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

enum { OLD_US = 5000 };

static struct {
	struct record *record;
	struct record_message messages[3];
	struct record_entry entries[3];
	struct record_attempt attempts[RECORD_LIFE_COPIES_MAX];
	struct record_attempt *list[RECORD_LIFE_COPIES_MAX];
	char users[RECORD_LIFE_COPIES_MAX][30], copies[RECORD_LIFE_COPIES_MAX][20];
	size_t count; /* of copies */
	unsigned new_folders, pruned, listed;
} life;

static int lock_all(void)
{
	struct lock_name names[2] = {record_scene_name("<1@x>"), record_scene_name("<2@x>")};
	struct record_turn turns[] = {{.name = &names[0]}, {.name = &names[1]}};
	int error = record_lock_all(life.record, turns, 2);

	if (error == 0)
		assert_true(turns[0].is_taken && turns[1].is_taken);
	return error;
}

static int put_all(void)
{
	int error;

	life.messages[0] = record_scene_message("<1@x>", 1);
	life.messages[1] = record_scene_message("<2@x>", 2);
	life.messages[2] = record_scene_message("<1@x>", 3);
	for (size_t i = 0; i < 3; i++)
		life.entries[i] = (struct record_entry){.message = &life.messages[i]};
	error = record_put_all(life.record, life.entries, 3);
	for (size_t i = 0; i < 3 && error == 0; i++)
		assert_true(life.entries[i].is_new && life.entries[i].number > 0);
	return error;
}

/* The same ones are there already: none is new. */
static int put_again(void)
{
	int error = record_put_all(life.record, life.entries, 3);

	for (size_t i = 0; i < 3 && error == 0; i++) {
		assert_false(life.entries[i].is_new);
		assert_int_equal(life.entries[i].different, i == 1 ? 0 : 1);
	}
	return error;
}

static void set_attempts(bool is_new)
{
	for (size_t i = 0; i < life.count; i++) {
		snprintf(life.users[i], sizeof life.users[i], "u%zu@example.org", i);
		snprintf(life.copies[i], sizeof life.copies[i], "copy%zu", i);
		life.attempts[i] = (struct record_attempt){
			.message = life.entries[0].number,
			.is_new = is_new,
			.mailbox = {str_from(life.users[i]), STR("INBOX")},
			.decision = {.purpose = str_from(life.users[i]), .rule = STR("rule")},
			.copy = str_from(life.copies[i])};
		memset(life.attempts[i].token.bytes, (int)i, RECORD_TOKEN_SIZE);
		life.list[i] = &life.attempts[i];
	}
}

static int decide_all(void)
{
	set_attempts(true);
	return record_decide_all(life.record, life.list, life.count);
}

static int move_some(void)
{
	int error;

	for (size_t i = 0; i < 3; i++)
		life.attempts[i].mailbox.folder = STR("Elsewhere");
	error = record_move_all(life.record, life.list, 3);
	return error;
}

static int decide_again(void)
{
	int error;

	set_attempts(false);
	error = record_decide_all(life.record, life.list, life.count);
	for (size_t i = 0; i < life.count && error == 0; i++)
		assert_true(str_equal(life.attempts[i].mailbox.folder,
				      i < 3 ? STR("Elsewhere") : STR("INBOX")));
	return error;
}

static int open_all(void)
{
	int error;

	set_attempts(true);
	error = record_open_all(life.record, life.list, life.count, 1000);
	for (size_t i = 0; i < life.count && error == 0; i++) {
		const struct record_filing *row = &life.attempts[i].row;

		assert_true(row->is_new && row->is_ours && row->number > 0 && row->others == 0);
		assert_int_equal(row->state, RECORD_FILING);
	}
	return error;
}

static int look_all(void)
{
	int error = record_look_all(life.record, life.list, life.count);

	for (size_t i = 0; i < life.count && error == 0; i++)
		assert_true(life.attempts[i].row.is_ours &&
			    life.attempts[i].row.state == RECORD_FILING);
	return error;
}

static int mark_all_filed(void)
{
	return record_filed_all(life.record, life.list, life.count - 2, 2000);
}

static int end_all(void)
{
	return record_end_all(life.record, &life.list[life.count - 2], 1);
}

static int settle_last(void)
{
	return record_settle(life.record, life.attempts[life.count - 1].row.number, OLD_US);
}

static int look_at_filed(void)
{
	int error = record_look_all(life.record, life.list, life.count);

	for (size_t i = 0; i < life.count && error == 0; i++) {
		const struct record_filing *row = &life.attempts[i].row;

		assert_int_equal(row->state, i < life.count - 2 ? RECORD_FILED : RECORD_FILING);
		assert_true(!row->is_ours && row->others == 0);
		if (row->state == RECORD_FILED) {
			assert_true(str_equal(row->copy, str_from(life.copies[i])));
			assert_int_equal(row->filed_us, 2000);
		}
	}
	return error;
}

static int count_new_folders(void)
{
	const struct record_mailbox place = {str_from(life.users[0]), STR("Another")};

	return record_new_folders(life.record, &place, 0, &life.new_folders);
}

static int unfile_two(void)
{
	int error = record_unfile(life.record, life.attempts[life.count - 2].row.number);

	return error == 0 ? record_unfile(life.record, life.attempts[life.count - 1].row.number)
			  : error;
}

static int commit_all(void)
{
	return record_commit(life.record);
}

/* --- outside of transactions --- */

static void count_listed(void *context, const struct record_listed *listed)
{
	(void)context;
	life.listed++;
	assert_int_equal(listed->message.decoded->participant_count, 3);
	assert_int_equal(listed->place_count, str_equal(listed->message.id, STR("<1@x>")) &&
							      listed->message.digest[0] == 1
						      ? life.count - 2
						      : 0);
}

static int list_all(void)
{
	const struct record_query query = {.limit = 10};

	life.listed = 0;
	return record_list(life.record, &query, count_listed, NULL);
}

static int prune_all(void)
{
	return record_prune(life.record, INT64_MAX, 10, &life.pruned);
}

static int begin_work(void)
{
	return record_begin(life.record);
}

enum { COMMIT_STEP = 15 };

static int (*const steps[])(void) = {
	begin_work,    lock_all,   put_all,           put_again,      decide_all, move_some,
	decide_again,  open_all,   look_all,          mark_all_filed, end_all,    settle_last,
	look_at_filed, unfile_two, count_new_folders, commit_all,     list_all,   prune_all,
};

/* How many messages there are, for somebody else. */
static unsigned count_messages(const struct record_life_database *database)
{
	struct record *before = life.record;
	unsigned count;

	life.record = database->connect();
	assert_int_equal(list_all(), 0);
	count = life.listed;
	record_free(life.record);
	life.record = before;
	return count;
}

/* The last step has a commit of its own. */
static bool is_error_of_step(const struct record_life_database *database, size_t step, int error)
{
	bool has_commit = step == COMMIT_STEP || step == COUNT_OF(steps) - 1;

	return (error == database->error && step != COMMIT_STEP) ||
	       (error == database->commit_error && has_commit);
}

/* Nothing goes on until it is rolled back; then all is as if nothing had been. */
static void look_after_failure(const struct record_life_database *database, size_t step)
{
	bool was_committed = step > COMMIT_STEP;
	unsigned count;

	if (!was_committed) {
		int error = record_commit(life.record);

		if (!is_error_of_step(database, step, error))
			fail_msg("step %zu, then commit: %d", step, error);
		record_rollback(life.record);
	}
	database->fail_at(0);
	count = count_messages(database);
	if (database->may_be_done && step == COMMIT_STEP)
		assert_true(count == 3 || count == 0);
	else if (database->may_be_done && was_committed)
		assert_true(count <= 3); /* some are pruned */
	else
		assert_int_equal(count, was_committed ? 3 : 0);
	assert_int_equal(record_begin(life.record), 0);
	record_rollback(life.record);
}

bool record_life_live(const struct record_life_database *database, int fails_at)
{
	bool has_failed = false;
	size_t step = 0;

	assert_true(database->copies <= RECORD_LIFE_COPIES_MAX);
	life.count = database->copies;
	database->empty();
	life.record = database->connect();
	assert_int_equal(record_begin(life.record), 0); /* the tables are made */
	assert_int_equal(record_commit(life.record), 0);
	database->fail_at(fails_at);
	for (; step < COUNT_OF(steps) && !has_failed; step++) {
		int error = steps[step]();

		has_failed = database->has_failed();
		if (has_failed ? !is_error_of_step(database, step, error) : error != 0)
			fail_msg("step %zu, call %d: %d %s", step, fails_at, error,
				 record_error(life.record));
	}
	if (has_failed) {
		if (database->words != NULL)
			assert_string_equal(record_error(life.record), database->words);
		look_after_failure(database, step - 1);
	} else {
		assert_int_equal(life.pruned, 3);
		assert_int_equal(life.new_folders, 1);
	}
	database->fail_at(0);
	record_free(life.record);
	return has_failed;
}
