// SPDX-License-Identifier: ISC
#include "base/attributes.h"
#include "os/watchdog.h"
#include "test.h"
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_US = 50000, ALIVE = 3 };

static int64_t used_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void work(int64_t us)
{
	int64_t until_us = used_us() + us;

	while (used_us() < until_us)
		continue;
}

static void too_much(struct os_watchdog *watchdog)
{
	os_watchdog_begin(watchdog, 0);
	work(100 * LIMIT_US);
}

/* What may take more, may. */
static void more(struct os_watchdog *watchdog)
{
	os_watchdog_begin(watchdog, 5 * LIMIT_US);
	work(3 * LIMIT_US);
	os_watchdog_end(watchdog);
}

static void more_than_more(struct os_watchdog *watchdog)
{
	os_watchdog_begin(watchdog, LIMIT_US);
	work(100 * LIMIT_US);
}

/* Each thing has the whole time for itself, and what is between them does not count. */
static void enough(struct os_watchdog *watchdog)
{
	for (int i = 0; i < 5; i++) {
		os_watchdog_begin(watchdog, 0);
		work(LIMIT_US / 2);
		os_watchdog_end(watchdog);
	}
	work(2 * LIMIT_US);
}

/* Real time is not processor time. */
static void a_pause(struct os_watchdog *watchdog)
{
	os_watchdog_begin(watchdog, 0);
	(void)nanosleep(&(struct timespec){0, 2 * LIMIT_US * 1000}, NULL);
	os_watchdog_end(watchdog);
}

static void too_much_after_enough(struct os_watchdog *watchdog)
{
	enough(watchdog);
	too_much(watchdog);
}

static void on_expired(void *context)
{
	_exit(*(int *)context);
}

static void a_process_that_takes_too_much_ends(void **state)
{
	static const struct {
		void (*does)(struct os_watchdog *watchdog);
		int status;
	} cases[] = {{too_much, OS_WATCHDOG_STATUS},
		     {enough, ALIVE},
		     {a_pause, ALIVE},
		     {more, ALIVE},
		     {more_than_more, OS_WATCHDOG_STATUS},
		     {too_much_after_enough, OS_WATCHDOG_STATUS}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			struct os_watchdog *watchdog;

			if (os_watchdog_new(LIMIT_US, NULL, NULL, &watchdog) < 0)
				_exit(1);
			cases[i].does(watchdog);
			os_watchdog_free(watchdog);
			_exit(ALIVE);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), cases[i].status);
	}
}

static void it_may_say_so_before(void **state)
{
	int said = 4;
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct os_watchdog *watchdog;

		if (os_watchdog_new(LIMIT_US, on_expired, &said, &watchdog) < 0)
			_exit(1);
		too_much(watchdog);
		_exit(ALIVE);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_may_say_so_before),
		cmocka_unit_test(a_process_that_takes_too_much_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
