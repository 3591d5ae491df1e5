// SPDX-License-Identifier: ISC
/* What is saved of a file that is damaged: each page of it once, and what may be in its place. */
#include "base/buffer.h"
#include "base/panic.h"
#include "filing/record/sqlite/rebuild.h"
#include "filing/record/sqlite/sqlite.h"
#include "scratch.h"
#include "test.h"
#include <dirent.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGES = 60, PAGE = 4096, FILE_MAX = 100 * PAGE, A_PAGE_OF_MESSAGES = 12, TREES = 4 };

static char folder[SCRATCH_SIZE], path[SCRATCH_SIZE + 20];
static char whole[FILE_MAX]; /* the file as it was */
static size_t whole_size;
static const char *const TABLES[] = {"mailbox",  "message", "participant", "part",
				     "decision", "filing",  "attempt"};

static char *file_at(const char *end)
{
	static char name[SCRATCH_SIZE + 40];

	snprintf(name, sizeof name, "%s%s", path, end);
	return name;
}

/* Nobody waits for long. */
int __real_sqlite3_busy_timeout(sqlite3 *database, int milliseconds);
int __wrap_sqlite3_busy_timeout(sqlite3 *database, int milliseconds);
int __wrap_sqlite3_busy_timeout(sqlite3 *database, int milliseconds)
{
	assert_int_equal(milliseconds, 10000);
	return __real_sqlite3_busy_timeout(database, 100);
}

/* ---- the old file ---- */

static void put_message(struct record *record, unsigned i)
{
	char id[30], subject[400];
	struct decode_participant participant = {
		DECODE_FROM, {"lisa@example.com", 16}, {"Lisa", 4}};
	struct decode_part part = {.number = {"1", 1}, .type = {"text/plain", 10}, .size = i};
	struct decode_message decoded = {.participants = &participant,
					 .participant_count = 1,
					 .parts = &part,
					 .part_count = 1};
	struct record_message message = {.id = STR(""), .recorded_us = i, .decoded = &decoded};
	struct record_attempt attempt = {
		.mailbox = {STR("lisa@example.com"), i % 3 == 0 ? STR("Sent") : STR("INBOX")},
		.decision = {STR("p"), STR("r"), i},
		.token = {{(unsigned char)i}}};
	struct record_attempt *all[] = {&attempt};
	bool is_new;
	unsigned different;

	snprintf(id, sizeof id, "<%u@x>", i);
	snprintf(subject, sizeof subject, "%0350u", i);
	message.id = str_from(id);
	message.digest[0] = (unsigned char)i;
	decoded.subject = str_from(subject);
	assert_int_equal(record_put(record, &message, &attempt.message, &is_new, &different), 0);
	assert_int_equal(record_decide_all(record, all, 1), 0);
	assert_int_equal(record_open_all(record, all, 1, i), 0);
	attempt.copy = str_from(id);
	if (i % 2 == 0)
		assert_int_equal(record_filed_all(record, all, 1, i), 0);
}

static size_t read_file(const char *name, char *to)
{
	FILE *file = fopen(name, "r");
	size_t size;

	assert_non_null(file);
	size = fread(to, 1, FILE_MAX, file);
	assert_true(size < FILE_MAX);
	fclose(file);
	return size;
}

static void write_file(const char *name, const char *data, size_t size)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	fclose(file);
}

static int make_record(void **state)
{
	struct record *record;

	(void)state;
	snprintf(folder, sizeof folder,
		 "/dev/shm/test_record.XXXXXX"); /* nothing is really synced */
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/record", folder);
	record = record_sqlite_new(path);
	assert_int_equal(record_begin(record), 0);
	for (unsigned i = 0; i < MESSAGES; i++)
		put_message(record, i);
	assert_int_equal(record_commit(record), 0);
	record_free(record);
	whole_size = read_file(path, whole);
	return 0;
}

static int remove_record(void **state)
{
	(void)state;
	return scratch_remove(folder);
}

/* ---- what is in a file ---- */

struct dump {
	struct buffer text; /* a line a row */
	unsigned messages;
};

static int take_row(void *context, int columns, char **texts, char **names)
{
	struct buffer *text = context;

	(void)names;
	for (int i = 0; i < columns; i++)
		buffer_append_format(text, "%s|", texts[i] != NULL ? texts[i] : "");
	buffer_append_byte(text, '\n');
	return 0;
}

static void run_sql(sqlite3 *database, const char *sql, struct buffer *text)
{
	char *said = NULL;

	if (sqlite3_exec(database, sql, take_row, text, &said) != SQLITE_OK)
		fail_msg("%s: %s", sql, said);
}

static struct buffer dump_of(const char *name)
{
	struct buffer text = {0};
	sqlite3 *database;

