// SPDX-License-Identifier: ISC
/* The group of a program that is set-group-ID: it has it only while it needs it. At each change of
 * the group the kernel lets its memory be read as fs.suid_dumpable says (proc(5)), so it is hidden
 * after each. */
#include "os/process/process.h"
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static gid_t program_group = (gid_t)-1; /* -1: none of its own */

/* A caller can have blocked the signal of the time limit. */
static void unblock_alarm(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int os_process_suspend_group(void)
{
	gid_t real = getgid();
	gid_t effective = getegid();

	if (effective == real)
		return 0;
	if (clearenv() != 0)
		return -ENOMEM;
	os_process_close_inherited(0);
	unblock_alarm();
	if (setresgid((gid_t)-1, real, effective) != 0)
		return -errno;
	os_process_hide_memory();
	program_group = effective;
	return 0;
}

int os_process_resume_group(void)
{
	if (program_group == (gid_t)-1)
		return 0;
	if (setresgid((gid_t)-1, program_group, (gid_t)-1) != 0)
		return -errno;
	os_process_hide_memory();
	return 0;
}

int os_process_drop_group(void)
{
	gid_t real = getgid();

	if (program_group == (gid_t)-1)
		return 0;
	if (setresgid(real, real, real) != 0)
		return -errno;
	program_group = (gid_t)-1;
	os_process_hide_memory();
	return 0;
}

int os_process_group_find(const char *name, gid_t *group_out)
{
	const struct group *entry;

	errno = 0;
	entry = getgrnam(name);
	if (entry == NULL)
		return errno != 0 ? -errno : -ENOENT;
	*group_out = entry->gr_gid;
	return 0;
}
