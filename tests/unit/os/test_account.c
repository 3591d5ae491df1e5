// SPDX-License-Identifier: ISC
/* What the system's name service answers, and a helper process that asks it: here it is a function
 * of this program, and waiting is a hundred times shorter. */
#include "os/process/process.h"
#include "test.h"
#include "unit/frame/frame.h"
#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* NAME is "ann", or says what is wrong. */
struct passwd *getpwnam(const char *name)
{
	static struct passwd ann = {
		.pw_name = "ann", .pw_dir = "/home/ann", .pw_uid = 1001, .pw_gid = 1002};

	if (strcmp(name, "ann") == 0)
		return &ann;
	if (strcmp(name, "slow") == 0)
		usleep(400000);
	if (strcmp(name, "away") == 0)
		errno = ENOENT;
	else if (strcmp(name, "broken") == 0)
		errno = EMFILE;
	else if (strcmp(name, "silent") != 0) /* that one fails and says nothing */
		errno = 0;
	return NULL;
}

int poll(struct pollfd *files, nfds_t count, int milliseconds)
{
	const struct timespec time = {0, milliseconds * 10000};

	return ppoll(files, count, &time, NULL);
}

static int find(const char *name)
{
	struct os_process_account account = {0};
	int error = os_process_account_find(name, &account);

	if (error == 0)
		assert_true(account.user.uid == 1001 && account.user.gid == 1002 &&
			    strcmp(account.home, "/home/ann") == 0);
	return error;
}

/* Only one that all services were asked for, and none has, does not exist. */
static void assert_answers(void)
{
	assert_int_equal(find("ann"), 0);
	assert_int_equal(find("nobody-here"), -ENOENT);
	assert_int_equal(find("away"), -EIO);
	assert_int_equal(find("broken"), -EMFILE);
	assert_int_equal(find("silent"), -EIO);
}

static void a_failure_is_no_answer(void **state)
{
	(void)state;
	assert_answers();
}

static void a_helper_is_not_waited_for(void **state)
{
	const struct timespec pause = {0, 20000000};

	(void)state;
	frame_leaves_for_life();
	assert_int_equal(os_process_account_helper(&(struct os_process_user){0}), 0);
	assert_answers();
	assert_int_equal(find("slow"), -ETIMEDOUT);
	assert_int_equal(find("ann"), -ETIMEDOUT); /* at once: it is still at the other */
	for (int i = 0; i < 500 && find("ann") == -ETIMEDOUT; i++)
		nanosleep(&pause, NULL);
	assert_answers(); /* none is another's */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_is_no_answer),
		cmocka_unit_test(a_helper_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
