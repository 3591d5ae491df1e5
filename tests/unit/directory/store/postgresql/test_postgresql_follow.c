// SPDX-License-Identifier: ISC
/* How the PostgreSQL store follows changes by others: when it polls, what it reports, how fresh it
 * takes the data for, and which database it leaves. */
#include "follow_scene.h"

enum { CHANGES_MAX = 1000, BEHIND_MAX = 20000 };

static const struct about primary = {.identity = "one", .version = 10, .mark = "mark 10"};

/* --- when it polls --- */

static void it_polls_by_time_and_when_told(void **state)
{
	(void)state;
	for (unsigned is_standby = 0; is_standby < 2; is_standby++) {
		const struct about about = {.identity = "one",
					    .version = 10,
					    .is_standby = is_standby,
					    .mark = "mark 10",
					    .has_replayed = true,
					    .silence = "0"};
		int64_t pause_us = is_standby ? SECOND_US / 10 : SECOND_US;

		begin_again();
		start_on(is_standby);
		assert_int_equal(world.listens, !is_standby);
		assert_string_equal(world.since, "10");
		answer_nothing(&about);
		assert_int_equal(world.followed, 1);
		assert_int_equal(world.seen, 1);
		fake_advance(pause_us - 1);
		assert_int_equal(world.polls, 1);
		fake_advance(1);
		assert_int_equal(world.polls, 2);
		postgresql_follow_notified(&world.store); /* while it polls: once more, then */
		assert_int_equal(world.polls, 2);
		answer_nothing(&about);
		assert_int_equal(world.polls, 3);
		answer_nothing(&about);
		assert_int_equal(world.polls, 3);
		postgresql_follow_notified(&world.store);
		assert_int_equal(world.polls, 4);
		assert_int_equal(fake_timers(), 0);
		answer_nothing(&about);
		postgresql_follow_stop(&world.store);
		assert_int_equal(fake_timers(), 0);
	}
}

/* --- what it reports --- */

static void changes_are_reported(void **state)
{
	static const size_t counts[] = {1, 2, CHANGES_MAX - 1, CHANGES_MAX};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(counts); i++) {
		const struct about about = {
			.identity = "one", .version = 10 + counts[i], .mark = "x"};
		bool is_full = counts[i] == CHANGES_MAX;

		begin_again();
		start_on(false);
		answer_poll(changes_of(11, counts[i], "user"), &about);
		assert_int_equal(world.changed, 1);
		assert_int_equal(world.keys, counts[i]);
		assert_true(world.first == 11 && world.last == 10 + counts[i]);
		assert_int_equal(world.store.base.version, 10 + counts[i]);
		assert_int_equal(world.followed, !is_full);
		assert_int_equal(world.polls, is_full ? 2 : 1);
		assert_int_equal(world.resets, 0);
	}
	/* what is not ours has a version, too */
	begin_again();
	start_on(false);
	answer_poll(changes_of(11, 3, "else"), &(struct about){.identity = "one", .version = 13});
	assert_int_equal(world.changed + world.resets, 0);
	assert_int_equal(world.store.base.version, 13);
	assert_string_equal(world.store.follower.mark, "mark 13");
}

static void too_much_is_everything(void **state)
{
	static const struct {
		const char *identity, *table;
		uint64_t version;
		bool is_reset;
	} rows[] = {{"one", "*", 11, true},
		    {"two", "user", 11, true},
		    {"one", "user", 10 + BEHIND_MAX, false},
		    {"one", "user", 10 + BEHIND_MAX + 1, true}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct about about = {
			.identity = rows[i].identity, .version = rows[i].version, .mark = "newest"};

		begin_again();
		start_on(false);
		answer_poll(changes_of(11, 1, rows[i].table), &about);
		assert_int_equal(world.resets, rows[i].is_reset);
		assert_int_equal(world.changed, !rows[i].is_reset);
		assert_string_equal(world.store.base.identity, rows[i].identity);
		assert_int_equal(world.store.base.version, rows[i].is_reset ? rows[i].version : 11);
		assert_string_equal(world.store.follower.mark,
				    rows[i].is_reset ? "newest" : "mark 11");
	}
}

