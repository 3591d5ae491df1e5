// SPDX-License-Identifier: ISC
/* The SQLite store where something fails: files that are not ours, a disk that is full or broken,
 * others who write. */
#include "directory/store/sqlite/sqlite.h"
#include "os/clock.h"
#include "sqlite_scene.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned syncs;
static int sync_error; /* that the next syncs fail with; 0: none */
static _Thread_local unsigned sync_takes_us;

/* In the place of the C library's: SQLite calls no other. */
int fdatasync(int file)
{
	syncs++;
	if (sync_takes_us > 0)
		usleep(sync_takes_us);
	if (sync_error != 0) {
		errno = sync_error;
		return -1;
	}
	return (int)syscall(SYS_fdatasync, file);
}

int fsync(int file)
{
	return fdatasync(file);
}

static int write_error;
static size_t log_written;       /* bytes of a log of writes, before the database was written */
static bool is_database_written; /* since then */
static ssize_t (*real_pwrite)(int file, const void *data, size_t size, off_t offset);

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text);

	return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

static void note_write(int file, size_t size)
{
	char link[64];
	char path[512] = "";

	snprintf(link, sizeof link, "/proc/self/fd/%d", file);
	assert_true(readlink(link, path, sizeof path - 1) > 0);
	is_database_written |= ends_with(path, ".db");
	if (ends_with(path, ".db-wal") && !is_database_written)
		log_written += size;
}

static ssize_t pwrite_or_fail(int file, const void *data, size_t size, off_t offset)
{
	if (write_error != 0) {
		errno = write_error;
		return -1;
	}
	note_write(file, size);
	return real_pwrite(file, data, size, offset);
}

static int read_error;      /* that reads fail with */
static unsigned good_reads; /* before */
static ssize_t (*real_pread)(int file, void *data, size_t size, off_t offset);

static ssize_t pread_or_fail(int file, void *data, size_t size, off_t offset)
{
	if (read_error != 0 && good_reads == 0) {
		errno = read_error;
		return -1;
	}
	good_reads -= good_reads > 0;
	return real_pread(file, data, size, offset);
}

/* Has SQLite call MINE in the place of its system call NAME, or NAME64; returns that. */
static sqlite3_syscall_ptr replace_call(const char *name, sqlite3_syscall_ptr mine)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	sqlite3_syscall_ptr real = NULL;
	char names[2][16];

	snprintf(names[0], sizeof names[0], "%s", name);
	snprintf(names[1], sizeof names[1], "%s64", name);
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		sqlite3_syscall_ptr call = vfs->xGetSystemCall(vfs, names[i]);

		if (call == NULL)
			continue;
		real = call;
		assert_int_equal(vfs->xSetSystemCall(vfs, names[i], mine), SQLITE_OK);
	}
	assert_non_null(real);
	return real;
}

static void watch_calls(void)
{
	real_pwrite = (ssize_t(*)(int, const void *, size_t, off_t))replace_call(
		"pwrite", (sqlite3_syscall_ptr)pwrite_or_fail);
	real_pread = (ssize_t(*)(int, void *, size_t, off_t))replace_call(
		"pread", (sqlite3_syscall_ptr)pread_or_fail);
}

static void write_file(const char *path, const void *data, size_t size, off_t offset)
{
	int file = open(path, O_WRONLY | O_CREAT, 0600);

	assert_true(file >= 0);
	assert_int_equal(pwrite(file, data, size, offset), size);
	close(file);
}

/* Opens what is at the scene's path, which must fail; the sentence without the path. */
static void expect_refusal(struct sqlite_scene *scene, int error, const char *sentence)
{
	struct directory_store *store = NULL;
	struct buffer why = {0};

	assert_int_equal(store_sqlite_open(scene->loop, scene->path, &store, &why), error);
	assert_null(store);
	buffer_append_byte(&why, '\0');
	assert_memory_equal(buffer_data(&why), scene->path, strlen(scene->path));
	assert_string_equal(buffer_data(&why) + strlen(scene->path), sentence);
	buffer_clear(&why);
}