	assert_int_equal(sqlite3_open(name, &database), SQLITE_OK);
	for (size_t i = 0; i < COUNT_OF(TABLES); i++) {
		char sql[300];

		snprintf(sql, sizeof sql, "SELECT '%s', rowid, * FROM %s ORDER BY rowid", TABLES[i],
			 TABLES[i]);
		run_sql(database, sql, &text);
	}
	sqlite3_close(database);
	return text;
}

/* It is whole, and all that refers to something finds it. */
static void check_file(const char *name)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	sqlite3 *database;

	assert_int_equal(sqlite3_open(name, &database), SQLITE_OK);
	run_sql(database, "PRAGMA integrity_check", &text);
	run_sql(database, "PRAGMA foreign_key_check", &text);
	sqlite3_close(database);
	assert_true(str_equal(buffer_view(&text), STR("ok|\n")));
}

static void check_all_lines_were_there(struct str now, struct str before)
{
	while (now.length > 0) {
		size_t length = (size_t)str_find(now, '\n') + 1;

		if (memmem(before.data, before.length, now.data, length) == NULL)
			fail_msg("was not there: %.*s", (int)length, now.data);
		now = str_skip(now, length);
	}
}

/* ---- rebuilds ---- */

/* Of what is kept, its log is, too. */
static void remove_kept(const char *kept)
{
	static const char *const ends[] = {"", "-wal", "-shm"};

	for (size_t i = 0; i < COUNT_OF(ends) && *kept != '\0'; i++) {
		char name[200];

		snprintf(name, sizeof name, "%s%s", kept, ends[i]);
		assert_true(unlink(name) == 0 || i > 0);
	}
}

static void expect_no_other_files(void)
{
	static const char *const names[] = {"record", "record-lock", "record-wal", "record-shm"};
	DIR *directory = opendir(folder);
	const struct dirent *entry;

	assert_non_null(directory);
	while ((entry = readdir(directory)) != NULL) {
		bool is_known = entry->d_name[0] == '.';

		for (size_t i = 0; i < COUNT_OF(names); i++)
			is_known |= strcmp(entry->d_name, names[i]) == 0;
		if (!is_known)
			fail_msg("%s is left", entry->d_name);
	}
	closedir(directory);
}

/* How many messages were saved. PROBLEM_OUT is the caller's. */
static uint64_t rebuild(char **problem_out)
{
	struct buffer why CLEANUP(buffer_clear) = {0};
	struct buffer kept CLEANUP(buffer_clear) = {0};
	struct record_rebuild *made = NULL;
	struct record *record = NULL;
	uint64_t messages = 99999;
	int error = record_rebuild_new(path, &made, &why);

	if (error == 0) {
		*problem_out = memory_copy_string(record_rebuild_problem(made));
		error = record_rebuild_make(made, &record, &messages, &why);
	}
	if (error == 0) {
		record_free(record);
		error = record_rebuild_finish(made, &kept, &why);
	}
	if (error != 0)
		fail_msg("%s: " STR_FORMAT, strerror(-error), STR_ARGUMENTS(buffer_view(&why)));
	record_rebuild_free(made);
	buffer_append_byte(&kept, '\0');
	remove_kept(buffer_data(&kept));
	expect_no_other_files();
	check_file(path);
	return messages;
}

/* It is used as any other. */
static void check_use(void)
{
	struct record *record = record_sqlite_new(path);

	if (record_begin(record) != 0)
		fail_msg("%s", record_error(record));
	put_message(record, 1000);
	assert_int_equal(record_commit(record), 0);
	record_free(record);
}

static void what_is_whole_stays_so(void **state)
{
	struct buffer before = dump_of(path), after;
	char *problem;

	(void)state;
	assert_int_equal(rebuild(&problem), MESSAGES);
	assert_string_equal(problem, "");
	after = dump_of(path);
	assert_true(str_equal(buffer_view(&before), buffer_view(&after)));
	check_use();
	free(problem);
	buffer_clear(&before);
	buffer_clear(&after);
}

/* What is beyond the page is found from the other end. */
static void each_page_is_damaged_once(void **state)
{
	struct buffer before = dump_of(path);
	unsigned poor = 0;

	(void)state;
	for (size_t at = 0; at < whole_size; at += PAGE) {
		static char damaged[FILE_MAX];
		struct buffer after;
		uint64_t messages;
		char *problem;

		memcpy(damaged, whole, whole_size);
		memset(damaged + at, 0x5a, PAGE);
		write_file(path, damaged, whole_size);
		messages = rebuild(&problem);
		after = dump_of(path);
		if (*problem == '\0')
			fail_msg("page %zu: no problem", at / PAGE);
		check_all_lines_were_there(buffer_view(&after), buffer_view(&before));
		poor += messages + A_PAGE_OF_MESSAGES < MESSAGES;
		check_use();
		free(problem);
		buffer_clear(&after);
		(void)unlink(file_at("-wal"));
		(void)unlink(file_at("-shm"));
	}
	assert_in_range(poor, 1, TREES);
	buffer_clear(&before);
}

