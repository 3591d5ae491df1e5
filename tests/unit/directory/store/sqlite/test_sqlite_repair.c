// SPDX-License-Identifier: ISC
/* What a repair says of each way in which the directory's file is not right, and what it makes of
 * it: by a look that changes nothing, by the repair, and by a look at what that has made. */
#include "directory/store/sqlite/repair.h"
#include "directory/store/sqlite/sqlite.h"
#include "sqlite_scene.h"
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- one repair, as text --- */

static struct buffer told;

static void on_lost(void *context, struct str table, struct str key, const char *why)
{
	(void)context;
	buffer_append_format(&told, "; lost " STR_FORMAT " " STR_FORMAT ": %s",
			     STR_ARGUMENTS(table), STR_ARGUMENTS(key), why);
}

/* Without the names of files. */
static void tell_sentence(struct buffer *sentence)
{
	const char *colon;

	buffer_append_byte(sentence, '\0');
	colon = strstr(buffer_data(sentence), ": ");
	if (sentence->length > 1)
		buffer_append_format(&told, "; %s",
				     buffer_data(sentence)[0] == '/' && colon != NULL
					     ? colon + 2
					     : buffer_data(sentence));
	buffer_clear(sentence);
}

/* "ERROR STATE GOOD" and all else that it says. */
static const char *repair(struct sqlite_scene *scene, bool applies)
{
	static const char *const states[] = {"whole", "damaged", "unreadable"};
	struct store_sqlite_repair options = {.applies = applies, .lost = on_lost};
	struct buffer why = {0}, lost = {0};
	int error;

	buffer_reset(&told);
	error = store_sqlite_repair(scene->loop, scene->path, &options, &why);
	buffer_append_str(&lost, buffer_view(&told));
	buffer_reset(&told);
	buffer_append_format(&told, "%d %s %u good, %u lost%s%s", error, states[options.state],
			     (unsigned)options.good, (unsigned)options.lost_count,
			     options.has_unnamed ? " and others" : "",
			     options.has_identity ? ", same" : "");
	tell_sentence(&options.problem);
	tell_sentence(&why);
	buffer_append_str(&told, buffer_view(&lost));
	if (options.kept.length > 0) {
		buffer_append_byte(&options.kept, '\0');
		assert_int_equal(access(buffer_data(&options.kept), F_OK), 0);
		buffer_append_string(&told, "; kept");
	}
	buffer_clear(&options.kept);
	buffer_clear(&lost);
	buffer_append_byte(&told, '\0');
	return buffer_data(&told);
}

/* --- a file that is not right --- */

/* As a disk changes it: no trigger hears of it. */
static void change_file(const char *path, const char *sql)
{
	sqlite3 *database;

	assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
	assert_int_equal(sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL),
			 SQLITE_OK);
	if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(database));
	assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static void write_file(const char *path, const char *text, size_t length)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

static int64_t number_in(const char *path, const char *sql)
{
	sqlite3 *database;
	sqlite3_stmt *statement;
	int64_t number;

	assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	number = sqlite3_column_int64(statement, 0);
	assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
	assert_int_equal(sqlite3_close(database), SQLITE_OK);
	return number;
}

/* What is said by a directory that opens the file, "opened" if it does. */
static const char *open_file(struct sqlite_scene *scene)
{
	struct directory_store *store = NULL;
	struct buffer why = {0};
	int error = store_sqlite_open(scene->loop, scene->path, &store, &why);

	buffer_reset(&told);
	if (error == 0)
		store->operations->free(store);
	else
		assert_null(store);
	buffer_append_format(&told, error == 0 ? "opened" : "%d", error);
	tell_sentence(&why);
	buffer_append_byte(&told, '\0');
	return buffer_data(&told);
}

static void remove_log(const struct sqlite_scene *scene)
{
	static const char *const ends[] = {"-wal", "-shm"};
	char path[sizeof scene->path + 8];

	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		snprintf(path, sizeof path, "%s%s", scene->path, ends[i]);
		(void)unlink(path);
	}
}

#define TOTAL  "; the total of its checksums differs"
#define ADVICE ": run \"stagepost directory repair\""
#define LOST   ": it is lost, and its checksum is there"
#define UNREAD ": it cannot be read"
#define FOREIGN                                                                         \
	"-22 whole 0 good, 0 lost; it has no records; these are the tables of another " \
	"program or version; put back the file of this directory"

