// SPDX-License-Identifier: ISC
/* The SQLite store beside others that change its file by plain SQL. */
#include "os/clock.h"
#include "sqlite_scene.h"
#include "unit/directory/store/record_text.h"
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static void plain_sql_is_noticed(void **state)
{
	static const struct {
		const char *sql;
		const char *heard;
	} cases[] = {
		{"INSERT INTO address(address, kind) VALUES('n@d.example', 'mailbox')",
		 "address n@d.example"},
		{"UPDATE address SET service = 'x' WHERE address = 'n@d.example'",
		 "address n@d.example"},
		{"UPDATE address SET address = 'm@d.example' WHERE address = 'n@d.example'",
		 "address m@d.example address n@d.example"},
		{"INSERT INTO target VALUES('m@d.example', 0, 'a@d.example')",
		 "address m@d.example"},
		{"UPDATE address SET address = 'o@d.example' WHERE address = 'm@d.example'",
		 "address m@d.example address o@d.example"},
		{"DELETE FROM address WHERE address = 'o@d.example'", "address o@d.example"},
		{"DELETE FROM member WHERE member = 'a@x.example'",
		 "member e@d.example a@x.example"},
		{"INSERT INTO password(name, password) VALUES('bob', '$y$x$y')", "user bob"},
		{"UPDATE \"user\" SET name = 'bobby' WHERE name = 'bob'", "user bob user bobby"},
		{"DELETE FROM \"user\" WHERE name = 'bobby'", "user bobby"},
		{"UPDATE server SET service = 'other'", "server s1"},
		{"DELETE FROM domain WHERE name = 'f.example'", "domain f.example"},
	};
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_put_samples(&scene);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		uint64_t before = scene.store->version;

		scene_sql(&scene, cases[i].sql);
		scene_wait(&scene); /* for the poll */
		scene_expect_keys(&scene, cases[i].heard);
		assert_true(scene.store->version > before);
	}
	assert_int_equal(scene_count(&scene, "SELECT count(*) FROM target WHERE address LIKE "
					     "'_@d.example' AND address > 'm'"),
			 0);
	assert_int_equal(scene_count(&scene, "SELECT count(*) FROM password WHERE name LIKE 'b%'"),
			 0);
	scene_close(&scene);
}

/* What others did just before a change of ours is told before it, and in its order. */
static void both_ways_of_changing_keep_one_order(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_put(&scene, "user b");
	scene_sql(&scene, "INSERT INTO \"user\"(name) VALUES('a')");
	scene_expect_turn(&scene, "new 1 user a; new 2 user b; changed 0 0 2");
	scene_close(&scene);
}

static void bad_records_are_not_absent(void **state)
{
	static const struct {
		const char *sql;
		const char *key;
	} cases[] = {
		{"UPDATE address SET kind = 'mail' WHERE address = 'a@d.example'",
		 "address a@d.example"},
		{"UPDATE address SET kind = 'Mailbox' WHERE address = 'b@d.example'",
		 "address b@d.example"},
		{"UPDATE address SET owner = NULL WHERE address = 'e@d.example'",
		 "address e@d.example"},
		{"UPDATE address SET state = 'off' WHERE address = 'a@d.example'",
		 "address a@d.example"},
		{"UPDATE target SET target = 'nobody' WHERE address = 'c@d.example' AND position = "
		 "1",
		 "address c@d.example"},
		{"DELETE FROM target WHERE address = 'd@d.example'", "address d@d.example"},
		{"UPDATE password SET password = 'secret' WHERE position = 1", "user ann"},
		{"UPDATE server SET service = 'a b'", "server s1"},
		{"UPDATE domain SET target = 'x y' WHERE name = 'f.example'", "domain f.example"},
	};
	struct sqlite_scene scene;
	char malformed[16];

	(void)state;
	snprintf(malformed, sizeof malformed, "%d", -EBADMSG);
	scene_open(&scene);
	scene_put_samples(&scene);
	scene_drop_checks(&scene); /* as in a file that is older than they are */
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		scene_sql(&scene, cases[i].sql);
		scene_expect_got(&scene, cases[i].key, malformed);
	}
	/* a page is full although bad rows are between: a key that is not in its form, too */
	scene_sql(&scene, "INSERT INTO address(address, kind) VALUES('F@d.example', 'mailbox'),"
			  "('f2@d.example', 'mailbox'), ('f3@d.example', 'none'),"
			  "('f4@d.example', 'mailbox')");
	scene_list(&scene, DIRECTORY_ADDRESS, "", "", 4, ' ');
	scene_expect(&scene, "@d.example f2@d.example f4@d.example f@d.example !F@d.example"
			     " !a@d.example !b@d.example !c@d.example");
	scene_list(&scene, DIRECTORY_ADDRESS, "f", "f2@d.example", 2, ' ');
	scene_expect(&scene, "f4@d.example f@d.example !f3@d.example");
	scene_close(&scene);
}

