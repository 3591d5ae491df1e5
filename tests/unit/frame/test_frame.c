// SPDX-License-Identifier: ISC
/* What a test leaves is seen, and named. */
#include "holdings.h"
#include "os/loop.h"
#include "test.h"
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char printed[4096];

static void keep_line(const char *format, ...)
{
	size_t length = strlen(printed);
	va_list list;

	va_start(list, format);
	vsnprintf(printed + length, sizeof printed - length, format, list);
	va_end(list);
}

static unsigned left_since(const struct holdings *before)
{
	printed[0] = '\0';
	return holdings_print(before, keep_line);
}

static void ignore_events(void *context, unsigned events)
{
	(void)context;
	(void)events;
}

static void ignore_time(void *context)
{
	(void)context;
}

static void test_descriptor(void **state)
{
	struct holdings before;
	int file;

	(void)state;
	holdings_take(&before);
	assert_int_equal(left_since(&before), 0);
	file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	assert_true(file >= 0);
	assert_int_equal(left_since(&before), 1);
	assert_non_null(strstr(printed, "/status"));
	close(file);
	assert_int_equal(left_since(&before), 0);
}

/* One that has come in the place of another is no less left. */
static void test_descriptor_replaced(void **state)
{
	int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	struct holdings before;

	(void)state;
	holdings_take(&before);
	close(file);
	assert_int_equal(open("/proc/self/maps", O_RDONLY | O_CLOEXEC), file);
	assert_int_equal(left_since(&before), 1);
	assert_non_null(strstr(printed, "/maps"));
	close(file);
}

static void test_loop(void **state)
{
	struct holdings before;
	struct os_loop *loop;
	struct os_watch *watch;
	struct os_timer *timer;

	(void)state;
	holdings_take(&before);
	loop = os_loop_new();
	watch = os_watch_new(loop, 0, OS_WATCH_NONE, ignore_events, NULL);
	timer = os_timer_new(loop, ignore_time, NULL);
	left_since(&before);
	assert_non_null(strstr(printed, "loop\nwatch"));
	assert_non_null(strstr(printed, "timer"));
	os_watch_free(watch);
	left_since(&before);
	assert_null(strstr(printed, "watch"));
	os_timer_free(timer);
	os_loop_free(loop);
	assert_int_equal(left_since(&before), 0);
}

static void test_child(void **state)
{
	struct holdings before;
	pid_t child;

	(void)state;
	holdings_take(&before);
	child = fork();
	if (child == 0)
		_exit(0);
	assert_int_equal(left_since(&before), 1);
	assert_non_null(strstr(printed, "child"));
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(left_since(&before), 0);
}

static void leave_descriptor(void **state)
{
	(void)state;
	assert_true(open("/proc/self/status", O_RDONLY | O_CLOEXEC) >= 0);
}

static int leave_group(void **state)
{
	leave_descriptor(state);
	return 0;
}

static void leave_nothing(void **state)
{
	(void)state;
}

/* In a process of its own, whose words nobody hears: how many fail. */
static int failed_of(CMUnitTestFunction test, CMFixtureFunction setup)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test)};
	pid_t child = fork();
	int status;

	if (child == 0) {
		int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(nowhere, STDOUT_FILENO);
		dup2(nowhere, STDERR_FILENO);
		_exit(cmocka_run_group_tests(tests, setup, NULL));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_who_leaves_fails(void **state)
{
	(void)state;
	assert_int_equal(failed_of(leave_nothing, NULL), 0);
	assert_int_equal(failed_of(leave_descriptor, NULL), 1);
	assert_int_equal(failed_of(leave_nothing, leave_group), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descriptor),
		cmocka_unit_test(test_descriptor_replaced),
		cmocka_unit_test(test_loop),
		cmocka_unit_test(test_child),
		cmocka_unit_test(test_who_leaves_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