static const struct {
	const char *sql; /* or what is all of the file, after a '=' */
	const char *look, *repaired, *after;
	const char *opened; /* before */
} CASES[] = {
	{"SELECT 1", "0 whole 16 good, 0 lost", "0 whole 16 good, 0 lost",
	 "0 whole 16 good, 0 lost", "opened"},
	{"DELETE FROM password WHERE name = 'ann'",
	 "0 damaged 15 good, 1 lost; lost user ann: its checksum differs",
	 "0 damaged 15 good, 1 lost, same; lost user ann: its checksum differs; kept",
	 "0 whole 15 good, 0 lost", "opened"},
	{"DELETE FROM \"user\" WHERE name = 'bob'", "0 damaged 15 good, 1 lost; lost user bob" LOST,
	 "0 damaged 15 good, 1 lost, same; lost user bob" LOST "; kept", "0 whole 15 good, 0 lost",
	 "opened"},
	{"UPDATE address SET text = 'x' WHERE address = 'd@d.example'",
	 "0 damaged 15 good, 1 lost; lost address d@d.example: its checksum differs",
	 "0 damaged 15 good, 1 lost, same; lost address d@d.example: its checksum differs; kept",
	 "0 whole 15 good, 0 lost", "opened"},
	{"UPDATE target SET position = 9 WHERE target = 'z@e.example'",
	 "0 damaged 15 good, 1 lost; lost address c@d.example: its checksum differs",
	 "0 damaged 15 good, 1 lost, same; lost address c@d.example: its checksum differs; kept",
	 "0 whole 15 good, 0 lost", "opened"},
	{"DELETE FROM checksum WHERE key = 'bob'", "0 damaged 16 good, 0 lost" TOTAL,
	 "0 damaged 16 good, 0 lost, same" TOTAL "; kept", "0 whole 16 good, 0 lost",
	 "-5" TOTAL ADVICE},
	{"DELETE FROM checksum WHERE key = 'bob'; DELETE FROM \"user\" WHERE name = 'bob'",
	 "0 damaged 15 good, 0 lost and others" TOTAL,
	 "0 damaged 15 good, 0 lost and others, same" TOTAL "; kept", "0 whole 15 good, 0 lost",
	 "-5" TOTAL ADVICE},
	{"UPDATE checksum SET sum = sum + 1 WHERE key = 'bob'", "0 damaged 16 good, 0 lost" TOTAL,
	 "0 damaged 16 good, 0 lost, same" TOTAL "; kept", "0 whole 16 good, 0 lost",
	 "-5" TOTAL ADVICE},
	{"DELETE FROM checksum", "0 damaged 16 good, 0 lost" TOTAL,
	 "0 damaged 16 good, 0 lost, same" TOTAL "; kept", "0 whole 16 good, 0 lost",
	 "-5" TOTAL ADVICE},
	{"UPDATE checksum SET sum = NULL WHERE key = 'bob'",
	 "0 damaged 16 good, 0 lost and others" TOTAL,
	 "0 damaged 16 good, 0 lost and others, same" TOTAL "; kept", "0 whole 16 good, 0 lost",
	 "-5" TOTAL ADVICE},
	{"UPDATE meta SET total = total + 1", "0 damaged 16 good, 0 lost and others" TOTAL,
	 "0 damaged 16 good, 0 lost and others, same" TOTAL "; kept", "0 whole 16 good, 0 lost",
	 "-5" TOTAL ADVICE},
	{"UPDATE meta SET total = total + 1; DELETE FROM checksum WHERE key = 'bob'",
	 "0 damaged 15 good, 1 lost and others" TOTAL "; lost user bob: its checksum is lost",
	 "0 damaged 15 good, 1 lost and others, same" TOTAL
	 "; lost user bob: its checksum is lost; kept",
	 "0 whole 15 good, 0 lost", "-5" TOTAL ADVICE},
	{"DELETE FROM meta", "0 damaged 16 good, 0 lost" TOTAL,
	 "0 damaged 16 good, 0 lost" TOTAL "; kept", "0 whole 16 good, 0 lost",
	 "-5; database disk image is malformed" ADVICE},
	{"PRAGMA application_id = 7", "0 damaged 16 good, 0 lost; its header is damaged",
	 "0 damaged 16 good, 0 lost, same; its header is damaged; kept", "0 whole 16 good, 0 lost",
	 "-5; its header is damaged" ADVICE},
	{"PRAGMA user_version = 99", "0 damaged 16 good, 0 lost; its header is damaged",
	 "0 damaged 16 good, 0 lost, same; its header is damaged; kept", "0 whole 16 good, 0 lost",
	 "-5; its header is damaged" ADVICE},
	{"DROP TABLE member",
	 "0 damaged 14 good, 2 lost; some of it cannot be read; lost member e@d.example "
	 "a@x.example" UNREAD "; lost member e@d.example b@x.example" UNREAD,
	 "0 damaged 14 good, 2 lost, same; some of it cannot be read; lost member e@d.example "
	 "a@x.example" UNREAD "; lost member e@d.example b@x.example" UNREAD "; kept",
	 "0 whole 14 good, 0 lost", "-5; SQL logic error" ADVICE},
	{"DELETE FROM member",
	 "0 damaged 14 good, 2 lost; lost member e@d.example a@x.example" LOST
	 "; lost member e@d.example b@x.example" LOST,
	 "0 damaged 14 good, 2 lost, same; lost member e@d.example a@x.example" LOST
	 "; lost member e@d.example b@x.example" LOST "; kept",
	 "0 whole 14 good, 0 lost", "opened"},
	{"DROP TABLE checksum", FOREIGN, FOREIGN, FOREIGN, "-5; no such table: checksum" ADVICE},
	{"DROP TABLE meta", FOREIGN, FOREIGN, FOREIGN, "-5; no such table: meta" ADVICE},
	{"=", "0 unreadable 0 good, 0 lost; it has no records",
	 "0 unreadable 0 good, 0 lost; it has no records; kept",
	 "-2 whole 0 good, 0 lost; No such file or directory", "opened"},
	{"=not a database at all", "0 unreadable 0 good, 0 lost; file is not a database",
	 "0 unreadable 0 good, 0 lost; file is not a database; kept",
	 "-2 whole 0 good, 0 lost; No such file or directory",
	 "-22; this is no SQLite database" ADVICE},
	{"INSERT INTO address(address, kind) VALUES('n@d.example', 'mailbox')",
	 "0 damaged 16 good, 1 lost; lost address n@d.example: its checksum is lost",
	 "0 damaged 16 good, 1 lost, same; lost address n@d.example: its checksum is lost; kept",
	 "0 whole 16 good, 0 lost", "opened"},
	{"DROP TABLE target",
	 "0 damaged 14 good, 2 lost; some of it cannot be read; lost address c@d.example" UNREAD
	 "; lost address d@d.example" UNREAD,
	 "0 damaged 14 good, 2 lost, same; some of it cannot be read; lost address "
	 "c@d.example" UNREAD "; lost address d@d.example" UNREAD "; kept",
	 "0 whole 14 good, 0 lost", "-5; SQL logic error" ADVICE},
	{"UPDATE meta SET identity = ''; DELETE FROM password",
	 "0 damaged 15 good, 1 lost; lost user ann: its checksum differs",
	 "0 damaged 15 good, 1 lost; lost user ann: its checksum differs; kept",
	 "0 whole 15 good, 0 lost", "opened"},
	{"UPDATE meta SET identity = 'a b'; DELETE FROM password",
	 "0 damaged 15 good, 1 lost; lost user ann: its checksum differs",
	 "0 damaged 15 good, 1 lost; lost user ann: its checksum differs; kept",
	 "0 whole 15 good, 0 lost", "opened"},
	{"UPDATE meta SET identity = 'a' || char(127); DELETE FROM password",
	 "0 damaged 15 good, 1 lost; lost user ann: its checksum differs",
	 "0 damaged 15 good, 1 lost; lost user ann: its checksum differs; kept",
	 "0 whole 15 good, 0 lost", "opened"},
	{"UPDATE meta SET identity = printf('%063d', 7); DELETE FROM password",
	 "0 damaged 15 good, 1 lost; lost user ann: its checksum differs",
	 "0 damaged 15 good, 1 lost, same; lost user ann: its checksum differs; kept",
	 "0 whole 15 good, 0 lost", "opened"},
	{"UPDATE meta SET identity = printf('%064d', 7); DELETE FROM password",
	 "0 damaged 15 good, 1 lost; lost user ann: its checksum differs",
	 "0 damaged 15 good, 1 lost; lost user ann: its checksum differs; kept",
	 "0 whole 15 good, 0 lost", "opened"},
};