static void what_is_not_ours_is_refused(void **state)
{
	static const char noise[4096] = "no database at all";
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	snprintf(scene.path, sizeof scene.path, "%s/noise", scene.directory);
	write_file(scene.path, noise, sizeof noise, 0);
	expect_refusal(&scene, -EINVAL,
		       ": this is no SQLite database: run \"stagepost directory repair\"");

	snprintf(scene.path, sizeof scene.path, "%s/foreign", scene.directory);
	scene_sql(&scene, "CREATE TABLE t(x)");
	expect_refusal(
		&scene, -EINVAL,
		": this is another program's SQLite database: run \"stagepost directory repair\"");
	snprintf(scene.path, sizeof scene.path, "%s/foreign2", scene.directory);
	scene_sql(&scene, "PRAGMA application_id = 77; PRAGMA user_version = 1");
	expect_refusal(
		&scene, -EINVAL,
		": this is another program's SQLite database: run \"stagepost directory repair\"");

	snprintf(scene.path, sizeof scene.path, "%s/directory.db", scene.directory);
	scene_sql(&scene, "UPDATE meta SET schema = 8; PRAGMA user_version = 8");
	expect_refusal(&scene, -EINVAL, ": the data have schema 8; this program knows 7");

	snprintf(scene.path, sizeof scene.path, "%s/none/x.db", scene.directory);
	expect_refusal(&scene, -ENOENT, ": No such file or directory");
	snprintf(scene.path, sizeof scene.path, "%s", scene.directory);
	expect_refusal(&scene, -EISDIR, ": unable to open database file (Is a directory)");
	scene_close(&scene);
}

/* Another program's file is as it was before. */
static void what_is_refused_is_left_alone(void **state)
{
	struct sqlite_scene scene;
	struct stat before;
	struct stat after;

	(void)state;
	scene_open(&scene);
	snprintf(scene.path, sizeof scene.path, "%s/foreign", scene.directory);
	scene_sql(&scene, "CREATE TABLE t(x)");
	assert_int_equal(stat(scene.path, &before), 0);
	expect_refusal(
		&scene, -EINVAL,
		": this is another program's SQLite database: run \"stagepost directory repair\"");
	assert_int_equal(stat(scene.path, &after), 0);
	assert_int_equal(before.st_size, after.st_size);
	assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	scene_close(&scene);
}

/* An empty file is one that a crash has left before anything was in it. */
static void an_empty_file_is_a_new_one(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	snprintf(scene.path, sizeof scene.path, "%s/empty", scene.directory);
	write_file(scene.path, "", 0, 0);
	scene_reopen(&scene);
	scene_put(&scene, "user ann");
	scene_expect_turn(&scene, "new 1 user ann; changed 0 0 1");
	scene_close(&scene);
}

static void damage_is_an_error_and_not_an_absence(void **state)
{
	char noise[4096];
	struct sqlite_scene scene;
	struct stat status;
	char name[40];

	(void)state;
	memset(noise, 0x5a, sizeof noise);
	scene_open(&scene);
	for (unsigned i = 0; i < 2000; i++) {
		snprintf(name, sizeof name, "address a%u@d.example|kind mailbox", i);
		scene_put(&scene, name);
	}
	scene_expect_turn(&scene, NULL);
	scene_reopen(&scene); /* all is in the one file now */
	assert_int_equal(stat(scene.path, &status), 0);
	for (off_t page = 24; page < status.st_size / 4096; page++)
		write_file(scene.path, noise, sizeof noise, page * 4096);
	for (unsigned i = 0; i < 2000; i++) {
		snprintf(name, sizeof name, "address a%u@d.example", i);
		scene_get(&scene, name);
	}
	buffer_append_byte(&scene.heard, '\0');
	assert_null(strstr(buffer_data(&scene.heard), "none"));
	assert_non_null(strstr(buffer_data(&scene.heard), "-5"));
	buffer_reset(&scene.heard);
	scene_list(&scene, DIRECTORY_ADDRESS, "", "", 1000, ' ');
	scene_expect(&scene, "-5");
	scene_close(&scene);
}

