// SPDX-License-Identifier: ISC
/* Rows of message and mailbox, locks, and tables. */
#include "record_scene.h"
#include <errno.h>
#include <stdio.h>

/* ---- filing ---- */

static void a_row_goes_from_filing_to_filed(void **state)
{
	struct record_filing filing = record_scene_opened("<1@example.com>");
	struct record_filing look;

	(void)state;
	assert_int_equal(filing.state, RECORD_FILING);
	assert_true(filing.is_new && filing.is_ours);
	assert_int_equal(filing.others, 0);
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_look(world.a, filing.number, &world.token_a, &look));
	assert_int_equal(look.state, RECORD_FILING);
	assert_true(look.is_ours);
	assert_fine(world.a,
		    record_filed(world.a, filing.number, &world.token_a, STR("7:12"), 2000));
	assert_fine(world.a, record_commit(world.a));

	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.b, record_look(world.b, filing.number, &world.token_b, &look));
	assert_int_equal(look.state, RECORD_FILED);
	assert_int_equal(look.number, filing.number);
	assert_true(str_equal(look.copy, STR("7:12")));
	assert_int_equal(look.filed_us, 2000);
	assert_false(look.is_ours);
	assert_int_equal(look.others, 0);
	record_rollback(world.b);
}

static void nobody_is_noted_at_what_is_filed(void **state)
{
	struct record_filing filing = record_scene_opened("<1@example.com>");
	struct record_message message = record_scene_message("<1@example.com>", 1);
	struct record_filing again;

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_filed(world.a, filing.number, &world.token_a, STR("x"), 2000));
	assert_fine(world.a, record_commit(world.a));
	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.b, record_open(world.b, record_scene_put(world.b, &message), &INBOX,
					 &world.token_b, 3000, &again));
	assert_int_equal(again.number, filing.number);
	assert_int_equal(again.state, RECORD_FILED);
	assert_false(again.is_new || again.is_ours);
	assert_true(str_equal(again.copy, STR("x")));
	assert_fine(world.b, record_commit(world.b));
	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.b, record_look(world.b, filing.number, &world.token_b, &again));
	assert_false(again.is_ours);
	record_rollback(world.b);
}

static void attempts_of_others_are_seen_until_they_end(void **state)
{
	struct record_filing filing = record_scene_opened("<1@example.com>");
	struct record_message message = record_scene_message("<1@example.com>", 1);
	struct record_filing look;

	(void)state;
	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.b, record_open(world.b, record_scene_put(world.b, &message), &INBOX,
					 &world.token_b, 3000, &look));
	assert_false(look.is_new);
	assert_true(look.is_ours);
	assert_int_equal(look.others, 1);
	assert_int_equal(look.last_us, 1000);
	assert_fine(world.b, record_settle(world.b, filing.number, 1000));
	assert_fine(world.b, record_look(world.b, filing.number, &world.token_b, &look));
	assert_int_equal(look.others, 1);
	assert_fine(world.b, record_filed(world.b, filing.number, &world.token_b, STR("x"), 4000));
	assert_fine(world.b, record_commit(world.b));

	/* a third one finds it filed, and somebody's attempt: it is noted, too */
	assert_fine(world.b, record_begin(world.b));
	world.token_b.bytes[0] = 3;
	assert_fine(world.b, record_open(world.b, record_scene_put(world.b, &message), &INBOX,
					 &world.token_b, 5000, &look));
	assert_int_equal(look.state, RECORD_FILED);
	assert_true(look.is_ours);
	assert_int_equal(look.others, 1);
	assert_fine(world.b, record_settle(world.b, filing.number, 1001));
	assert_fine(world.b, record_look(world.b, filing.number, &world.token_b, &look));
	assert_int_equal(look.others, 0);
	assert_int_equal(look.last_us, 0);
	assert_true(look.is_ours);
	assert_fine(world.b, record_end(world.b, filing.number, &world.token_b));
	assert_fine(world.b, record_look(world.b, filing.number, &world.token_b, &look));
	assert_false(look.is_ours);
	assert_fine(world.b, record_commit(world.b));
}

static void a_row_that_was_removed_is_missed(void **state)
{
	struct record_filing filing = record_scene_opened("<1@example.com>");
	struct record_message message = record_scene_message("<1@example.com>", 1);
	struct record_filing look;

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_unfile(world.a, filing.number));
	assert_int_equal(record_look(world.a, filing.number, &world.token_a, &look), -ENOENT);
	assert_string_equal(record_error(world.a), "the filing was removed meanwhile");
	assert_int_equal(record_filed(world.a, filing.number, &world.token_a, STR("x"), 1),
			 -ENOENT);
	assert_fine(world.a, record_commit(world.a));
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_open(world.a, record_scene_put(world.a, &message), &INBOX,
					 &world.token_a, 1000, &look));
	assert_true(look.is_new);
	assert_true(look.number > filing.number);
	record_rollback(world.a);
}

