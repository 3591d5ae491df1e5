// SPDX-License-Identifier: ISC
/* SQLite on the simulated disk keeps what it promises when the power is cut. */
#include "disk_scene.h"
#include "disk_sqlite.h"
#include "unit/test.h"
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 150, CUTS = 6, KEYS = 40, VALUE = 700 };

/* What is committed, by key; 0: nothing. */
struct model {
	unsigned values[KEYS];
};

static int run(sqlite3 *database, const char *statement)
{
	return sqlite3_exec(database, statement, NULL, NULL, NULL);
}

/* NULL: it cannot be opened. With a journal that is deleted, FULL lets the end of a transaction
 * come back with the journal's name: only EXTRA syncs the directory after it. */
static sqlite3 *open_database(bool has_wal)
{
	sqlite3 *database = NULL;

	if (sqlite3_open("/db", &database) == SQLITE_OK &&
	    run(database, has_wal ? "PRAGMA journal_mode=WAL" : "PRAGMA journal_mode=DELETE") ==
		    SQLITE_OK &&
	    run(database, has_wal ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=EXTRA") ==
		    SQLITE_OK &&
	    run(database, "PRAGMA wal_autocheckpoint=20") == SQLITE_OK &&
	    run(database, "CREATE TABLE IF NOT EXISTS t (k INTEGER PRIMARY KEY, v INT, b BLOB)") ==
		    SQLITE_OK)
		return database;
	sqlite3_close(database);
	return NULL;
}

static int read_row(void *context, int count, char **values, char **names)
{
	struct model *model = context;
	unsigned key;
	unsigned value;

	(void)names;
	assert_int_equal(count, 2);
	assert_int_equal(sscanf(values[0], "%u", &key), 1);
	assert_int_equal(sscanf(values[1], "%u", &value), 1);
	model->values[key] = value;
	return 0;
}

static int expect_ok(void *context, int count, char **values, char **names)
{
	(void)context;
	(void)count;
	(void)names;
	assert_string_equal(values[0], "ok");
	return 0;
}

/* One transaction: SQLITE_OK when it is committed; NEXT_OUT: as it will then be. */
static int change(sqlite3 *database, const struct model *model, struct model *next_out)
{
	int result = run(database, "BEGIN IMMEDIATE");
	uint64_t rows = 1 + disk_scene_below(12);

	*next_out = *model;
	while (result == SQLITE_OK && rows-- > 0) {
		char statement[128];
		unsigned key = (unsigned)disk_scene_below(KEYS);
		unsigned value = (unsigned)(1 + disk_scene_below(1000000));

		if (disk_scene_below(3) == 0)
			snprintf(statement, sizeof statement, "DELETE FROM t WHERE k=%u", key),
				value = 0;
		else
			snprintf(statement, sizeof statement,
				 "REPLACE INTO t VALUES (%u, %u, randomblob(%u))", key, value,
				 (unsigned)disk_scene_below(VALUE));
		next_out->values[key] = value;
		result = run(database, statement);
	}
	return result == SQLITE_OK ? run(database, "COMMIT") : result;
}

static void check(sqlite3 *database, struct model *model, const struct model *next)
{
	struct model is = {{0}};

	assert_int_equal(sqlite3_exec(database, "PRAGMA integrity_check", expect_ok, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_exec(database, "SELECT k, v FROM t", read_row, &is, NULL),
			 SQLITE_OK);
	if (memcmp(&is, model, sizeof is) != 0)
		assert_memory_equal(&is, next, sizeof is);
	*model = is;
}

/* Changes until the power fails: how many were committed. */
static unsigned live(bool has_wal, struct model *model, struct model *next)
{
	sqlite3 *database = open_database(has_wal);
	unsigned committed = 0;

	*next = *model;
	while (database != NULL && change(database, model, next) == SQLITE_OK) {
		*model = *next;
		committed++;
	}
	disk_scene_fail_after(0, -ENODEV); /* nothing more reaches the disk */
	sqlite3_close(database);
	return committed;
}

static void test_power(void **state)
{
	unsigned committed = 0;

	(void)state;
	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		struct disk_options plan = {.keeps_order = seed % 2 == 0};
		bool has_wal = seed % 4 < 2;
		struct model model = {{0}};
		struct model next = {{0}};
		sqlite3 *database;

		disk_scene_begin(seed, &plan);
		database = open_database(has_wal);
		assert_non_null(database);
		sqlite3_close(database);
		assert_int_equal(disk_sync_all(disk_scene_disk()), 0);
		for (unsigned cut = 0; cut < CUTS; cut++) {
			disk_scene_fail_after(disk_scene_below(400), -ENODEV);
			committed += live(has_wal, &model, &next);
			disk_scene_cut_power();
			database = open_database(has_wal);
			assert_non_null(database);
			check(database, &model, &next);
			sqlite3_close(database);
		}
		disk_scene_end();
	}
	assert_true(committed > ROUNDS);
}

static void test_two(void **state)
{
	sqlite3 *one;
	sqlite3 *other;

	(void)state;
	for (int has_wal = 0; has_wal < 2; has_wal++) {
		struct model model = {{0}};

		disk_scene_begin(1, NULL);
		one = open_database(has_wal != 0);
		other = open_database(has_wal != 0);
		assert_int_equal(run(one, "BEGIN IMMEDIATE; INSERT INTO t VALUES (1, 2, NULL)"),
				 SQLITE_OK);
		assert_int_equal(run(other, "BEGIN IMMEDIATE"), SQLITE_BUSY);
		assert_int_equal(sqlite3_exec(other, "SELECT k, v FROM t", read_row, &model, NULL),
				 SQLITE_OK);
		assert_int_equal(model.values[1], 0);
		assert_int_equal(run(one, "COMMIT"), SQLITE_OK);
		assert_int_equal(sqlite3_exec(other, "SELECT k, v FROM t", read_row, &model, NULL),
				 SQLITE_OK);
		assert_int_equal(model.values[1], 2);
		assert_int_equal(run(other, "BEGIN IMMEDIATE; COMMIT"), SQLITE_OK);
		sqlite3_close(one);
		sqlite3_close(other);
		disk_scene_end();
	}
}

static int begin(void **state)
{
	(void)state;
	return world_sqlite_begin();
}

static int end(void **state)
{
	(void)state;
	world_sqlite_end();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_power),
		cmocka_unit_test(test_two),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