/* As one: none of a turn's changes stays, and when there is room again all goes on. */
static void a_full_disk_refuses_changes(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_put(&scene, "user ann");
	scene_expect_turn(&scene, "new 1 user ann; changed 0 0 1");
	write_error = ENOSPC;
	scene_put(&scene, "user bob");
	scene_remove(&scene, "user ann");
	scene_expect_turn(&scene, "changed -28; changed -28");
	scene_get(&scene, "user ann");
	scene_get(&scene, "user bob");
	scene_expect(&scene, "user ann; none");
	write_error = 0;
	scene_put(&scene, "user carol");
	scene_expect_turn(&scene, "new 2 user carol; changed 0 0 2");
	scene_reopen(&scene);
	scene_expect_got(&scene, "user bob", "none");
	scene_close(&scene);
}

static void a_failed_sync_is_no_change(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	sync_error = EIO;
	scene_put(&scene, "user ann");
	scene_expect_turn(&scene, "changed -5");
	sync_error = 0;
	scene_expect_got(&scene, "user ann", "none");
	scene_close(&scene);
}

/* Others have changed records, and the disk does not take their checksums. An attempt writes to the
 * log, which is reported like a change by others. */
static void checksums_that_cannot_be_written_are_tried_now_and_then(void **state)
{
	const int64_t until_us = os_clock_monotonic_us() + 500000;
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_put(&scene, "user ann");
	scene_expect_turn(&scene, "new 1 user ann; changed 0 0 1");
	scene_sql(&scene, "INSERT INTO \"user\"(name) VALUES('ben')");
	sync_error = EIO;
	syncs = 0;
	while (os_clock_monotonic_us() < until_us)
		scene_turn(&scene);
	assert_in_range(syncs, 1, 10);
	sync_error = 0;
	scene_close(&scene);
}

static off_t copy_file(const char *from, const char *to)
{
	static char bytes[1 << 20];
	int file = open(from, O_RDONLY);
	ssize_t size = read(file, bytes, sizeof bytes);

	assert_in_range(size, 1, sizeof bytes - 1);
	close(file);
	write_file(to, bytes, (size_t)size, 0);
	return size;
}

/* What the next one reads whose machine runs on. */
static void a_log_that_may_not_be_durable_is_written_again(void **state)
{
	struct sqlite_scene scene;
	struct directory_store *store = NULL;
	struct buffer why = {0};
	char log[SCRATCH_SIZE + 32];
	char copy[SCRATCH_SIZE + 32];
	char copied_log[SCRATCH_SIZE + 32];
	off_t size;

	(void)state;
	scene_open(&scene);
	scene_put(&scene, "user ann");
	scene_expect_turn(&scene, "new 1 user ann; changed 0 0 1");
	sync_error = EIO;
	scene_put(&scene, "user bob");
	scene_expect_turn(&scene, "changed -5");
	sync_error = 0;
	snprintf(log, sizeof log, "%s-wal", scene.path);
	snprintf(copy, sizeof copy, "%s/copy.db", scene.directory);
	snprintf(copied_log, sizeof copied_log, "%s-wal", copy);
	(void)copy_file(scene.path, copy);
	size = copy_file(log, copied_log);
	log_written = 0;
	is_database_written = false;
	assert_int_equal(store_sqlite_open(scene.loop, copy, &store, &why), 0);
	assert_int_equal(log_written, size);
	assert_true(is_database_written);
	store->operations->free(store);
	scene_close(&scene);
}