static void what_cannot_be_is_refused(void **state)
{
	const struct postgresql_failure failure = {.error = -EIO, .text = "failed"};
	struct postgresql_request *request;
	PGresult *wrong;

	(void)state;
	start_on(false);
	answer_nothing(&(struct about){.identity = NULL});
	assert_string_equal(world.refused, "directory_data has no row");
	begin_again();
	start_on(false);
	answer_nothing(&(struct about){.identity = "one", .version = 9});
	assert_string_equal(world.refused, "its versions went back");
	assert_int_equal(world.followed, 0);
	begin_again();
	start_on(false);
	answer_nothing(&(struct about){.identity = "two", .version = 9, .mark = "x"});
	assert_string_equal(world.refused, "");
	begin_again();
	start_on(false);
	request = world.polling;
	world.polling = NULL;
	request->done(request, &failure);
	assert_string_equal(world.refused, "failed");
	for (int columns = 3; columns <= 7; columns++)
		for (unsigned statement = 0; statement < 2; statement++) {
			begin_again();
			start_on(false);
			wrong = result_of(columns);
			world.polling->result(world.polling, statement, wrong);
			assert_int_equal(*world.doubted != '\0',
					 columns != (statement == 0 ? 4 : 6));
			PQclear(wrong);
		}
	begin_again();
	start_on(false);
	wrong = changes_of(11, CHANGES_MAX + 1, "user");
	world.polling->result(world.polling, 0, wrong);
	assert_true(*world.doubted != '\0');
	PQclear(wrong);
}

/* --- where it begins --- */

static void data_may_have_diverged(void **state)
{
	static const struct {
		const char *identity, *mark;
		uint64_t oldest, seen;
		bool is_reset, is_logged;
	} rows[] = {
		{"one", "mark 10", 1, 10, false, false}, {"one", "mark 10", 11, 10, false, false},
		{"one", "mark 10", 12, 10, true, true},  {"one", "another", 1, 10, true, true},
		{"two", "mark 10", 1, 10, true, false},  {"one", "another", 1, 0, false, false}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct postgresql_about about = {.version = 20, .oldest = rows[i].oldest};

		begin_again();
		snprintf(about.identity, sizeof about.identity, "%s", rows[i].identity);
		snprintf(about.seen_mark, sizeof about.seen_mark, "%s", rows[i].mark);
		snprintf(about.newest_mark, sizeof about.newest_mark, "mark 20");
		world.store.base.version = rows[i].seen;
		postgresql_follow_start(&world.store, &about);
		assert_int_equal(world.resets, rows[i].is_reset);
		assert_int_equal(world.store.base.version, rows[i].is_reset ? 20 : rows[i].seen);
		check_log(rows[i].is_logged ? "STORE_DIVERGED database=label version=10\n" : "");
	}
	/* nobody has been told anything yet */
	begin_again();
	world.store.base.identity[0] = '\0';
	postgresql_follow_start(&world.store, &(struct postgresql_about){.identity = "one"});
	assert_int_equal(world.resets, 0);
	assert_string_equal(world.store.base.identity, "one");
}

static void a_standby_may_become_the_primary(void **state)
{
	(void)state;
	start_on(true);
	assert_int_equal(world.listens, 0);
	answer_nothing(&primary);
	assert_int_equal(world.listens, 1);
	assert_int_equal(world.polls, 2); /* what came before is not missed */
	answer_nothing(&primary);
	assert_int_equal(world.listens, 1);
}

/* --- how fresh they are --- */

static void freshness_is_of_what_is_known(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 24; n++) {
		bool is_standby = (n & 1) != 0, has_replayed = (n & 2) != 0,
		     has_writer = (n & 4) != 0;
		const struct about about = {.identity = "one",
					    .version = 10,
					    .is_standby = is_standby,
					    .mark = "mark 10",
					    .has_replayed = has_replayed,
					    .silence = n / 8 == 0   ? NULL
						       : n / 8 == 1 ? "0"
								    : "2000000"};
		int64_t asked_us = os_clock_monotonic_us(), expected_us = 0;

		begin_again();
		start_on(is_standby);
		world.is_writer_there = has_writer;
		world.store.writer.version = 10;
		world.store.writer.asked_us = asked_us - 3 * SECOND_US;
		if (!is_standby)
			expected_us = asked_us;
		else if (has_replayed && n / 8 > 0)
			expected_us = asked_us - (n / 8 == 1 ? 0 : 2 * SECOND_US);
		else if (has_writer)
			expected_us = asked_us - 3 * SECOND_US;
		answer_nothing(&about);
		assert_int_equal(world.store.base.fresh_us, expected_us);
		assert_int_equal(world.followed, expected_us > 0);
		assert_int_equal(world.stale, expected_us == 0);
		if (expected_us == 0)
			check_log(n / 8 == 0 ? "STORE_STALE database=label reason=it does not say "
					       "when it "
					       "heard of its primary: it receives nothing, or the "
					       "role is "
					       "no member of pg_monitor\n"
					     : "STORE_STALE database=label reason=it has not heard "
					       "of its "
					       "primary for too long\n");
	}
}

