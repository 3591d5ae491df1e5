// SPDX-License-Identifier: ISC
/* The group of a set-group-ID program, in a process that is as the kernel starts one: with the real
 * group of a user and the effective one of its file. */
#include "os/process/process.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLER = 65534, OWN = 65533, LEFT = 50 /* a descriptor that the caller has left */ };

static bool has(gid_t real, gid_t effective, gid_t saved)
{
	gid_t groups[3];

	return getresgid(&groups[0], &groups[1], &groups[2]) == 0 && groups[0] == real &&
	       groups[1] == effective && groups[2] == saved;
}

static void become(gid_t own)
{
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	if (sigprocmask(SIG_BLOCK, &alarm, NULL) != 0 || setenv("LD_PRELOAD", "/tmp/x", 1) != 0 ||
	    dup2(0, LEFT) != LEFT || setgroups(0, NULL) != 0 || setresgid(CALLER, own, own) != 0 ||
	    setresuid(CALLER, CALLER, CALLER) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0)
		_exit(100);
}

static bool is_clean(void)
{
	sigset_t blocked;

	return getenv("LD_PRELOAD") == NULL && fcntl(LEFT, F_GETFD) < 0 &&
	       prctl(PR_GET_DUMPABLE) == 0 && sigprocmask(SIG_BLOCK, NULL, &blocked) == 0 &&
	       !sigismember(&blocked, SIGALRM);
}

/* Each is a step of a process; its number is the exit status if it fails. */
static int live_as_set_group_id(void)
{
	become(OWN);
	if (os_process_suspend_group() != 0 || !has(CALLER, CALLER, OWN))
		return 1;
	if (!is_clean())
		return 2;
	if (os_process_resume_group() != 0 || !has(CALLER, OWN, OWN))
		return 3;
	if (prctl(PR_SET_DUMPABLE, 1) != 0 || os_process_drop_group() != 0 ||
	    !has(CALLER, CALLER, CALLER))
		return 4;
	if (prctl(PR_GET_DUMPABLE) != 0) /* what it had seen is still in its memory */
		return 5;
	if (setresgid((gid_t)-1, OWN, (gid_t)-1) == 0)
		return 6;
	/* nothing is left to resume */
	return os_process_resume_group() == 0 && has(CALLER, CALLER, CALLER) ? 0 : 7;
}

static int drop_at_once(void)
{
	become(OWN);
	if (os_process_suspend_group() != 0 || os_process_drop_group() != 0)
		return 1;
	return has(CALLER, CALLER, CALLER) && setresgid((gid_t)-1, OWN, (gid_t)-1) != 0 ? 0 : 2;
}

/* An ordinary program keeps what its caller has given it. */
static int live_as_ordinary(void)
{
	become(CALLER);
	if (os_process_suspend_group() != 0 || os_process_resume_group() != 0 ||
	    os_process_drop_group() != 0)
		return 1;
	return getenv("LD_PRELOAD") != NULL && fcntl(LEFT, F_GETFD) >= 0 &&
			       prctl(PR_GET_DUMPABLE) == 1 && has(CALLER, CALLER, CALLER)
		       ? 0
		       : 2;
}

static void run(int (*life)(void))
{
	int status;
	pid_t pid;

	if (!os_process_is_root())
		skip(); /* only root can have other groups */
	pid = fork();
	if (pid == 0)
		_exit(life());
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void it_is_had_only_between(void **state)
{
	(void)state;
	run(live_as_set_group_id);
}

static void it_can_be_dropped_at_once(void **state)
{
	(void)state;
	run(drop_at_once);
}

static void without_one_nothing_changes(void **state)
{
	(void)state;
	run(live_as_ordinary);
}

static void groups_are_found_by_name(void **state)
{
	gid_t group = 1;

	(void)state;
	assert_int_equal(os_process_group_find("root", &group), 0);
	assert_int_equal(group, 0);
	group = 1;
	assert_int_equal(os_process_group_find("no such group", &group), -ENOENT);
	assert_int_equal(group, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_had_only_between),
		cmocka_unit_test(it_can_be_dropped_at_once),
		cmocka_unit_test(without_one_nothing_changes),
		cmocka_unit_test(groups_are_found_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
