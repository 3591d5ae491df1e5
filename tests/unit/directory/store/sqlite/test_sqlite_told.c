// SPDX-License-Identifier: ISC
/* How often the SQLite store says what is bad: as often as it may and once more, of each record
 * once, and again when there is another reason to look. */
#include "directory/store/sqlite/internal.h"
#include "log/event.h"
#include "sqlite_scene.h"
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static struct sqlite_scene scene;
static size_t damaged_lines, bad_lines, error_lines; /* of the log */

void __wrap_log_write(enum log_name name, const struct log_field *fields);
void __wrap_log_write(enum log_name name, const struct log_field *fields)
{
	assert_non_null(fields);
	damaged_lines += name == EVENT_STORE_DAMAGED;
	bad_lines += name == EVENT_STORE_RECORD_BAD;
	error_lines += name == EVENT_STORE_ERROR;
}

static void poll_file(void)
{
	sqlite_poll(CONTAINER_OF(scene.store, struct sqlite_store, base));
}

/* SQL that damages nothing but what it says: no trigger hears of it. */
static void damage(const char *sql)
{
	sqlite3 *database;

	assert_int_equal(sqlite3_open(scene.path, &database), SQLITE_OK);
	assert_int_equal(sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

/* COUNT records, each one once or twice; all are answered as malformed. */
static void get_each(size_t count, size_t times)
{
	for (size_t i = 0; i < count * times; i++) {
		char key[40];

		snprintf(key, sizeof key, "domain %zu.example", i / times);
		scene_expect_got(&scene, key, "-74"); /* -EBADMSG */
	}
}

static void put_domains(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char record[60];

		snprintf(record, sizeof record, "domain %zu.example|kind relay", i);
		scene_put(&scene, record);
	}
	scene_expect_turn(&scene, NULL);
}

static void begin_scene(size_t count)
{
	scene_open(&scene);
	put_domains(count);
	poll_file();
	damaged_lines = bad_lines = error_lines = 0;
}

static void each_damage_is_told_once_until_it_is_opened_again(void **state)
{
	(void)state;
	for (size_t count = SQLITE_STORE_TOLD_MAX - 1; count <= SQLITE_STORE_TOLD_MAX + 1;
	     count++) {
		size_t wanted = count < SQLITE_STORE_TOLD_MAX ? count : SQLITE_STORE_TOLD_MAX;

		begin_scene(count);
		damage("UPDATE domain SET kind = 'local'");
		get_each(count, 2);
		assert_int_equal(damaged_lines, wanted);
		poll_file();
		get_each(count, 1);
		assert_int_equal(damaged_lines, wanted);
		assert_int_equal(bad_lines, 0);
		scene_reopen(&scene);
		get_each(count, 1);
		assert_int_equal(damaged_lines, 2 * wanted);
		scene_close(&scene);
	}
}

static void bad_records_are_told_as_often_after_each_poll(void **state)
{
	(void)state;
	begin_scene(SQLITE_STORE_TOLD_MAX + 1);
	scene_drop_checks(&scene);
	scene_sql(&scene, "UPDATE domain SET target = 'x y', kind = 'alias'");
	poll_file();
	scene_expect(&scene, NULL);
	get_each(SQLITE_STORE_TOLD_MAX - 1, 1);
	assert_int_equal(bad_lines, SQLITE_STORE_TOLD_MAX - 1);
	get_each(2, 1);
	assert_int_equal(bad_lines, SQLITE_STORE_TOLD_MAX);
	get_each(SQLITE_STORE_TOLD_MAX + 1, 1);
	assert_int_equal(bad_lines, SQLITE_STORE_TOLD_MAX);
	for (size_t i = 1; i <= 2; i++) {
		bad_lines = 0;
		poll_file();
		get_each(SQLITE_STORE_TOLD_MAX + 1, i);
		assert_int_equal(bad_lines, SQLITE_STORE_TOLD_MAX);
	}
	assert_int_equal(damaged_lines, 0);
	scene_close(&scene);
}

/* A read, or a change, that fails is told once, until one has succeeded. */
static void failures_are_told_once_until_one_succeeds(void **state)
{
	(void)state;
	begin_scene(1);
	for (size_t life = 1; life <= 3; life++) {
		damage("ALTER TABLE domain RENAME TO elsewhere");
		for (size_t i = 0; i < 3; i++)
			scene_expect_got(&scene, "domain 0.example", "-5"); /* -EIO */
		assert_int_equal(error_lines, 2 * life - 1);
		for (size_t i = 0; i < 3; i++) {
			scene_put(&scene, "domain 1.example|kind relay");
			scene_expect_turn(&scene, "changed -5");
		}
		assert_int_equal(error_lines, 2 * life);
		damage("ALTER TABLE elsewhere RENAME TO domain");
		scene_expect_got(&scene, "domain 0.example", "domain 0.example|kind relay");
		scene_put(&scene, "domain 0.example|kind relay");
		scene_expect_turn(&scene, NULL);
	}
	scene_close(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_damage_is_told_once_until_it_is_opened_again),
		cmocka_unit_test(bad_records_are_told_as_often_after_each_poll),
		cmocka_unit_test(failures_are_told_once_until_one_succeeds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
