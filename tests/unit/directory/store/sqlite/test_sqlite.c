// SPDX-License-Identifier: ISC
#include "directory/store/sqlite/sqlite.h"
#include "sqlite_scene.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void what_is_put_is_got(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_put_samples(&scene);
	for (int round = 0; round < 2; round++) { /* and after it was closed */
		for (size_t i = 0; i < scene_sample_count; i++) {
			char *text = strndup(scene_samples[i], strcspn(scene_samples[i], "|"));

			scene_expect_got(&scene, text, scene_samples[i]);
			free(text);
		}
		scene_expect_got(&scene, "user carol", "none");
		scene_expect_got(&scene, "address A@d.example", "none");
		assert_int_equal(scene.store->version, scene_sample_count);
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
	scene_expect_turn(&scene, "new 1 user ann; changed 0 0 1");
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

/* A file of version 1 is one whose servers had no addresses, and nothing but notes. */
static void an_old_file_becomes_a_new_one(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_put(&scene, "server s1|service box");
	scene_expect_turn(&scene, "new 1 server s1; changed 0 0 1");
	scene.store->operations->free(scene.store);
	scene_drop_checks(&scene);
	scene_sql(&scene, "ALTER TABLE server DROP COLUMN address; DROP INDEX membership; "
			  "DROP TABLE node; DROP TABLE \"group\"; UPDATE meta SET schema = 1;"
			  " PRAGMA user_version = 1");
	for (unsigned i = 0; i < 2; i++) {
		scene_restart(&scene);
		scene_expect_got(&scene, "server s1", "server s1|service box");
		if (i == 0)
			scene.store->operations->free(scene.store);
	}
	scene_put(&scene, "server s1|service box|address s.example:24");
	scene_expect_turn(&scene, "new 2 server s1; changed 0 1 2");
	scene_expect_got(&scene, "server s1", "server s1|service box|address s.example:24");
	scene_put(&scene, "node a1|address a.example:627|group core|group out");
	scene_expect_turn(&scene, "new 3 node a1; changed 0 0 3");
	scene_expect_got(&scene, "node a1", "node a1|address a.example:627|group core|group out");
	assert_int_equal(scene_count(&scene, "SELECT schema FROM meta"), 7);
	assert_int_equal(
		scene_count(&scene, "SELECT count(*) FROM sqlite_schema WHERE name = 'membership'"),
		1);
	scene_refuses_sql(&scene, "UPDATE server SET address = 'nowhere'", "server_address_value");
	scene_close(&scene);
}

static void records_change_and_go(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_put_samples(&scene);
	scene_put(&scene, "address c@d.example|kind forward|target q@e.example");
	scene_put(&scene, "user ann|name Anne");
	scene_put(&scene, "address new@d.example|kind mailbox");
	scene_remove(&scene, "address d@d.example");
	scene_remove(&scene, "address nobody@d.example");
	scene_expect_turn(&scene,
			  "new 17 address c@d.example; new 18 user ann; new 19 address "
			  "new@d.example; new 20 address d@d.example; changed 0 1 17; changed 0 "
			  "1 18; changed 0 0 19; changed 0 1 20; changed 0 0 20");
	scene_get(&scene, "address c@d.example");
	scene_get(&scene, "user ann");
	scene_get(&scene, "address d@d.example");
	scene_expect(&scene, "address c@d.example|kind forward|target q@e.example; user ann|name "
			     "Anne; none");
	/* nothing of the old target or password stays behind */
	assert_int_equal(scene_count(&scene, "SELECT count(*) FROM target"), 1);
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
	scene_expect_turn(&scene, "new 1 user ann; new 2 user ann; changed 0 0 2");
	scene_expect_got(&scene, "user ann", "user ann|name B");
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
		{DIRECTORY_MEMBERSHIP, "", "", 9,
		 "a@x.example e@d.example,a@x.example f@d.example,b@x.example e@d.example"},
		{DIRECTORY_MEMBERSHIP, "a@x.example ", "", 9,
		 "a@x.example e@d.example,a@x.example f@d.example"},
		{DIRECTORY_MEMBERSHIP, "a@x.example ", "a@x.example e@d.example", 9,
		 "a@x.example f@d.example"},
		{DIRECTORY_MEMBERSHIP, "a@x.exampl", "a@x.example e@d.example", 1,
		 "a@x.example f@d.example"},
		{DIRECTORY_MEMBERSHIP, "c@x.example ", "", 9, ""},
		{DIRECTORY_SERVER, "", "", 9, "s1"},
		{DIRECTORY_USER, "", "ann", 9, "bob"},
	};
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_put_samples(&scene);
	scene_put(&scene, "member f@d.example a@x.example");
	scene_expect_turn(&scene, NULL);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		scene_list(&scene, cases[i].table, cases[i].prefix, cases[i].after, cases[i].limit,
			   directory_table_has_pairs(cases[i].table) ? ',' : ' ');
		scene_expect(&scene, cases[i].keys);
	}
	scene_close(&scene);
}

