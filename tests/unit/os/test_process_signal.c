// SPDX-License-Identifier: ISC
/* Signals to processes that are no children, as commands send them to the supervisor. */
#include "os/process/process.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;

static int start_child(void **state)
{
	(void)state;
	child = fork();
	if (child == 0)
		for (;;)
			pause();
	return child > 0 ? 0 : -1;
}

static int end_child(void **state)
{
	(void)state;
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return 0;
}

/* The number that the next descriptor will have. */
static int next_descriptor(void)
{
	int file = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(file);
	return file;
}

static void the_users_process_gets_it(void **state)
{
	int before = next_descriptor();
	int status;
	(void)state;

	assert_int_equal(os_process_signal_of(child, getuid(), 0), 0);
	assert_int_equal(waitpid(child, &status, WNOHANG), 0);
	assert_int_equal(os_process_signal_of(child, getuid(), SIGTERM), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	assert_int_equal(os_process_signal_of(child, getuid(), SIGTERM), -ESRCH);
	child = 0;
	assert_int_equal(next_descriptor(), before);
}

static void another_users_does_not(void **state)
{
	int before = next_descriptor();
	int status;
	(void)state;

	assert_int_equal(os_process_signal_of(child, getuid() + 1, SIGKILL), -ENOTUNIQ);
	assert_int_equal(os_process_signal_of(child, (uid_t)-2, SIGKILL), -ENOTUNIQ);
	assert_int_equal(os_process_signal_of(child, getuid(), 12345), -EINVAL);
	assert_int_equal(os_process_signal_of(-1, getuid(), SIGKILL), -EINVAL);
	assert_int_equal(waitpid(child, &status, WNOHANG), 0);
	assert_int_equal(next_descriptor(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_users_process_gets_it, start_child, end_child),
		cmocka_unit_test_setup_teardown(another_users_does_not, start_child, end_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
