// SPDX-License-Identifier: ISC
/* The user who started this process, and whose rights it has. */
#include "os/process/process.h"
#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile sig_atomic_t limit_status;

uid_t os_process_effective_user(void)
{
	return geteuid();
}

gid_t os_process_effective_group(void)
{
	return getegid();
}

/* The kernel has these identities for each thread; the C library's setgroups() would change all
 * threads, so it is bypassed. setfsuid() reports no error: a second, invalid call returns the
 * present value. */
static int set_thread_groups(size_t count, const gid_t *groups)
{
	return syscall(SYS_setgroups, count, groups) != 0 ? -errno : 0;
}

/* This process's own supplementary groups: threads inherit them, and only what is below changes
 * them. */
static struct own_groups {
	pthread_once_t once;
	gid_t groups[OS_PROCESS_GROUPS_MAX + 1];
	int count; /* -1: there are more */
} own_groups = {.once = PTHREAD_ONCE_INIT};

static void read_own_groups(void)
{
	own_groups.count = getgroups(COUNT_OF(own_groups.groups), own_groups.groups);
}

/* Before a thread changes them for the first time. */
static int know_own_groups(void)
{
	pthread_once(&own_groups.once, read_own_groups);
	return own_groups.count < 0 ? -EINVAL : 0;
}

int os_process_files_as(const struct os_process_user *user)
{
	int error = know_own_groups();

	if (error == 0 && user->keeps_groups)
		error = set_thread_groups((size_t)own_groups.count, own_groups.groups);
	else if (error == 0)
		error = set_thread_groups(user->group_count, user->groups);
	if (error < 0)
		return error;
	setfsgid(user->gid);
	setfsuid(user->uid);
	if ((gid_t)setfsgid((gid_t)-1) == user->gid && (uid_t)setfsuid((uid_t)-1) == user->uid)
		return 0;
	os_process_files_as_self();
	return -EPERM;
}

void os_process_files_as_self(void)
{
	setfsuid(geteuid());
	setfsgid(getegid());
	if (know_own_groups() == 0)
		(void)!set_thread_groups((size_t)own_groups.count, own_groups.groups);
}

void os_process_caller_find(struct os_process_caller *out)
{
	const struct passwd *entry = getpwuid(getuid());

	*out = (struct os_process_caller){.id = getuid()};
	if (entry == NULL)
		return;
	snprintf(out->name, sizeof out->name, "%s", entry->pw_name);
	snprintf(out->full_name, sizeof out->full_name, "%s",
		 entry->pw_gecos != NULL ? entry->pw_gecos : "");
	out->full_name[strcspn(out->full_name, ",")] = '\0';
}

int os_process_owner_of(const char *path, uid_t *owner_out)
{
	struct stat status;

	if (stat(path, &status) != 0)
		return -errno;
	*owner_out = status.st_uid;
	return 0;
}

int os_process_owns(const char *path)
{
	uid_t owner;
	int error = os_process_owner_of(path, &owner);

	return error < 0 ? error : owner == geteuid();
}

bool os_process_is_privileged(void)
{
	return getauxval(AT_SECURE) != 0;
}

bool os_process_was_started_by_owner(unsigned long *caller_out)
{
	*caller_out = getuid();
	return getuid() == 0 || (getuid() == geteuid() && getgid() == getegid());
}

void os_process_own_mask(void)
{
	umask(0);
}

void os_process_private_mask(void)
{
	umask(077);
}

static void end_process(int signal)
{
	(void)signal;
	_exit(limit_status);
}

int os_process_limit_time(unsigned seconds, int status)
{
	struct sigaction action = {.sa_handler = end_process};

	limit_status = status;
	if (sigaction(SIGALRM, &action, NULL) != 0)
		return -errno;
	alarm(seconds);
	return 0;
}
