// SPDX-License-Identifier: ISC
#include "os/clock.h"
#include "os/socket/limit.h"
#include "test.h"
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SOON_US = 50000, LATER_US = 60000000 };

struct pair {
	int here, there;
};

static struct pair connected(void)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	return (struct pair){ends[0], ends[1]};
}

static void release(struct pair pair)
{
	close(pair.here);
	close(pair.there);
}

static struct os_socket_limit *limit_of(int64_t left_us)
{
	struct os_socket_limit *limit;

	assert_int_equal(os_socket_limit_new(os_clock_monotonic_us() + left_us, &limit), 0);
	return limit;
}

static void set(struct os_socket_limit *limit, int socket)
{
	assert_int_equal(os_socket_limit_set(limit, socket), 0);
}

static void assert_ended(int socket)
{
	char byte;

	assert_int_equal(read(socket, &byte, 1), 0);
}

static void assert_open(struct pair pair)
{
	char byte;

	assert_int_equal(write(pair.there, "x", 1), 1);
	assert_int_equal(read(pair.here, &byte, 1), 1);
}

/* Bytes that come do not give it more. */
static void who_waits_sees_the_end_in_time(void **state)
{
	struct pair pair = connected();
	int64_t begin_us = os_clock_monotonic_us();
	struct os_socket_limit *limit = limit_of(SOON_US);

	(void)state;
	set(limit, pair.here);
	assert_open(pair);
	assert_ended(pair.here);
	assert_true(os_clock_monotonic_us() - begin_us >= SOON_US);
	assert_ended(pair.there);
	os_socket_limit_free(limit);
	release(pair);
}

static void a_socket_that_comes_too_late_ends_at_once(void **state)
{
	struct pair first = connected();
	struct pair second = connected();
	struct os_socket_limit *limit = limit_of(0);

	(void)state;
	set(limit, first.here);
	assert_ended(first.here);
	set(limit, second.here);
	assert_ended(second.here);
	os_socket_limit_free(limit);
	release(first);
	release(second);
}

/* The library has tried another address meanwhile. */
static void only_the_last_socket_ends(void **state)
{
	struct pair first = connected();
	struct pair second = connected();
	struct os_socket_limit *limit = limit_of(SOON_US);

	(void)state;
	set(limit, first.here);
	set(limit, second.here);
	assert_ended(second.here);
	assert_open(first);
	os_socket_limit_free(limit);
	release(first);
	release(second);
}

static void a_limit_that_is_freed_ends_nothing(void **state)
{
	struct pair pair = connected();
	struct os_socket_limit *limit = limit_of(LATER_US);
	int64_t begin_us = os_clock_monotonic_us();

	(void)state;
	set(limit, pair.here);
	os_socket_limit_free(limit);
	assert_true(os_clock_monotonic_us() - begin_us < LATER_US / 2);
	assert_open(pair);
	os_socket_limit_free(NULL);
	release(pair);
}

static void a_descriptor_that_is_none_is_said(void **state)
{
	struct os_socket_limit *limit = limit_of(LATER_US);

	(void)state;
	assert_int_equal(os_socket_limit_set(limit, -1), -EBADF);
	os_socket_limit_free(limit);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_sees_the_end_in_time),
		cmocka_unit_test(a_socket_that_comes_too_late_ends_at_once),
		cmocka_unit_test(only_the_last_socket_ends),
		cmocka_unit_test(a_limit_that_is_freed_ends_nothing),
		cmocka_unit_test(a_descriptor_that_is_none_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
