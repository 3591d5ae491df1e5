// SPDX-License-Identifier: ISC
/* What the machine says: clocks, load, random numbers, shared memory. */
#include "base/str.h"
#include "base/timestamp.h"
#include "os/clock.h"
#include "os/load.h"
#include "os/random.h"
#include "os/shared.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int64_t clock_us(clockid_t clock)
{
	struct timespec now;

	assert_int_equal(clock_gettime(clock, &now), 0);
	return now.tv_sec * SECOND_US + now.tv_nsec / 1000;
}

/* In each part of a second, as it has two parts. */
static void clocks_are_those_of_the_system(void **state)
{
	static const struct {
		int64_t (*read)(void);
		clockid_t clock;
	} rows[] = {{os_clock_wall_us, CLOCK_REALTIME},
		    {os_clock_monotonic_us, CLOCK_MONOTONIC},
		    {os_clock_boot_us, CLOCK_BOOTTIME}};

	(void)state;
	for (unsigned moment = 0; moment < 20; moment++) {
		for (size_t i = 0; i < COUNT_OF(rows); i++) {
			int64_t before = clock_us(rows[i].clock);
			int64_t now = rows[i].read();

			assert_in_range(now, before, clock_us(rows[i].clock));
		}
		usleep(1000);
	}
}

static void a_pause_is_in_milliseconds(void **state)
{
	int64_t begin = os_clock_monotonic_us();

	(void)state;
	os_clock_pause_ms(5);
	assert_in_range(os_clock_monotonic_us() - begin, 5000, SECOND_US);
	begin = os_clock_monotonic_us();
	os_clock_pause_ms(1001);
	assert_in_range(os_clock_monotonic_us() - begin, 1001000, 10 * SECOND_US);
}

static struct os_load load_with(const char *text)
{
	struct os_load load = {.file = memfd_create("stat", MFD_CLOEXEC)};

	assert_true(load.file >= 0);
	assert_int_equal(write(load.file, text, strlen(text)), strlen(text));
	return load;
}

static void the_load_since_the_last_call(void **state)
{
	static const struct {
		const char *text;
		unsigned busy;
	} rows[] = {
		/* user nice system idle iowait irq softirq steal guest guest_nice */
		{"cpu  100 0 0 900 0 0 0 0 7 7\ncpu0 1 1 1 1 1 1 1 1\n", 100},
		{"cpu  100 0 0 1000 0 0 0 0 0 0\n", 0},    /* nothing but idle */
		{"cpu  101 1 1 1000 0 1 1 1 0 0\n", 1000}, /* one of each */
		{"cpu  101 1 1 1001 1 1 1 2 0 0\n", 334},  /* who waits for the disk is idle */
		{"cpu  101 1 1 1001 1 1 1 2 0 0\n", 0},    /* no time has passed */
		{"cpu  201 1 1 1001 0 1 1 2 0 0\n", 0},    /* as iowait may decrease (proc(5)) */
		{"cpu  301 1 1 1001 0 1 1 2 0 0\n", 1000},
		{"cpu  1 1 1 1 1 1 1\n", 0}, /* of another kernel */
		{"cpu  301 1 1 1101 0 1 1 2 0 0\n", 0},
		{"intr 5\n", 0},
		{"", 0},
		{"cpu  401 1 1 1101 0 1 1 2 0 0\n", 1000},
	};
	struct os_load load = load_with("");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		unsigned busy;

		assert_int_equal(ftruncate(load.file, 0), 0);
		assert_int_equal(pwrite(load.file, rows[i].text, strlen(rows[i].text), 0),
				 strlen(rows[i].text));
		busy = os_load_processors(&load);
		if (busy != rows[i].busy)
			fail_msg("%zu: %u", i, busy);
	}
	os_load_close(&load);
	assert_int_equal(load.file, -1);
	assert_int_equal(os_load_processors(&load), 0);
	os_load_close(&load);
	os_load_open(&load);
	assert_true(load.file >= 0 && load.total > 0);
	assert_in_range(os_load_processors(&load), 0, 1000);
	os_load_close(&load);
}