static void mailboxes_are_told_apart(void **state)
{
	static const struct record_mailbox mailboxes[] = {
		{{"a@example.org", 13}, {"INBOX", 5}},    {{"A@example.org", 13}, {"INBOX", 5}},
		{{"a@example.org", 13}, {"inbox", 5}},    {{"a@example.org", 13}, {"INBOX ", 6}},
		{{"a@example.org", 13}, {"\xc3\xa4", 2}}, {{"a@example.org", 13}, {"a", 1}},
	};
	struct record_message message = record_scene_message("<1@example.com>", 1);
	struct record_filing filing;
	int64_t number;

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	number = record_scene_put(world.a, &message);
	for (size_t i = 0; i < COUNT_OF(mailboxes); i++) {
		assert_fine(world.a, record_open(world.a, number, &mailboxes[i], &world.token_a, 1,
						 &filing));
		assert_true(filing.is_new);
	}
	assert_fine(world.a, record_commit(world.a));
}

/* ---- locks ---- */

static void a_lock_excludes_until_the_transaction_ends(void **state)
{
	struct lock_name one = record_scene_name("<1@example.com>");
	struct lock_name two = record_scene_name("<2@example.com>");

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.a, record_lock(world.a, &one));
	assert_fine(world.a, record_lock(world.a, &one));
	assert_int_equal(record_lock(world.b, &one), -EAGAIN);
	assert_fine(world.b, record_lock(world.b, &two));
	assert_int_equal(record_lock(world.a, &two), -EAGAIN);
	assert_fine(world.a, record_check(world.a));
	assert_fine(world.a, record_commit(world.a));
	assert_fine(world.b, record_lock(world.b, &one));
	record_rollback(world.b);
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_lock(world.a, &one));
	assert_fine(world.a, record_lock(world.a, &two));
	record_rollback(world.a);
}

static void a_lock_says_who_has_it(void **state)
{
	struct lock_name one = record_scene_name("<1@example.com>");
	struct arena *arena = arena_new();
	struct str holder;

	(void)state;
	assert_fine(world.b, record_holder(world.b, &one, arena, &holder));
	assert_int_equal(holder.length, 0);
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_lock(world.a, &one));
	assert_fine(world.b, record_holder(world.b, &one, arena, &holder));
	assert_int_not_equal(holder.length, 0);
	record_rollback(world.a);
	assert_fine(world.b, record_holder(world.b, &one, arena, &holder));
	assert_int_equal(holder.length, 0);
	arena_free(arena);
}

static void looking_waits_for_no_writer(void **state)
{
	struct record_filing filing = record_scene_opened("<1@example.com>");
	struct record_message other = record_scene_message("<2@example.com>", 1);
	struct record_filing look;

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	(void)record_scene_put(world.a, &other);
	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.b, record_look(world.b, filing.number, &world.token_b, &look));
	assert_fine(world.b, record_commit(world.b));
	assert_fine(world.a, record_commit(world.a));
}

/* ---- decisions ---- */

/* Within a transaction of its own: what is decided about a copy, if the configuration says FOLDER
 * and RULE. */
static struct record_attempt decided(struct record *record, const char *purpose, const char *folder,
				     const char *rule)
{
	struct record_message message = record_scene_message("<1@example.com>", 1);
	struct record_attempt attempt = {
		.mailbox = {INBOX.user, str_from(folder)},
		.decision = {.purpose = str_from(purpose), .rule = str_from(rule), .flags = 1}};
	struct record_attempt *one = &attempt;
	struct record_entry entry = {.message = &message};
	static char texts[2][100];

	assert_fine(record, record_begin(record));
	assert_fine(record, record_put_all(record, &entry, 1));
	attempt.message = entry.number;
	attempt.is_new = entry.is_new;
	assert_fine(record, record_decide_all(record, &one, 1));
	snprintf(texts[0], sizeof texts[0], STR_FORMAT, STR_ARGUMENTS(attempt.mailbox.folder));
	snprintf(texts[1], sizeof texts[1], STR_FORMAT, STR_ARGUMENTS(attempt.decision.rule));
	attempt.mailbox.folder = str_from(texts[0]);
	attempt.decision.rule = str_from(texts[1]);
	return attempt;
}

static void who_decides_first_decides_for_all(void **state)
{
	struct record_attempt attempt = decided(world.a, "to", "Lists", "a");

	(void)state;
	assert_true(str_equal(attempt.mailbox.folder, STR("Lists")));
	assert_fine(world.a, record_commit(world.a));
	attempt = decided(world.b, "to", "INBOX", "b");
	assert_true(str_equal(attempt.mailbox.folder, STR("Lists")));
	assert_true(str_equal(attempt.decision.rule, STR("a")));
	assert_int_equal(attempt.decision.flags, 1);
	assert_fine(world.b, record_commit(world.b));
	attempt = decided(world.b, "to+x", "INBOX", "");
	assert_true(str_equal(attempt.mailbox.folder, STR("INBOX")));
	assert_fine(world.b, record_commit(world.b));
}

