// SPDX-License-Identifier: ISC
/* What became of a reload, as who asked for it reads it. */
#include "scratch.h"
#include "supervisor/talk/request_record.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[SCRATCH_SIZE];
static char path[SCRATCH_SIZE + 32];

static void write_record(uint64_t begun, uint64_t ended, bool is_refused, const char *reason)
{
	struct request_record record = {.begun = begun, .ended = ended, .is_refused = is_refused};

	buffer_append_string(&record.reason, reason);
	assert_int_equal(request_record_write(folder, REQUEST_RELOAD, &record), 0);
	request_record_clear(&record);
}

static void check_record(uint64_t begun, uint64_t ended, bool is_refused, const char *reason)
{
	struct request_record record;

	assert_int_equal(request_record_read(folder, REQUEST_RELOAD, getuid(), &record), 0);
	assert_int_equal(record.begun, begun);
	assert_int_equal(record.ended, ended);
	assert_int_equal(record.is_refused, is_refused);
	assert_true(str_equal(buffer_view(&record.reason), str_from(reason)));
	request_record_clear(&record);
}

static void put(const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

static void check_error(uid_t owner, int error)
{
	struct request_record record;

	assert_int_equal(request_record_read(folder, REQUEST_RELOAD, owner, &record), error);
	request_record_clear(&record);
}

static void test_what_is_written_is_read(void **state)
{
	(void)state;
	check_record(0, 0, false, ""); /* none is there */
	write_record(1, 0, false, "");
	check_record(1, 0, false, "");
	write_record(2, 1, true, "c:1: a: no\nc:2: b: no");
	check_record(2, 1, true, "c:1: a: no\nc:2: b: no");
	write_record(UINT64_MAX, UINT64_MAX, false, "");
	check_record(UINT64_MAX, UINT64_MAX, false, "");
}

static void test_after_an_interruption(void **state)
{
	char next[sizeof path + 8];
	FILE *file;

	(void)state;
	snprintf(next, sizeof next, "%s.new", path);
	file = fopen(next, "w");
	assert_non_null(file);
	assert_true(fputs("9999 9999 refused\nwhat is longer than the next one", file) >= 0);
	assert_int_equal(fclose(file), 0);
	write_record(3, 3, false, "");
	check_record(3, 3, false, "");
	assert_int_equal(access(next, F_OK), -1);
}

static void test_who_is_believed(void **state)
{
	(void)state;
	write_record(1, 1, false, "");
	check_error(getuid() + 1, -EPERM);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	check_error(getuid(), -ELOOP);
	assert_int_equal(unlink(path), 0);
}

static void test_no_regular_file(void **state)
{
	(void)state;
	unlink(path);
	assert_int_equal(symlink("nowhere", path), 0);
	check_error(getuid(), -ELOOP);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0); /* nobody writes: reading it would wait */
	check_error(getuid(), -EPERM);
	unlink(path);
}

static void test_what_is_damaged(void **state)
{
	static const char *const texts[] = {"", "1", "1 2", "a 1 done\n", "1 b done\n", "\n"};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		put(texts[i]);
		check_error(getuid(), -EBADMSG);
	}
	unlink(path);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_written_is_read),
		cmocka_unit_test(test_after_an_interruption),
		cmocka_unit_test(test_who_is_believed),
		cmocka_unit_test(test_no_regular_file),
		cmocka_unit_test(test_what_is_damaged),
	};
	int failed;

	if (scratch_make(folder) < 0)
		return 1;
	snprintf(path, sizeof path, "%s/" REQUEST_RELOAD, folder);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	scratch_remove(folder);
	return failed;
}
