// SPDX-License-Identifier: ISC
/*
 * without - runs a program on a kernel that has neither Landlock nor seccomp.
 *
 * usage: without PROGRAM [ARGUMENT]...
 *
 * The kernel has them; a filter answers for it as one without would: landlock_*(2) and
 * seccomp(2) with ENOSYS, prctl(2) about seccomp with EINVAL. For root, so that
 * set-user-ID programs and changes of user work as ever.
 */
#include <errno.h>
#include <linux/prctl.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LANDLOCK_FIRST = 444, LANDLOCK_LAST = 446 };

static int fill(scmp_filter_ctx filter)
{
	int error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0);

	for (int call = LANDLOCK_FIRST; error == 0 && call <= LANDLOCK_LAST; call++)
		error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), call, 0);
	if (error == 0)
		error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(seccomp), 0);
	if (error == 0)
		error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 1,
					 SCMP_A0(SCMP_CMP_EQ, PR_GET_SECCOMP));
	if (error == 0)
		error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 1,
					 SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP));
	return error == 0 ? seccomp_load(filter) : error;
}

int main(int argc, char **argv)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int error = filter != NULL ? fill(filter) : -ENOMEM;

	if (argc < 2 || error < 0) {
		fprintf(stderr, "without: %s\n", argc < 2 ? "no program" : strerror(-error));
		return 2;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