static void the_average_is_in_hundredths(void **state)
{
	double known[1];
	int difference;

	(void)state;
	for (unsigned tries = 0; tries < 3; tries++) {
		assert_int_equal(getloadavg(known, 1), 1);
		difference = (int)os_load_average() - (int)(known[0] * 100);
		if (difference >= -2 && difference <= 2)
			return;
	}
	fail_msg("%u is not %f", os_load_average(), known[0]);
}

static void all_numbers_come(void **state)
{
	uint64_t bits = 0;

	(void)state;
	for (uint64_t bound = 1; bound <= 9; bound++) {
		unsigned met[10] = {0};

		for (unsigned i = 0; i < 400; i++) {
			uint64_t number = os_random_below(bound);

			assert_true(number < bound);
			met[number]++;
		}
		for (uint64_t i = 0; i < bound; i++)
			assert_true(met[i] > 0);
	}
	/* all bits come, and no number twice, over several times what is fetched at once */
	for (unsigned round = 0; round < 10; round++) {
		uint64_t numbers[100];

		for (size_t i = 0; i < COUNT_OF(numbers); i++) {
			numbers[i] = os_random_u64();
			bits |= numbers[i];
			for (size_t j = 0; j < i; j++)
				assert_true(numbers[i] != numbers[j]);
		}
	}
	assert_true(bits == UINT64_MAX);
	assert_true(os_random_below(UINT64_MAX) < UINT64_MAX);
}

static void shared_memory_has_its_size(void **state)
{
	static const size_t sizes[][2] = {{4096, 0}, {4096, 4096}, {10000, 5000}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		int memory = os_shared_new("test", sizes[i][0], sizes[i][1]);
		int reader = os_shared_reader(memory);
		void *ours = NULL;
		void *theirs = NULL;
		struct stat status;

		assert_true(memory >= 0 && reader >= 0);
		assert_int_equal(fstat(memory, &status), 0);
		assert_int_equal(status.st_size, sizes[i][0]);
		assert_int_equal(status.st_blocks * 512, (sizes[i][1] + 4095) / 4096 * 4096);
		assert_int_equal(status.st_mode & 0777, 0400);
		assert_int_equal(fcntl(memory, F_GETFD), FD_CLOEXEC);
		assert_int_equal(fcntl(reader, F_GETFD), FD_CLOEXEC);
		assert_int_equal(ftruncate(memory, 1), -1);
		assert_int_equal(ftruncate(memory, 100000), -1);
		assert_int_equal(fcntl(memory, F_ADD_SEALS, F_SEAL_WRITE), -1);
		assert_int_equal(os_shared_map(memory, sizes[i][0], true, &ours), 0);
		assert_int_equal(os_shared_map(reader, sizes[i][0], true, &theirs), -EACCES);
		assert_int_equal(os_shared_map(reader, sizes[i][0], false, &theirs), 0);
		close(memory);
		close(reader);
		((char *)ours)[sizes[i][0] - 1] = 'x';
		assert_int_equal(((char *)theirs)[sizes[i][0] - 1], 'x');
		os_shared_unmap(ours, sizes[i][0]);
		os_shared_unmap(theirs, sizes[i][0]);
		assert_int_equal(msync(ours, 4096, MS_ASYNC), -1);
		assert_int_equal(errno, ENOMEM);
	}
	assert_int_equal(os_shared_reader(-1), -ENOENT);
	assert_int_equal(os_shared_map(-1, 1, false, &(void *){NULL}), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_are_those_of_the_system),
		cmocka_unit_test(a_pause_is_in_milliseconds),
		cmocka_unit_test(the_load_since_the_last_call),
		cmocka_unit_test(the_average_is_in_hundredths),
		cmocka_unit_test(all_numbers_come),
		cmocka_unit_test(shared_memory_has_its_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