static void what_is_in_its_place_is_told(void **state)
{
	static const struct {
		const char *text, *sql, *problem;
	} rows[] = {
		{NULL, NULL, "the file is gone"},
		{"", NULL, "the file is empty"},
		{"no database, though it is long enough for that "
		 "....................................."
		 "...................................................................",
		 NULL, "file is not a database"},
		{NULL, "CREATE TABLE t(x)", "it has no record"},
		{NULL,
		 "CREATE TABLE record_meta(program TEXT PRIMARY KEY, version INTEGER);"
		 "INSERT INTO record_meta VALUES('stagepost', 0), ('site 0123', 0)",
		 "this is the record of another site"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct buffer nothing CLEANUP(buffer_clear) = {0};
		sqlite3 *database;
		char *problem;

		(void)unlink(path);
		if (rows[i].text != NULL)
			write_file(path, rows[i].text, strlen(rows[i].text));
		if (rows[i].sql != NULL) {
			assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
			run_sql(database, rows[i].sql, &nothing);
			sqlite3_close(database);
		}
		assert_int_equal(rebuild(&problem), 0);
		assert_string_equal(problem, rows[i].problem);
		check_use();
		free(problem);
	}
}

static void what_never_was_is_no_problem(void **state)
{
	char *problem;

	(void)state;
	assert_int_equal(unlink(path), 0);
	assert_int_equal(unlink(file_at("-lock")), 0);
	assert_int_equal(rebuild(&problem), 0);
	assert_string_equal(problem, "");
	free(problem);
	check_use();
}

/* A damaged one, so that it has to be locked. */
static void somebody_writes_to_it(void **state)
{
	struct buffer why CLEANUP(buffer_clear) = {0};
	struct buffer expected CLEANUP(buffer_clear) = {0};
	struct buffer nothing CLEANUP(buffer_clear) = {0};
	struct record_rebuild *made;
	sqlite3 *database;

	(void)state;
	assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
	run_sql(database, "DROP TABLE record_meta; BEGIN IMMEDIATE", &nothing);
	assert_int_equal(record_rebuild_new(path, &made, &why), -EBUSY);
	buffer_append_format(&expected, "%s: somebody writes to it", path);
	assert_true(str_equal(buffer_view(&why), buffer_view(&expected)));
	sqlite3_close(database);
	/* and the other way round */
	buffer_reset(&why);
	assert_int_equal(record_rebuild_new(path, &made, &why), 0);
	assert_string_equal(record_rebuild_problem(made), "it has no record");
	assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
	assert_int_equal(sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_BUSY);
	record_rebuild_free(made);
	run_sql(database, "BEGIN IMMEDIATE", &nothing);
	sqlite3_close(database);
	record_rebuild_free(NULL);
}

/* Of one that is given up nothing is left, and the old one is as it was. */
static void one_that_is_given_up(void **state)
{
	struct buffer why CLEANUP(buffer_clear) = {0};
	static char now[FILE_MAX];
	struct record_rebuild *made;
	struct record *record;
	uint64_t messages;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(record_rebuild_new(path, &made, &why), 0);
		if (i == 1) {
			assert_int_equal(record_rebuild_make(made, &record, &messages, &why), 0);
			record_free(record);
		}
		record_rebuild_free(made);
		expect_no_other_files();
	}
	assert_int_equal(read_file(path, now), whole_size);
	assert_memory_equal(now, whole, whole_size);
	assert_int_equal(why.length, 0);
}

static void what_cannot_be_looked_at(void **state)
{
	struct buffer why CLEANUP(buffer_clear) = {0};
	struct record_rebuild *made;
	struct buffer expected CLEANUP(buffer_clear) = {0};

	(void)state;
	assert_int_equal(record_rebuild_new(file_at("/below"), &made, &why), -ENOTDIR);
	buffer_append_format(&expected, "%s/below: Not a directory", path);
	assert_true(str_equal(buffer_view(&why), buffer_view(&expected)));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_record, remove_record)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_is_whole_stays_so),       CASE(each_page_is_damaged_once),
		CASE(what_is_in_its_place_is_told), CASE(what_never_was_is_no_problem),
		CASE(somebody_writes_to_it),        CASE(one_that_is_given_up),
		CASE(what_cannot_be_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