static void what_was_not_committed_is_not_decided(void **state)
{
	struct record_attempt attempt;

	(void)state;
	(void)decided(world.a, "to", "Lists", "a");
	record_rollback(world.a);
	attempt = decided(world.b, "to", "INBOX", "");
	assert_true(str_equal(attempt.mailbox.folder, STR("INBOX")));
	assert_fine(world.b, record_commit(world.b));
}

static void several_are_decided_at_once(void **state)
{
	struct record_attempt first = decided(world.a, "to", "Lists", "a");
	struct record_attempt attempts[] = {first, first, first};
	struct record_attempt *all[] = {&attempts[0], &attempts[1], &attempts[2]};

	(void)state;
	assert_fine(world.a, record_commit(world.a));
	attempts[0].decision.purpose = STR("to+b");
	attempts[2].decision.purpose = STR("sent");
	for (size_t i = 0; i < 3; i++) {
		attempts[i].is_new = false;
		attempts[i].mailbox.folder = STR("Other");
	}
	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.b, record_decide_all(world.b, all, 3));
	assert_true(str_equal(attempts[0].mailbox.folder, STR("Other")));
	assert_true(str_equal(attempts[1].mailbox.folder, STR("Lists")));
	assert_true(str_equal(attempts[2].mailbox.folder, STR("Other")));
	attempts[1].decision.rule = STR("no valid UTF-8: \xff");
	assert_int_equal(record_decide_all(world.b, all, 3), -EINVAL);
	record_rollback(world.b);
}

/* ---- tables ---- */

static void older_tables_get_what_is_new(void **state)
{
	struct record_attempt attempt;

	(void)state;
	(void)record_scene_opened("<1@example.com>");
	backend->run("DROP TABLE decision");
	backend->run("UPDATE record_meta SET version = 1");
	attempt = decided(world.b, "to", "Lists", "");
	assert_true(str_equal(attempt.mailbox.folder, STR("Lists")));
	assert_fine(world.b, record_commit(world.b));
	assert_int_equal(record_scene_list((struct record_query){.mailbox = &INBOX}).count, 1);
}

static void tables_of_a_newer_version_are_left_alone(void **state)
{
	struct record_filing filing = record_scene_opened("<1@example.com>");

	(void)state;
	backend->run("UPDATE record_meta SET version = 1000");
	assert_int_equal(record_begin(world.b), -EPROTO);
	assert_non_null(strstr(record_error(world.b), "1000"));
	record_rollback(world.b);
	backend->run("UPDATE record_meta SET version = 3"); /* the next one */
	assert_int_equal(record_begin(world.b), -EPROTO);
	record_rollback(world.b);
	backend->run("UPDATE record_meta SET version = 2");
	assert_fine(world.b, record_begin(world.b));
	record_rollback(world.b);
	assert_true(filing.number > 0);
}

static void tables_of_others_are_left_alone(void **state)
{
	struct record_message message = record_scene_message("<1@example.com>", 1);

	(void)state;
	backend->run("CREATE TABLE message(subject varchar(10))");
	assert_int_equal(record_begin(world.a), -EPROTO);
	record_rollback(world.a);
	backend->run("DROP TABLE message");
	assert_fine(world.a, record_begin(world.a));
	(void)record_scene_put(world.a, &message);
	assert_fine(world.a, record_commit(world.a));
}

/* As if the process had died amid making them. */
static void half_made_tables_are_completed(void **state)
{
	(void)state;
	(void)record_scene_opened("<1@example.com>");
	backend->run("DROP TABLE attempt");
	backend->run("UPDATE record_meta SET version = 0");
	assert_fine(world.b, record_begin(world.b));
	record_rollback(world.b);
	(void)record_scene_opened("<2@example.com>");
	assert_int_equal(record_scene_list((struct record_query){.mailbox = &INBOX}).count, 2);
}

int record_contract_filing(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_row_goes_from_filing_to_filed),
		CASE(nobody_is_noted_at_what_is_filed),
		CASE(attempts_of_others_are_seen_until_they_end),
		CASE(a_row_that_was_removed_is_missed),
		CASE(mailboxes_are_told_apart),
		CASE(a_lock_excludes_until_the_transaction_ends),
		CASE(a_lock_says_who_has_it),
		CASE(looking_waits_for_no_writer),
		CASE(who_decides_first_decides_for_all),
		CASE(what_was_not_committed_is_not_decided),
		CASE(several_are_decided_at_once),
		CASE(older_tables_get_what_is_new),
		CASE(tables_of_a_newer_version_are_left_alone),
		CASE(tables_of_others_are_left_alone),
		CASE(half_made_tables_are_completed),
	};

	return cmocka_run_group_tests_name("record_contract_filing", tests, NULL, NULL);
}
