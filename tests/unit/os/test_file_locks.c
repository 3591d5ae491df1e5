// SPDX-License-Identifier: ISC
/* Locks on files and on their bytes; and who else has a file open. */
#include "base/timestamp.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "os/file/range.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static char directory[SCRATCH_SIZE];

/* Two openings of a file; each byte of the first is locked by the one or the other, or free. */
static void locks_of_bytes(void **state)
{
	static const uint64_t offsets[] = {0, 1, 5, INT64_MAX};
	int one, other;

	(void)state;
	one = os_file_open(OS_FILE_HERE, "f", OS_FILE_WRITE);
	other = os_file_open(OS_FILE_HERE, "f", OS_FILE_WRITE);
	for (size_t i = 0; i < COUNT_OF(offsets); i++) {
		int process = 77;

		assert_int_equal(os_file_range_holder(other, offsets[i], &process), -ENOENT);
		assert_int_equal(process, 77);
		assert_int_equal(os_file_range_lock(one, offsets[i]), 0);
		assert_int_equal(os_file_range_lock(one, offsets[i]), 0);
		assert_int_equal(os_file_range_lock(other, offsets[i]), -EAGAIN);
		assert_int_equal(os_file_range_lock_all(other), -EAGAIN);
		assert_int_equal(os_file_range_holder(other, offsets[i], &process), 0);
		assert_int_equal(process,
				 0); /* who has a lock of this kind, the kernel does not tell */
		assert_int_equal(os_file_range_holder(one, offsets[i], &process), -ENOENT);
		for (size_t n = 0; n < COUNT_OF(offsets); n++) {
			assert_int_equal(os_file_range_lock(other, offsets[n]),
					 n == i ? -EAGAIN : 0);
			if (n != i)
				os_file_range_unlock(other, offsets[n]);
		}
		os_file_range_unlock(one, offsets[i]);
		assert_int_equal(os_file_range_lock_all(other), 0);
		assert_int_equal(os_file_range_lock(one, offsets[i]), -EAGAIN);
		os_file_range_unlock_all(other);
		assert_int_equal(os_file_range_lock(one, offsets[i]), 0);
		os_file_range_unlock_all(one);
		assert_int_equal(os_file_range_lock(other, offsets[i]), 0);
		os_file_range_unlock_all(other);
	}
	{
		struct flock old = {
			.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 3, .l_len = 1};
		int process = 77;

		assert_int_equal(fcntl(other, F_SETLK, &old), 0);
		assert_int_equal(os_file_range_lock(one, 3), -EAGAIN);
		assert_int_equal(os_file_range_holder(one, 3, &process), 0);
		assert_int_equal(process, getpid());
	}
	os_file_close(one);
	os_file_close(other);
}

static void locks_of_files(void **state)
{
	int one, other;
	int64_t begun_us;

	(void)state;
	one = os_file_open(OS_FILE_HERE, "f", OS_FILE_WRITE);
	other = os_file_open(OS_FILE_HERE, "f", OS_FILE_WRITE);
	assert_int_equal(os_file_lock(one), 0);
	assert_int_equal(os_file_lock(other), -EAGAIN);
	assert_int_equal(os_file_lock_within(other, 0), -EAGAIN);
	begun_us = os_clock_monotonic_us();
	assert_int_equal(os_file_lock_within(other, 50), -EAGAIN);
	assert_in_range(os_clock_monotonic_us() - begun_us, 50000, 5 * SECOND_US);
	os_file_close(one);
	assert_int_equal(os_file_lock_within(other, 50), 0);
	assert_int_equal(os_file_lock_within(-1, 50), -EBADF);
	os_file_close(other);
}

/* Nobody else, who reads, who writes, who has only mapped it. */
static void who_has_it_open(void **state)
{
	static const struct {
		int how; /* -1: nobody */
		bool writes;
	} rows[] = {{-1, false}, {O_RDONLY, false}, {O_WRONLY, true}, {O_RDWR, true}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int other = rows[i].how >= 0 ? open("f", rows[i].how | O_CLOEXEC) : -1;
		int file = open("f", O_RDONLY | O_CLOEXEC);

		assert_int_equal(os_file_has_writers(file), rows[i].writes);
		assert_int_equal(fcntl(file, F_GETLEASE), F_UNLCK);
		close(file);
		file = open("f", O_RDWR | O_CLOEXEC);
		assert_int_equal(os_file_is_open_elsewhere(file), rows[i].how >= 0);
		assert_int_equal(fcntl(file, F_GETLEASE), F_UNLCK);
		close(file);
		if (other >= 0)
			close(other);
	}
}

static int set_up(void **state)
{
	(void)state;
	alarm(60);
	if (scratch_make(directory) != 0 || chdir(directory) != 0)
		return -1;
	{
		int made = open("f", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

		close(made);
		return made >= 0 ? 0 : -1;
	}
}

static int tear_down(void **state)
{
	(void)state;
	return chdir("/") == 0 ? scratch_remove(directory) : -1;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(locks_of_bytes),
		CASE(locks_of_files),
		CASE(who_has_it_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
