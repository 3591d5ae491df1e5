// SPDX-License-Identifier: ISC
/* The PostgreSQL store against a plain model: any order of changes and gets, with statements that
 * fail and links that are lost; conditions; what is told of errors. */
#include "store_scene.h"

enum { TURNS = 200 };

static void any_order_of_changes_and_gets(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++) {
		for (size_t count = random_pick(12); count > 0; count--)
			change_something();
		settle();
		for (size_t count = random_pick(12); count > 0; count--)
			get_something();
		settle();
	}
	assert_true(answered > 500 && stale > 3);
}

/* Whatever is read while the link is lost is read again when it is back. */
static void what_is_read_survives_a_lost_link(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 200; turn++) {
		size_t count = 1 + random_pick(8);
		unsigned before = answered;

		change_something();
		settle();
		before = answered;
		for (size_t i = 0; i < count; i++)
			get_something();
		if (random_pick(2) > 0)
			fake_database_end_turn();
		fake_database_lose(FAKE_READ);
		assert_int_equal(answered, before);
		assert_true(store->lost_us > 0);
		for (size_t i = 0; i < count; i++)
			get_something();
		fake_database_return(FAKE_READ);
		assert_int_equal(store->lost_us, 0);
		settle();
		assert_int_equal(answered, before + 2 * count);
	}
}

static unsigned downs, ups;

static void note_state(void *context, bool is_up)
{
	(void)context;
	downs += !is_up;
	ups += is_up;
}

static void after_a_while_it_is_down(void **state)
{
	static const struct directory_store_handler handler = {.state = note_state};
	const struct directory_key key = {DIRECTORY_USER, STR("ann")};

	(void)state;
	downs = ups = 0;
	store->handler = &handler;
	fake_database_lose(FAKE_READ);
	postgresql_get(store, &key, 1, note_error, NULL);
	fake_advance(STORE_POSTGRESQL_GRACE_US - 1);
	assert_int_equal(answered + downs, 0);
	assert_true(store->is_up);
	fake_advance(1);
	assert_int_equal(downs, 1);
	assert_int_equal(answered, 1);
	assert_int_equal(got_error, -ENOTCONN);
	assert_false(store->is_up);
	postgresql_get(store, &key, 1, note_error, NULL); /* at once */
	assert_int_equal(answered, 2);
	fake_database_return(FAKE_READ);
	assert_int_equal(ups, 1);
	assert_true(store->is_up);
	fake_database_end_turn();
}

static void errors_of_reads_are_told(void **state)
{
	static const struct {
		int error, told;
	} rows[] = {{-EROFS, -EACCES},
		    {-EPERM, -EACCES},
		    {-EAGAIN, -ETIMEDOUT},
		    {-EIO, -EIO},
		    {-ETIMEDOUT, -ETIMEDOUT}};
	const struct directory_key key = {DIRECTORY_USER, STR("ann")};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		postgresql_get(store, &key, 1, note_error, NULL);
		fake_database_end_turn();
		fake_database_fail(FAKE_READ, rows[i].error, "XX000");
		assert_int_equal(got_error, rows[i].told);
		fake_database_end_turn();
	}
	assert_int_equal(fake_database_refusals(), 0);
	fake_database_replace_tables();
	postgresql_get(store, &key, 1, note_error, NULL);
	fake_database_end_turn();
	fake_database_answer(FAKE_READ);
	assert_int_equal(got_error, -EIO);
	assert_int_equal(fake_database_refusals(), 1);
	fake_database_end_turn();
}

static int change_error;

static void note_change(void *context, int error, const bool *existed, uint64_t version)
{
	(void)context, (void)existed, (void)version;
	change_error = error;
}

/* A change since VERSION that only puts the record again. */
static int change_since(const struct directory_record *record, uint64_t version)
{
	const struct directory_change change = {
		.record = *record, .is_conditional = true, .since = version};

	change_error = 1;
	postgresql_change(store, &change, 1, note_change, NULL);
	fake_database_end_turn();
	while (fake_database_is_asked(FAKE_CHANGE)) {
		fake_database_answer(FAKE_CHANGE);
		fake_database_follow(store);
		fake_database_end_turn();
	}
	return change_error;
}

static void conditions_are_met_or_not(void **state)
{
	struct directory_record one, other;
	uint64_t first;

	(void)state;
	do
		while (!random_record(arena, &one) || !random_record(arena, &other))
			continue;
	while (str_equal(one.key.name, other.key.name));
	assert_int_equal(change_since(&one, 0), 0);
	first = fake_database_version();
	assert_int_equal(change_since(&one, first - 1), -ESTALE);
	assert_int_equal(change_since(&other, first - 1), 0); /* of another key */
	assert_int_equal(change_since(&one, first), 0);
	assert_int_equal(change_since(&one, first), -ESTALE);
	assert_int_equal(change_since(&one, fake_database_version() + 1), -ESTALE);
	/* two of one key in a turn: each is judged by itself */
	first = fake_database_version();
	for (size_t i = 0; i < 2; i++) {
		struct call *call = free_call();

		call->count = 1;
		call->changes[0] = (struct directory_change){
			.record = other, .is_conditional = true, .since = first};
		find_known(&other.key)->exists = true;
		open_changes++;
		postgresql_change(store, call->changes, 1, on_changed, call);
	}
	stale = 0;
	fake_database_end_turn();
	while (fake_database_is_asked(FAKE_CHANGE)) {
		answer_changes(false);
		fake_database_end_turn();
	}
	assert_int_equal(open_changes, 0);
	assert_int_equal(stale, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(any_order_of_changes_and_gets),
		STORE_TEST(what_is_read_survives_a_lost_link),
		STORE_TEST(after_a_while_it_is_down),
		STORE_TEST(errors_of_reads_are_told),
		STORE_TEST(conditions_are_met_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