static void bad_rows_are_refused(void **state)
{
	static const struct {
		const char *sql;
		const char *constraint;
	} cases[] = {
		{"UPDATE address SET kind = 'mail' WHERE address = 'a@d.example'",
		 "address_kind_value: mailbox, forward, alias, list, program, refused"},
		{"UPDATE address SET kind = 'Mailbox' WHERE address = 'b@d.example'",
		 "address_kind_value"},
		{"INSERT INTO address(address) VALUES('n@d.example')", "address_kind_value"},
		{"UPDATE address SET owner = '' WHERE address = 'e@d.example'",
		 "address_owner_required"},
		{"UPDATE address SET owner = 'postmaster' WHERE address = 'e@d.example'",
		 "address_owner_value"},
		{"UPDATE address SET owner = 'a@d.example' WHERE address = 'a@d.example'",
		 "address_owner_kind: only with kind 'list'"},
		{"UPDATE address SET verp = 'true' WHERE address = 'e@d.example'",
		 "address_verp_value: yes, no"},
		{"UPDATE address SET service = 'My Box' WHERE address = 'a@d.example'",
		 "address_service_value"},
		{"UPDATE address SET address = 'A@d.example' WHERE address = 'a@d.example'",
		 "address_address_key"},
		{"INSERT INTO address(address, kind) VALUES('ann', 'mailbox')",
		 "address_address_key"},
		{"INSERT INTO address(address, kind, owner)"
		 " VALUES('@d.example', 'list', 'a@d.example')",
		 "address_kind_key"},
		{"INSERT INTO address(address, kind, service, \"user\")"
		 " VALUES('n@d.example', 'mailbox', 'box', 'ann')",
		 "address_service_user"},
		{"UPDATE address SET quota = 'much' WHERE address = 'a@d.example'",
		 "address_quota_value"},
		{"INSERT INTO address(address, kind) VALUES('n@d.example', 'refused')",
		 "address_text_required"},
		{"INSERT INTO address(address, kind, text, status)"
		 " VALUES('n@d.example', 'refused', 'no', '2.0.0')",
		 "address_status_value"},
		{"UPDATE address SET state = 'off' WHERE address = 'a@d.example'",
		 "address_state_value: active, deferred, disabled"},
		{"UPDATE \"user\" SET state = 'off'", "user_state_value"},
		{"UPDATE address SET post = 'all' WHERE address = 'e@d.example'",
		 "address_post_value: anyone, members, owners"},
		{"UPDATE address SET post = 'owners' WHERE address = 'a@d.example'",
		 "address_post_kind"},
		{"UPDATE target SET target = 'nobody' WHERE address = 'c@d.example'",
		 "target_target_value"},
		{"INSERT INTO target(address, target) VALUES('C@d.example', 'a@d.example')",
		 "target_address_key"},
		{"INSERT INTO password(name, password) VALUES('ann', 'secret')",
		 "password_password_value"},
		{"INSERT INTO member VALUES('e@d.example', 'bob')", "member_member_key"},
		{"INSERT INTO member VALUES('e@d.example', 'e@d.example')", "member_member_other"},
		{"UPDATE server SET service = NULL", "server_service_required"},
		{"UPDATE domain SET kind = 'mine'", "domain_kind_value"},
		{"UPDATE domain SET target = 'x y' WHERE kind = 'alias'", "domain_target_value"},
		{"UPDATE domain SET service = 'box' WHERE kind = 'alias'", "domain_service_kind"},
		{"INSERT INTO domain(name, kind) VALUES('D.example', 'local')", "domain_name_key"},
		{"INSERT INTO \"user\"(name) VALUES('')", "user_name_key"},
	};
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_put_samples(&scene);
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		scene_refuses_sql(&scene, cases[i].sql, cases[i].constraint);
	scene_close(&scene);
}

/* A text that may stand in a field of any kind, or not. */
static const char *random_text(uint64_t *seed)
{
	static const char *const texts[] = {"a@b.example",
					    "\"a b\"@x.example",
					    "J\xc3\xb6rg@d\xc3\xb6main.example",
					    "@d.example",
					    "B.EXAMPLE",
					    "local",
					    "mailbox",
					    "forward",
					    "alias",
					    "list",
					    "program",
					    "refused",
					    "box",
					    "yes",
					    "no",
					    "5.7.1",
					    "4.12.345",
					    "a word's text",
					    "$y$j9T$a$b",
					    "SCRAM-SHA-1$4096:c2FsdA==$a:b",
					    "h.example:24",
					    "[::1]:24",
					    "ann",
					    "1024K,5",
					    "none",
					    "list@d.example a@b.example",
					    "\"x y\"@l.example A@B.example"};

	*seed = *seed * 6364136223846793005U + 1442695040888963407U;
	return texts[(*seed >> 33) % COUNT_OF(texts)];
}

