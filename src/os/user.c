// SPDX-License-Identifier: ISC
/* Who started this process, and what of that counts. */
#include "os/process.h"
#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t limit_status;

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

int os_process_owns(const char *path)
{
	struct stat status;

	if (stat(path, &status) != 0)
		return -errno;
	return status.st_uid == geteuid();
}

bool os_process_is_privileged(void)
{
	return getauxval(AT_SECURE) != 0;
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