/* The primary has a newer version: the standby is as fresh as when that was asked for, once it has
 * come. */
static void versions_are_awaited(void **state)
{
	struct about standby = {
		.identity = "one", .version = 10, .is_standby = true, .mark = "mark 10"};
	int64_t asked_us = os_clock_monotonic_us() - SECOND_US;

	(void)state;
	start_on(true);
	world.is_writer_there = true;
	world.store.writer.version = 12;
	world.store.writer.asked_us = asked_us;
	world.store.base.fresh_us = asked_us - SECOND_US;
	answer_nothing(&standby);
	assert_int_equal(world.store.base.fresh_us, asked_us - SECOND_US);
	world.store.writer.version = 15; /* asked again meanwhile */
	world.store.writer.asked_us = asked_us + SECOND_US / 2;
	fake_advance(SECOND_US / 10);
	standby.version = 12;
	answer_poll(changes_of(11, 2, "user"), &standby);
	assert_int_equal(world.store.base.fresh_us, asked_us);
	fake_advance(SECOND_US / 10);
	standby.version = 15;
	answer_poll(changes_of(13, 3, "user"), &standby);
	assert_int_equal(world.store.base.fresh_us, asked_us + SECOND_US / 2);
}

static void who_lags_behind_is_left(void **state)
{
	const struct about standby = {
		.identity = "one", .version = 10, .is_standby = true, .mark = "mark 10"};

	(void)state;
	for (unsigned n = 0; n < 8; n++) {
		bool is_late = (n & 1) != 0, has_writer = (n & 2) != 0, is_newer = (n & 4) != 0;

		begin_again();
		start_on(true);
		world.is_writer_there = has_writer;
		world.store.writer.version = is_newer ? 11 : 10;
		world.store.base.fresh_us = os_clock_monotonic_us() - 3 * SECOND_US + !is_late;
		answer_nothing(&standby);
		assert_int_equal(*world.moved != '\0', n == 7);
		assert_int_equal(world.followed, n != 7);
		assert_int_equal(fake_timers(), n != 7);
	}
}

static void who_is_cut_off_is_left(void **state)
{
	const struct about standby = {
		.identity = "one", .version = 10, .is_standby = true, .mark = "mark 10"};

	(void)state;
	for (size_t databases = 1; databases <= 2; databases++) {
		begin_again();
		world.store.databases.count = databases;
		start_on(true);
		world.store.base.fresh_us = os_clock_monotonic_us() - world.store.ttl_us;
		answer_nothing(&standby);
		assert_int_equal(world.followed, 1); /* so old they may be */
		fake_advance(SECOND_US / 10);
		answer_nothing(&standby);
		assert_int_equal(world.stale, 1);
		assert_true(log_lines.length > 0);
		for (unsigned tenths = 1; tenths <= 30; tenths++) {
			assert_string_equal(world.refused, "");
			fake_advance(SECOND_US / 10);
			if (world.polling != NULL)
				answer_nothing(&standby);
		}
		assert_string_equal(world.refused,
				    databases > 1 ? "it is cut off from its primary" : "");
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(it_polls_by_time_and_when_told), CASE(changes_are_reported),
		CASE(too_much_is_everything),         CASE(what_cannot_be_is_refused),
		CASE(data_may_have_diverged),         CASE(a_standby_may_become_the_primary),
		CASE(freshness_is_of_what_is_known),  CASE(versions_are_awaited),
		CASE(who_lags_behind_is_left),        CASE(who_is_cut_off_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