static bool put_random(struct sqlite_scene *scene, struct arena *arena, uint64_t *seed)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	enum directory_table table = DIRECTORY_DOMAIN + (*seed >> 40) % 5;
	struct directory_record record;
	struct directory_record input;
	const char *reason;
	const char *field;

	buffer_append_format(&text, "%s %s", directory_table_name(table), random_text(seed));
	for (size_t i = 0; (field = directory_table_field(table, i, NULL)) != NULL; i++)
		if ((*seed >> (20 + i)) % 3 == 0 || i == 0)
			buffer_append_format(&text, "|%s %s", field, random_text(seed));
	buffer_append_byte(&text, '\0');
	input = record_of_text(arena, buffer_data(&text));
	if (directory_record_check(&input, arena, &record, &reason) < 0)
		return false;
	buffer_reset(&text);
	record_append_text(&text, &record);
	buffer_append_byte(&text, '\0');
	scene_put(scene, buffer_data(&text));
	return true;
}

static void good_rows_are_never_refused(void **state)
{
	static const char *const sql[] = {
		"UPDATE domain SET name = name",     "UPDATE address SET address = address",
		"UPDATE target SET target = target", "UPDATE member SET list = list",
		"UPDATE \"user\" SET name = name",   "UPDATE password SET name = name",
		"UPDATE server SET name = name"};
	struct sqlite_scene scene;
	uint64_t seed = 1;
	unsigned good = 0;

	(void)state;
	scene_open(&scene);
	scene_put_samples(&scene);
	for (unsigned i = 0; i < 200000; i++) {
		struct arena *arena = arena_new();

		good += put_random(&scene, arena, &seed);
		arena_free(arena);
	}
	assert_in_range(good, 500, 200000);
	scene_expect_turn(&scene, NULL);
	for (size_t i = 0; i < COUNT_OF(sql); i++)
		scene_sql(&scene, sql[i]);
	scene_close(&scene);
}

static void an_empty_column_is_no_field(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_sql(&scene,
		  "INSERT INTO address(address, kind, service, \"user\", mailbox, owner, verp,"
		  " status, text, source) VALUES('a@d.example', 'mailbox', '', '', '', '', '',"
		  " '', '', '')");
	scene_expect_got(&scene, "address a@d.example", "address a@d.example|kind mailbox");
	scene_close(&scene);
}

static void a_batch_reads_one_state(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_put_samples(&scene);
	scene.store->operations->begin(scene.store);
	scene_get(&scene, "user bob");
	scene_sql(&scene, "DELETE FROM \"user\" WHERE name = 'bob'");
	scene_get(&scene, "user bob");
	scene.store->operations->end(scene.store);
	scene_get(&scene, "user bob");
	scene_expect(&scene, "user bob; user bob; none");
	/* and a change that comes due within one is made all the same */
	scene.store->operations->begin(scene.store);
	scene_get(&scene, "user ann");
	scene_remove(&scene, "user ann");
	scene_turn(&scene);
	scene_get(&scene, "user ann");
	scene.store->operations->end(scene.store);
	scene_expect(&scene,
		     "new 17 user bob; user ann|password $y$j9T$a$b|password $2b$10$c|server "
		     "s1|name Ann \xc3\x84.; new 18 user ann; changed 0 1 18; none");
	scene_close(&scene);
}

/* So that who keeps something of an older state never sees it beside a newer one. */
static void a_batch_begins_with_the_news(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_put_samples(&scene);
	scene_sql(&scene, "DELETE FROM \"user\" WHERE name = 'bob'");
	scene.store->operations->begin(scene.store);
	scene_get(&scene, "user bob");
	scene_get(&scene, "user bob");
	scene.store->operations->end(scene.store);
	scene_expect(&scene, "new 17 user bob; none; none");
	scene.store->operations->begin(scene.store);
	scene_get(&scene, "user bob");
	scene.store->operations->end(scene.store);
	scene_expect(&scene, "none");
	scene_close(&scene);
}

static void other_data_are_a_reset(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_put_samples(&scene);
	scene_sql(&scene, "UPDATE meta SET identity = 'restored'");
	scene_wait(&scene);
	scene_expect(&scene, "reset");
	assert_string_equal(scene.store->identity, "restored");
	scene_sql(&scene, "DELETE FROM \"user\"; DELETE FROM change");
	scene_wait(&scene);
	scene_expect(&scene, "reset");
	assert_int_equal(scene.store->version, 20); /* two users, two passwords */
	scene_sql(&scene, "UPDATE meta SET version = 5");
	scene_wait(&scene);
	scene_expect(&scene, "reset");
	assert_int_equal(scene.store->version, 5);
	scene_close(&scene);
}