static void changes_are_known_afterwards(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_put_samples(&scene);
	scene_expect_missed(&scene, 14, 10, "15 user ann, 16 user bob");
	scene_expect_missed(&scene, 16, 10, "");
	scene_missed(&scene, 13, 2);
	scene_missed(&scene, 17, 10);
	scene_expect(&scene, "-116; -116");
	scene_sql(&scene, "DELETE FROM change WHERE version < 10");
	scene_missed(&scene, 9, 10);
	scene_expect(&scene,
		     "10 domain e.example, 11 domain f.example, 12 member e@d.example "
		     "a@x.example, 13 member e@d.example b@x.example, 14 server s1, 15 user "
		     "ann, 16 user bob");
	scene_expect_missed(&scene, 8, 10, "-116");
	scene_close(&scene);
}

static void what_has_changed_is_not_edited(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_put(&scene, "user ann|name A");
	scene_put(&scene, "user bob|name B");
	scene_expect_turn(&scene, "new 1 user ann; new 2 user bob; changed 0 0 1; changed 0 0 2");
	scene_edit(&scene, 1, "user ann|name A1"); /* bob's change is another's */
	scene_edit(&scene, 2, "user ann|name A2"); /* after the one before, in the same turn */
	scene_edit(&scene, 2, "user carol|name C");
	scene_edit(&scene, 9, "user bob|name of other data");
	scene_expect_turn(&scene, "new 3 user ann; new 4 user carol; changed 0 1 3; changed -116; "
				  "changed 0 0 4; changed -116");
	scene_expect_got(&scene, "user ann", "user ann|name A1");
	scene_sql(&scene, "UPDATE user SET fullname = 'by SQL' WHERE name = 'ann'");
	scene_edit(&scene, 4, "user ann|name A3");
	scene_expect_turn(&scene, "new 5 user ann; new 6 user ann; changed -116");
	scene_sql(&scene, "DELETE FROM change WHERE version < 4");
	scene_edit(&scene, 2, "user bob|name B1"); /* it is not known any more */
	scene_expect_turn(&scene, "changed -116");
	scene_sql(&scene, "DELETE FROM change"); /* that nothing has changed since now is known */
	scene_edit(&scene, 6, "user bob|name B2");
	scene_edit(&scene, 5, "user bob|name B3");
	scene_expect_turn(&scene, "new 7 user bob; changed 0 1 7; changed -116");
	scene_close(&scene);
}

static void who_uses_it_hears_that_it_is_up(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open_quietly(&scene);
	scene_expect_turn(&scene, "up");
	assert_true(scene.store->is_up);
	assert_true(scene.store->fresh_us == INT64_MAX);
	scene_close(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_is_got),
		cmocka_unit_test(the_file_is_private_and_has_an_identity),
		cmocka_unit_test(an_old_file_becomes_a_new_one),
		cmocka_unit_test(records_change_and_go),
		cmocka_unit_test(keys_of_one_call_may_come_again),
		cmocka_unit_test(records_are_listed),
		cmocka_unit_test(changes_are_known_afterwards),
		cmocka_unit_test(what_has_changed_is_not_edited),
		cmocka_unit_test(who_uses_it_hears_that_it_is_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