/* A scene whose store is closed, with all that is in it in one file, of which SIZE bytes are kept.
 */
static struct sqlite_scene scene;
static char whole[1 << 20];
static size_t size;

static int make_scene(void **state)
{
	FILE *file;

	(void)state;
	scene_open(&scene);
	scene_put_samples(&scene);
	scene.store->operations->free(scene.store);
	scene.store = NULL;
	remove_log(&scene);
	file = fopen(scene.path, "re");
	assert_non_null(file);
	size = fread(whole, 1, sizeof whole, file);
	assert_int_equal(fclose(file), 0);
	return size == sizeof whole;
}

static int end_scene(void **state)
{
	(void)state;
	(void)unlink(scene.path);
	remove_log(&scene);
	scene_restart(&scene);
	scene_close(&scene);
	buffer_clear(&told);
	return 0;
}

static void make_file(const char *change)
{
	remove_log(&scene);
	if (*change == '=') {
		write_file(scene.path, change + 1, strlen(change + 1));
	} else {
		write_file(scene.path, whole, size);
		change_file(scene.path, change);
	}
	remove_log(&scene);
}

static void check_case(size_t i)
{
	char made[sizeof scene.path + 16];

	make_file(CASES[i].sql);
	assert_string_equal(open_file(&scene), CASES[i].opened);
	make_file(CASES[i].sql);
	assert_string_equal(repair(&scene, false), CASES[i].look);
	assert_string_equal(repair(&scene, false), CASES[i].look);
	assert_string_equal(repair(&scene, true), CASES[i].repaired);
	assert_string_equal(repair(&scene, false), CASES[i].after);
	snprintf(made, sizeof made, "%s.repaired", scene.path);
	assert_int_not_equal(access(made, F_OK), 0);
}

