// SPDX-License-Identifier: ISC
/* Who is not root and may become others: what he hands on, and what nobody has after him. */
#include "os/inspect/inspect.h"
#include "os/process/capability.h"
#include "os/process/process.h"
#include "scratch.h"
#include "test.h"
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CAPABILITY(number) (UINT64_C(1) << (number))

enum { FIRST = 60001, SECOND = 60002, THIRD = 60003 }; /* have no accounts */
enum { GROUP_OF_OURS = 60010, GROUP_OF_HIS = 60011 };

static const uint64_t IDENTITIES = CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID);

static struct os_process_user user_of(uid_t uid, uint64_t capabilities)
{
	return (struct os_process_user){
		.change = true, .uid = uid, .gid = uid, .capabilities = capabilities};
}

/* Root becomes FIRST as a service manager lets him begin: with capabilities in all sets. */
static int begin(uint64_t capabilities)
{
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || setresgid(FIRST, FIRST, FIRST) != 0 ||
	    setresuid(FIRST, FIRST, FIRST) != 0)
		return -1;
	return os_capability_keep(capabilities, true);
}

static bool has(uint64_t permitted, uint64_t handed_on)
{
	struct os_inspect_status status = {0};

	return os_inspect_status(getpid(), &status) == 0 &&
	       status.capabilities[OS_INSPECT_PERMITTED] == permitted &&
	       status.capabilities[OS_INSPECT_EFFECTIVE] == permitted &&
	       status.capabilities[OS_INSPECT_INHERITABLE] == handed_on &&
	       status.capabilities[OS_INSPECT_AMBIENT] == handed_on;
}

/* Each number is the step that failed. */
static int be_handed_some(void)
{
	const uint64_t all = IDENTITIES | CAPABILITY(CAP_KILL);
	const struct os_process_user helper = user_of(SECOND, IDENTITIES | CAPABILITY(CAP_CHOWN));
	const struct os_process_user program = user_of(THIRD, 0);

	if (begin(all) != 0 || !has(all, all) || !os_process_may_change_user())
		return 1;
	if (os_capability_keep(UINT64_MAX, false) != 0 || !has(all, 0))
		return 2;
	if (os_process_become(&helper) != 0 || !has(IDENTITIES, IDENTITIES) || getuid() != SECOND ||
	    !os_process_may_change_user())
		return 3;
	if (os_process_become(&program) != 0 || !has(0, 0) || getuid() != THIRD)
		return 4;
	return os_process_may_change_user() ? 5 : 0;
}

static int have_one_of_two(void)
{
	return begin(CAPABILITY(CAP_SETUID)) != 0 || os_process_may_change_user();
}

static bool makes_files_of(const char *directory, const char *name, uid_t uid)
{
	char path[SCRATCH_SIZE + 16];
	struct stat status;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	return mkdir(path, 0700) == 0 && stat(path, &status) == 0 && status.st_uid == uid &&
	       status.st_gid == uid;
}

static char scratch[SCRATCH_SIZE];

static int make_files_as_another(void)
{
	const struct os_process_user owner = user_of(SECOND, 0);

	if (begin(IDENTITIES) != 0 || os_process_files_as(&owner) != 0 ||
	    !makes_files_of(scratch, "others", SECOND))
		return 1;
	os_process_files_as_self();
	return makes_files_of(scratch, "own", FIRST) ? 0 : 2;
}

/* Whether the thread may search a directory that only group GROUP_OF may. */
static bool may_search(gid_t group_of)
{
	char path[SCRATCH_SIZE + 32];
	struct stat status;

	snprintf(path, sizeof path, "%s/%u/.", scratch, (unsigned)group_of);
	return stat(path, &status) == 0;
}

static bool make_for_group(gid_t group)
{
	char path[SCRATCH_SIZE + 32];

	snprintf(path, sizeof path, "%s/%u", scratch, (unsigned)group);
	return mkdir(path, 0710) == 0 && chown(path, 0, group) == 0 && chmod(path, 0710) == 0;
}

/* As another, with his groups or with ours; and after that again as oneself. */
static int have_groups_as_another(void)
{
	static const gid_t ours[] = {GROUP_OF_OURS};
	static const gid_t others[] = {GROUP_OF_HIS};
	struct os_process_user owner = user_of(SECOND, 0);

	if (setgroups(1, ours) != 0 || begin(IDENTITIES) != 0 || !may_search(GROUP_OF_OURS) ||
	    may_search(GROUP_OF_HIS))
		return 1;
	if (os_process_files_as(&owner) != 0 || may_search(GROUP_OF_OURS) ||
	    may_search(GROUP_OF_HIS))
		return 2;
	owner.groups = others;
	owner.group_count = 1;
	if (os_process_files_as(&owner) != 0 || may_search(GROUP_OF_OURS) ||
	    !may_search(GROUP_OF_HIS))
		return 3;
	owner.keeps_groups = true;
	if (os_process_files_as(&owner) != 0 || !may_search(GROUP_OF_OURS) ||
	    may_search(GROUP_OF_HIS))
		return 4;
	owner.keeps_groups = false;
	if (os_process_files_as(&owner) != 0)
		return 5;
	os_process_files_as_self();
	return may_search(GROUP_OF_OURS) && !may_search(GROUP_OF_HIS) ? 0 : 6;
}

/* What it returns is the end of a process of its own. */
static void expect_in_child(int (*run)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(run());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_what_is_handed_on(void **state)
{
	(void)state;
	if (!os_process_is_root())
		skip();
	expect_in_child(be_handed_some);
	expect_in_child(have_one_of_two);
}

static void test_files(void **state)
{
	(void)state;
	if (!os_process_is_root())
		skip();
	assert_int_equal(scratch_make(scratch), 0);
	assert_int_equal(chmod(scratch, 0777), 0);
	assert_true(make_for_group(GROUP_OF_OURS) && make_for_group(GROUP_OF_HIS));
	expect_in_child(make_files_as_another);
	expect_in_child(have_groups_as_another);
	assert_int_equal(scratch_remove(scratch), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_handed_on),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
