// SPDX-License-Identifier: ISC
/* What the system's name service answers, and a helper process that asks it: here it is a function
 * of this program, and waiting is a hundred times shorter. */
#include "os/process/account.h"
#include "test.h"
#include "unit/frame/frame.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
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

/* The only child of this process. */
static pid_t find_helper(void)
{
	char path[60];
	FILE *children;
	int pid = 0;

	snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
	children = fopen(path, "r");
	assert_non_null(children);
	while (fscanf(children, "%d", &pid) == 1)
		;
	fclose(children);
	return pid;
}

/* An answer, in the order of the names; nothing before. */
static int next_answer(int socket, struct os_process_account *account)
{
	struct pollfd one = {.fd = socket, .events = POLLIN};
	int error = 1;

	assert_int_equal(ppoll(&one, 1, NULL, NULL), 1);
	assert_int_equal(os_process_account_answer(socket, &error, account), 1);
	return error;
}

/* Who stops this process by its group does not stop the helper; but its end does. */
static void a_helper_of_ones_own(void **state)
{
	static const struct {
		const char *name;
		int error;
	} rows[] = {{"ann", 0},
		    {"nobody-here", -ENOENT},
		    {"away", -EIO},
		    {"ann", 0},
		    {"broken", -EMFILE}};
	struct os_process_account account = {0};
	int socket = os_process_account_open(), error = 1;
	pid_t helper = find_helper();

	(void)state;
	assert_true(socket >= 0 && helper > 0);
	assert_int_equal(fcntl(socket, F_GETFD), FD_CLOEXEC);
	assert_int_equal(os_process_account_answer(socket, &error, &account), 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(os_process_account_ask(socket, rows[i].name), 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		memset(&account, 0, sizeof account);
		assert_int_equal(next_answer(socket, &account), rows[i].error);
		assert_int_equal(account.user.uid, rows[i].error == 0 ? 1001 : 0);
	}
	kill(helper, SIGTERM);
	kill(helper, SIGINT);
	assert_int_equal(os_process_account_ask(socket, "ann"), 0);
	assert_int_equal(next_answer(socket, &account), 0);
	kill(helper, SIGKILL);
	assert_int_equal(waitpid(helper, NULL, 0), helper);
	assert_int_equal(os_process_account_answer(socket, &error, &account), -EPIPE);
	assert_int_equal(os_process_account_ask(socket, "ann"), -EPIPE);
	close(socket);
	socket = os_process_account_open();
	helper = find_helper();
	close(socket);
	assert_int_equal(waitpid(helper, NULL, 0), helper);
}

/* --- who has started this --- */

static struct passwd *caller;

struct passwd *getpwuid(uid_t user)
{
	assert_int_equal(user, getuid());
	return caller;
}

static void who_is_the_caller(void **state)
{
	static char long_name[200];
	static const struct {
		const char *name, *gecos;
		const char *expected_name, *expected_full;
	} rows[] = {
		{"ann", "Ann Example,Room 1,,", "ann", "Ann Example"},
		{"ann", "Ann Example", "ann", "Ann Example"},
		{"ann", ",x", "ann", ""},
		{"ann", "", "ann", ""},
		{"ann", NULL, "ann", ""},
		{long_name, long_name, NULL, NULL},
	};

	(void)state;
	memset(long_name, 'n', sizeof long_name - 1);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct passwd entry = {.pw_name = (char *)(uintptr_t)rows[i].name,
				       .pw_gecos = (char *)(uintptr_t)rows[i].gecos};
		struct os_process_caller found;

		memset(&found, 0x5a, sizeof found);
		caller = &entry;
		os_process_caller_find(&found);
		assert_int_equal(found.id, getuid());
		if (rows[i].expected_name == NULL) {
			assert_int_equal(strlen(found.name), sizeof found.name - 1);
			assert_int_equal(strlen(found.full_name), sizeof found.full_name - 1);
			continue;
		}
		assert_string_equal(found.name, rows[i].expected_name);
		assert_string_equal(found.full_name, rows[i].expected_full);
		/* nobody knows */
		caller = NULL;
		os_process_caller_find(&found);
		assert_true(found.id == getuid() && found.name[0] == '\0' &&
			    found.full_name[0] == '\0');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_is_no_answer),
		cmocka_unit_test(who_is_the_caller),
		cmocka_unit_test(a_helper_of_ones_own),
		cmocka_unit_test(a_helper_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