static void the_log_is_cut(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_sql(&scene,
		  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
		  "102000) INSERT INTO change(version, table_name, key, at)"
		  " SELECT i, 'user', 'u' || i, 0 FROM n; UPDATE meta SET version = 102000");
	scene_wait(&scene);
	scene_expect(&scene, "reset");
	scene_put(&scene, "user ann");
	scene_expect_turn(&scene, "new 102001 user ann; changed 0 0 102001");
	/* before our change or behind it */
	assert_in_range(scene_count(&scene, "SELECT min(version) FROM change"), 2001, 2002);
	assert_in_range(scene_count(&scene, "SELECT count(*) FROM change"), 100000, 100001);
	scene_close(&scene);
}

static int compare_times(const void *a, const void *b)
{
	int64_t one = *(const int64_t *)a;
	int64_t other = *(const int64_t *)b;

	return (one > other) - (one < other);
}

/* A quarter of a second passes between two looks where nothing tells of a change. */
static void a_change_is_live_in_milliseconds(void **state)
{
	enum { CHANGES = 60 };
	int64_t times_us[CHANGES];
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	for (unsigned i = 0; i < CHANGES; i++) {
		char sql[100];
		int64_t before_us;

		snprintf(sql, sizeof sql, "INSERT INTO \"user\"(name) VALUES('u%u')", i);
		scene_sql(&scene, sql);
		before_us = os_clock_monotonic_us();
		scene_wait(&scene);
		times_us[i] = os_clock_monotonic_us() - before_us;
		buffer_reset(&scene.heard);
	}
	qsort(times_us, CHANGES, sizeof *times_us, compare_times);
	assert_in_range(times_us[CHANGES / 2], 0, 20000);
	assert_in_range(times_us[CHANGES * 3 / 4], 0, 60000); /* on a machine that has much to do */
	scene_close(&scene);
}

struct writer {
	sqlite3 *database;
	struct sqlite_scene *scene;
	int64_t committed_us;
};

static void commit(void *context)
{
	struct writer *writer = context;

	assert_int_equal(sqlite3_exec(writer->database, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	writer->committed_us = os_clock_monotonic_us();
}

/* It writes long before its commit. How long it then takes until that is noticed; microseconds. */
static int64_t time_of_a_long_transaction(struct sqlite_scene *scene, unsigned number)
{
	struct writer writer = {.scene = scene};
	struct os_timer *timer = os_timer_new(scene->loop, commit, &writer);
	int64_t took_us;
	char sql[300];

	snprintf(sql, sizeof sql,
		 "PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN;"
		 "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
		 " INSERT INTO \"user\"(name) SELECT 'user%u-' || i FROM n",
		 number);
	assert_int_equal(sqlite3_open(scene->path, &writer.database), SQLITE_OK);
	assert_int_equal(sqlite3_exec(writer.database, sql, NULL, NULL, NULL), SQLITE_OK);
	os_timer_start(timer, 400000);
	scene_wait(scene);
	assert_true(writer.committed_us != 0);
	took_us = os_clock_monotonic_us() - writer.committed_us;
	os_timer_free(timer);
	assert_int_equal(sqlite3_close(writer.database), SQLITE_OK);
	buffer_reset(&scene->heard);
	return took_us;
}

/* Once of a few times, on a machine that has much to do. */
static void a_long_transaction_is_live_soon_after_its_commit(void **state)
{
	enum { SOON_US = 150000, TRIES = 3 };
	struct sqlite_scene scene;
	unsigned tries = 1;

	(void)state;
	scene_open(&scene);
	while (time_of_a_long_transaction(&scene, tries) > SOON_US)
		assert_true(tries++ < TRIES);
	scene_close(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_sql_is_noticed),
		cmocka_unit_test(both_ways_of_changing_keep_one_order),
		cmocka_unit_test(bad_records_are_not_absent),
		cmocka_unit_test(bad_rows_are_refused),
		cmocka_unit_test(good_rows_are_never_refused),
		cmocka_unit_test(an_empty_column_is_no_field),
		cmocka_unit_test(a_batch_reads_one_state),
		cmocka_unit_test(a_batch_begins_with_the_news),
		cmocka_unit_test(other_data_are_a_reset),
		cmocka_unit_test(the_log_is_cut),
		cmocka_unit_test(a_change_is_live_in_milliseconds),
		cmocka_unit_test(a_long_transaction_is_live_soon_after_its_commit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