static void each_way_not_to_be_right(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(CASES); i++)
		check_case(i);
}

/* The new file's version is above that of the old one, and all in it can be read and changed. */
static void what_is_repaired_is_a_directory(void **state)
{
	int64_t version;

	(void)state;
	make_file("UPDATE password SET password = 'x' WHERE name = 'ann'");
	version = number_in(scene.path, "SELECT version FROM meta");
	repair(&scene, true);
	assert_int_equal(number_in(scene.path, "SELECT version FROM meta"), version + 1);
	scene_restart(&scene);
	scene_turn(&scene);
	buffer_reset(&scene.heard);
	scene_expect_got(&scene, "user ann", "none");
	scene_expect_got(&scene, "user bob", "user bob");
	scene_put(&scene, "user ann");
	scene_expect_turn(&scene, NULL);
	scene_expect_got(&scene, "user ann", "user ann");
	scene.store->operations->free(scene.store);
}

/* Who writes is not disturbed, and a look does not disturb anybody. */
static void what_others_change_now(void **state)
{
	sqlite3 *other;

	(void)state;
	make_file("DELETE FROM password WHERE name = 'ann'");
	assert_int_equal(sqlite3_open(scene.path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	assert_non_null(strstr(repair(&scene, false), "0 damaged "));
	assert_string_equal(repair(&scene, true),
			    "-16 whole 0 good, 0 lost; somebody changes it now");
	assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(other), SQLITE_OK);
	assert_non_null(strstr(repair(&scene, true), "; kept"));
}

static void what_is_not_there(void **state)
{
	(void)state;
	make_file("=");
	assert_int_equal(unlink(scene.path), 0);
	for (int applies = 0; applies <= 1; applies++)
		assert_string_equal(repair(&scene, applies),
				    "-2 whole 0 good, 0 lost; No such file or directory");
	assert_int_not_equal(access(scene.path, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_way_not_to_be_right),
		cmocka_unit_test(what_is_repaired_is_a_directory),
		cmocka_unit_test(what_others_change_now),
		cmocka_unit_test(what_is_not_there),
	};

	return cmocka_run_group_tests(tests, make_scene, end_scene);
}
