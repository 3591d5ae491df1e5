// SPDX-License-Identifier: ISC
#include "sqlite_scene.h"
#include "store/sqlite.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const samples[] = {
	"address @d.example|kind refused|text All have left|status 5.1.6",
	"address a@d.example|kind mailbox",
	"address b@d.example|kind mailbox|service maildir|mailbox c@d.example|source aliases",
	"address c@d.example|kind forward|target z@e.example|target a@e.example|target c@d.example",
	"address d@d.example|kind alias|target a@d.example",
	"address e@d.example|kind list|owner o@d.example|verp yes",
	"address f@d.example|kind program|service filter",
	"address g@d.example|kind mailbox|user ann",
	"domain d.example|kind local|service maildir",
	"domain e.example|kind relay",
	"domain f.example|kind alias|target d.example",
	"member e@d.example a@x.example",
	"member e@d.example b@x.example",
	"server s1|service maildir",
	"user ann|password $y$j9T$a$b|password $2b$10$c|server s1|name Ann \xc3\x84.",
	"user bob",
};

static void put_samples(struct sqlite_scene *scene)
{
	for (size_t i = 0; i < COUNT_OF(samples); i++)
		scene_put(scene, samples[i]);
	scene_turn(scene);
	scene_expect(scene, NULL);
}

static void what_is_put_is_got(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	put_samples(&scene);
	for (int round = 0; round < 2; round++) { /* and after it was closed */
		for (size_t i = 0; i < COUNT_OF(samples); i++) {
			char *text = strndup(samples[i], strcspn(samples[i], "|"));

			scene_get(&scene, text);
			scene_expect(&scene, samples[i]);
			free(text);
		}
		scene_get(&scene, "user carol");
		scene_expect(&scene, "none");
		scene_get(&scene, "address A@d.example");
		scene_expect(&scene, "none");
		assert_int_equal(scene.store->version, COUNT_OF(samples));
		scene_reopen(&scene);
	}
	scene_close(&scene);
}

static void the_file_is_private_and_has_an_identity(void **state)
{
	struct sqlite_scene scene;
	struct sqlite_scene other;
	struct stat status;
	char identity[64];

	(void)state;
	scene_open(&scene);
	scene_put(&scene, "user ann");
	scene_turn(&scene);
	scene_expect(&scene, "new 1 user ann; changed 0 0 1");
	assert_int_equal(stat(scene.path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	snprintf(identity, sizeof identity, "%s", scene.store->identity);
	assert_int_equal(strlen(identity), 36);
	scene_reopen(&scene);
	assert_string_equal(scene.store->identity, identity);
	scene_open(&other);
	assert_string_not_equal(other.store->identity, identity);
	scene_close(&other);
	scene_close(&scene);
}

static void records_change_and_go(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	put_samples(&scene);
	scene_put(&scene, "address c@d.example|kind forward|target q@e.example");
	scene_put(&scene, "user ann|name Anne");
	scene_put(&scene, "address new@d.example|kind mailbox");
	scene_remove(&scene, "address d@d.example");
	scene_remove(&scene, "address nobody@d.example");
	scene_turn(&scene);
	scene_expect(&scene, "new 17 address c@d.example; new 18 user ann; new 19 address "
			     "new@d.example; new 20 address d@d.example; changed 0 1 17; changed 0 "
			     "1 18; changed 0 0 19; changed 0 1 20; changed 0 0 20");
	scene_get(&scene, "address c@d.example");
	scene_get(&scene, "user ann");
	scene_get(&scene, "address d@d.example");
	scene_expect(&scene, "address c@d.example|kind forward|target q@e.example; user ann|name "
			     "Anne; none");
	/* nothing of the old target or password stays behind */
	scene_put(&scene, "address d@d.example|kind mailbox");
	scene_turn(&scene);
	assert_int_equal(scene_count(&scene, "SELECT count(*) FROM target"), 1);
	assert_int_equal(scene_count(&scene, "SELECT count(*) FROM password"), 0);
	scene_close(&scene);
}

static void keys_of_one_call_may_come_again(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_put_both(&scene, "user ann|name A", "user ann|name B");
	scene_turn(&scene);
	scene_expect(&scene, "new 1 user ann; new 2 user ann; changed 0 0 2");
	scene_get(&scene, "user ann");
	scene_expect(&scene, "user ann|name B");
	scene_close(&scene);
}

static void records_are_listed(void **state)
{
	static const struct {
		enum directory_table table;
		const char *prefix, *after;
		size_t limit;
		const char *keys;
	} cases[] = {
		{DIRECTORY_ADDRESS, "", "", 3, "@d.example a@d.example b@d.example"},
		{DIRECTORY_ADDRESS, "", "b@d.example", 2, "c@d.example d@d.example"},
		{DIRECTORY_ADDRESS, "", "b", 1, "b@d.example"},
		{DIRECTORY_ADDRESS, "g", "", 9, "g@d.example"},
		{DIRECTORY_ADDRESS, "b", "g", 9, ""},
		{DIRECTORY_ADDRESS, "b", "a", 9, "b@d.example"},
		{DIRECTORY_ADDRESS, "b@d.example", "", 9, "b@d.example"},
		{DIRECTORY_ADDRESS, "h", "", 9, ""},
		{DIRECTORY_ADDRESS, "\xff", "", 9, ""},
		{DIRECTORY_ADDRESS, "", "f@d.example", 9, "g@d.example"},
		{DIRECTORY_DOMAIN, "", "", 9, "d.example e.example f.example"},
		{DIRECTORY_MEMBER, "", "", 9,
		 "e@d.example a@x.example,e@d.example b@x.example,f@d.example a@x.example"},
		{DIRECTORY_MEMBER, "e@d.example ", "", 9,
		 "e@d.example a@x.example,e@d.example b@x.example"},
		{DIRECTORY_MEMBER, "e@d.example ", "e@d.example a@x.example", 9,
		 "e@d.example b@x.example"},
		{DIRECTORY_MEMBER, "e@d.example b", "", 9, "e@d.example b@x.example"},
		{DIRECTORY_MEMBER, "e@d.example ", "", 1, "e@d.example a@x.example"},
		{DIRECTORY_MEMBER, "f", "", 9, "f@d.example a@x.example"},
		{DIRECTORY_MEMBER, "", "e@d.example b@x.example", 9, "f@d.example a@x.example"},
		{DIRECTORY_MEMBER, "g@d.example ", "", 9, ""},
		{DIRECTORY_SERVER, "", "", 9, "s1"},
		{DIRECTORY_USER, "", "ann", 9, "bob"},
	};
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	put_samples(&scene);
	scene_put(&scene, "member f@d.example a@x.example");
	scene_turn(&scene);
	scene_expect(&scene, NULL);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		scene_list(&scene, cases[i].table, cases[i].prefix, cases[i].after, cases[i].limit,
			   cases[i].table == DIRECTORY_MEMBER ? ',' : ' ');
		scene_expect(&scene, cases[i].keys);
	}
	scene_close(&scene);
}

static void changes_are_known_afterwards(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	put_samples(&scene);
	scene_missed(&scene, 14, 10);
	scene_expect(&scene, "15 user ann, 16 user bob");
	scene_missed(&scene, 16, 10);
	scene_expect(&scene, "");
	scene_missed(&scene, 13, 2);
	scene_missed(&scene, 17, 10);
	scene_expect(&scene, "-116; -116");
	scene_sql(&scene, "DELETE FROM change WHERE version < 10");
	scene_missed(&scene, 9, 10);
	scene_expect(&scene,
		     "10 domain e.example, 11 domain f.example, 12 member e@d.example "
		     "a@x.example, 13 member e@d.example b@x.example, 14 server s1, 15 user "
		     "ann, 16 user bob");
	scene_missed(&scene, 8, 10);
	scene_expect(&scene, "-116");
	scene_close(&scene);
}

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
	put_samples(&scene);
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
	scene_turn(&scene);
	scene_expect(&scene, "new 1 user a; new 2 user b; changed 0 0 2");
	scene_close(&scene);
}