static void changes_of_a_turn_share_a_sync(void **state)
{
	struct sqlite_scene scene;
	char name[40];

	(void)state;
	scene_open(&scene);
	scene_put(&scene, "user ann");
	scene_turn(&scene); /* the first writes the head of the log, too */
	syncs = 0;
	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "user u%u", i);
		scene_put(&scene, name);
	}
	scene_turn(&scene);
	assert_int_equal(scene.answers, 101);
	assert_int_equal(syncs, 1);
	scene_put(&scene, "user bob");
	scene_turn(&scene);
	assert_int_equal(syncs, 2);
	scene_close(&scene);
}

/* While another process writes, questions are answered, and the change is made after it. */
static void others_who_write_are_waited_for(void **state)
{
	struct sqlite_scene scene;
	sqlite3 *other;
	int64_t begin_us;

	(void)state;
	scene_open(&scene);
	assert_int_equal(sqlite3_open(scene.path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other,
				      "BEGIN IMMEDIATE; INSERT INTO \"user\"(name) VALUES('ann')",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	begin_us = os_clock_monotonic_us();
	for (unsigned i = 0; i < 10; i++) {
		scene_put(&scene, "user bob");
		scene_turn(&scene);
		scene_get(&scene, "user ann");
	}
	assert_true(os_clock_monotonic_us() - begin_us < 900000);
	scene_expect(&scene, "none; none; none; none; none; none; none; none; none; none");
	assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(other), SQLITE_OK);
	while (scene.answers < 10) /* the others' change may be told by itself */
		scene_wait(&scene);
	assert_int_equal(scene.answers, 10);
	buffer_append_byte(&scene.heard, '\0');
	assert_non_null(strstr(buffer_data(&scene.heard),
			       "new 1 user ann; new 2 user bob; new 3 user bob"));
	buffer_reset(&scene.heard);
	scene_close(&scene);
}

struct writer {
	struct sqlite_scene *scene;
	unsigned number;
	_Atomic bool has_ended;
	struct os_timer *ticks; /* in the loop of the scene */
	unsigned late;          /* ticks since its end */
};

static void *write_slowly(void *context)
{
	struct writer *writer = context;
	sqlite3 *database;
	char sql[100];

	assert_int_equal(sqlite3_open(writer->scene->path, &database), SQLITE_OK);
	snprintf(sql, sizeof sql, "INSERT INTO \"user\"(name) VALUES('u%u')", writer->number);
	sync_takes_us =
		100000 + writer->number * 37 % 100 * 1000; /* never in step with the polls */
	assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
	sync_takes_us = 0;
	writer->has_ended = true;
	assert_int_equal(sqlite3_close(database), SQLITE_OK);
	return NULL;
}

static void count_tick(void *context)
{
	struct writer *writer = context;

	writer->late += writer->has_ended;
	os_timer_start(writer->ticks, 20000);
}

/* What the kernel tells of is its write, long before its commit. On a machine that has much to do
 * the loop is late, and so are its ticks. */
static void a_commit_is_looked_for_until_it_is_there(void **state)
{
	struct sqlite_scene scene;
	unsigned soon = 0;

	(void)state;
	scene_open(&scene);
	for (unsigned i = 0; i < 20; i++) {
		struct writer writer = {.scene = &scene, .number = i};
		pthread_t thread;

		writer.ticks = os_timer_new(scene.loop, count_tick, &writer);
		count_tick(&writer);
		assert_int_equal(pthread_create(&thread, NULL, write_slowly, &writer), 0);
		scene_wait(&scene);
		assert_int_equal(pthread_join(thread, NULL), 0);
		os_timer_free(writer.ticks);
		buffer_reset(&scene.heard);
		soon += writer.late <= 2;
	}
	assert_in_range(soon, 15, 20); /* four times a second it would be looked by chance */
	scene_close(&scene);
}

static void ask_together(struct sqlite_scene *scene, const char *table_and_key)
{
	scene->store->operations->begin(scene->store);
	scene_get(scene, table_and_key);
	scene_get(scene, table_and_key);
	scene->store->operations->end(scene->store);
}

/* Somebody removes ann, and her record is asked for; all reads but the first GOOD fail. False:
 * there were no more. */
static bool fail_to_tell(struct sqlite_scene *scene, unsigned good)
{
	scene_put(scene, "user ann");
	scene_turn(scene);
	buffer_reset(&scene->heard);
	scene_sql(scene, "DELETE FROM \"user\"");
	good_reads = good;
	read_error = EIO;
	ask_together(scene, "user ann");
	read_error = 0;
	return good_reads == 0;
}

/* The removal was told, before an answer had it. */
static bool is_told(struct sqlite_scene *scene)
{
	const char *told;
	const char *seen;

	buffer_append_byte(&scene->heard, '\0');
	scene->heard.length--;
	told = strstr(buffer_data(&scene->heard), "new ");
	seen = strstr(buffer_data(&scene->heard), "none");
	assert_true(seen == NULL || (told != NULL && told < seen));
	return told != NULL;
}

/* Who guards the store must have looked at what others have done before an answer shows it. */
static void what_cannot_be_told_is_not_answered(void **state)
{
	struct sqlite_scene scene;
	unsigned untold = 0;

	(void)state;
	scene_open(&scene);
	for (unsigned good = 0; fail_to_tell(&scene, good); good++) {
		untold += !is_told(&scene);
		ask_together(&scene, "user ann");
		assert_true(is_told(&scene));
	}
	assert_true(untold > 1);
	scene_close(&scene);
}

/* Even if nobody asks, and nobody writes any more. */
static void what_could_not_be_told_is_told_later(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	for (unsigned good = 0; fail_to_tell(&scene, good); good++) {
		if (is_told(&scene))
			continue;
		scene_wait(&scene);
		assert_true(is_told(&scene));
	}
	scene_close(&scene);
}

/* At the end, who still waits is answered. */
static void who_waits_at_the_end_is_told(void **state)
{
	struct sqlite_scene scene;
	sqlite3 *other;

	(void)state;
	scene_open(&scene);
	assert_int_equal(sqlite3_open(scene.path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	scene_put(&scene, "user bob");
	scene_turn(&scene);
	scene.store->operations->free(scene.store);
	scene_expect(&scene, "changed -5");
	assert_int_equal(sqlite3_close(other), SQLITE_OK);
	scene_restart(&scene);
	scene_put(&scene, "user ann");
	scene.store->operations->free(scene.store); /* before the turn has ended */
	scene_expect(&scene, "new 1 user ann; changed 0 0 1");
	scene_restart(&scene);
	scene_get(&scene, "user bob");
	scene_get(&scene, "user ann");
	scene_expect(&scene, "none; user ann");
	scene_close(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_ours_is_refused),
		cmocka_unit_test(what_is_refused_is_left_alone),
		cmocka_unit_test(an_empty_file_is_a_new_one),
		cmocka_unit_test(damage_is_an_error_and_not_an_absence),
		cmocka_unit_test(a_full_disk_refuses_changes),
		cmocka_unit_test(a_failed_sync_is_no_change),
		cmocka_unit_test(checksums_that_cannot_be_written_are_tried_now_and_then),
		cmocka_unit_test(a_log_that_may_not_be_durable_is_written_again),
		cmocka_unit_test(changes_of_a_turn_share_a_sync),
		cmocka_unit_test(others_who_write_are_waited_for),
		cmocka_unit_test(a_commit_is_looked_for_until_it_is_there),
		cmocka_unit_test(what_cannot_be_told_is_not_answered),
		cmocka_unit_test(what_could_not_be_told_is_told_later),
		cmocka_unit_test(who_waits_at_the_end_is_told),
	};

	watch_calls();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