static void bad_records_are_absent(void **state)
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
		{"UPDATE target SET target = 'nobody' WHERE address = 'c@d.example' AND position = "
		 "1",
		 "address c@d.example"},
		{"DELETE FROM target WHERE address = 'd@d.example'", "address d@d.example"},
		{"UPDATE password SET password = 'secret' WHERE position = 1", "user ann"},
		{"UPDATE server SET service = 'a b'", "server s1"},
		{"UPDATE domain SET target = 'x y' WHERE name = 'f.example'", "domain f.example"},
	};
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	put_samples(&scene);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		scene_sql(&scene, cases[i].sql);
		scene_get(&scene, cases[i].key);
		scene_expect(&scene, "none");
	}
	/* a page is full although bad rows are between: a key that is not in its form, too */
	scene_sql(&scene, "INSERT INTO address(address, kind) VALUES('F@d.example', 'mailbox'),"
			  "('f2@d.example', 'mailbox'), ('f3@d.example', 'none'),"
			  "('f4@d.example', 'mailbox')");
	scene_list(&scene, DIRECTORY_ADDRESS, "", "", 4, ' ');
	scene_expect(&scene, "@d.example f2@d.example f4@d.example f@d.example");
	scene_list(&scene, DIRECTORY_ADDRESS, "f", "f2@d.example", 2, ' ');
	scene_expect(&scene, "f4@d.example f@d.example");
	scene_close(&scene);
}

static void an_empty_column_is_no_field(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_sql(&scene,
		  "INSERT INTO address VALUES('a@d.example', 'mailbox', '', '', '', '', '', "
		  "'', '', '')");
	scene_get(&scene, "address a@d.example");
	scene_expect(&scene, "address a@d.example|kind mailbox");
	scene_close(&scene);
}

static void a_batch_reads_one_state(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	put_samples(&scene);
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
	put_samples(&scene);
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
	put_samples(&scene);
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
	scene_turn(&scene);
	scene_expect(&scene, "new 102001 user ann; changed 0 0 102001");
	assert_int_equal(scene_count(&scene, "SELECT min(version) FROM change"), 2001);
	assert_int_equal(scene_count(&scene, "SELECT count(*) FROM change"), 100001);
	scene_close(&scene);
}

static void who_uses_it_hears_that_it_is_up(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open_quietly(&scene);
	scene_turn(&scene);
	scene_expect(&scene, "up");
	assert_true(scene.store->is_up);
	assert_true(scene.store->fresh_us == INT64_MAX);
	scene_close(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_is_got),
		cmocka_unit_test(the_file_is_private_and_has_an_identity),
		cmocka_unit_test(records_change_and_go),
		cmocka_unit_test(keys_of_one_call_may_come_again),
		cmocka_unit_test(records_are_listed),
		cmocka_unit_test(changes_are_known_afterwards),
		cmocka_unit_test(plain_sql_is_noticed),
		cmocka_unit_test(both_ways_of_changing_keep_one_order),
		cmocka_unit_test(bad_records_are_absent),
		cmocka_unit_test(an_empty_column_is_no_field),
		cmocka_unit_test(a_batch_reads_one_state),
		cmocka_unit_test(a_batch_begins_with_the_news),
		cmocka_unit_test(other_data_are_a_reset),
		cmocka_unit_test(the_log_is_cut),
		cmocka_unit_test(who_uses_it_hears_that_it_is_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
