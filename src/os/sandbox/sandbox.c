// SPDX-License-Identifier: ISC
#include "os/process/capability.h"
#include "os/sandbox/internal.h"
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>

unsigned os_sandbox_lacks(void)
{
	unsigned lacks = 0;

	if (!sandbox_has_landlock())
		lacks |= OS_SANDBOX_NO_LANDLOCK;
	if (!sandbox_has_seccomp())
		lacks |= OS_SANDBOX_NO_SECCOMP;
	return lacks;
}

/* Which capabilities are kept, if the process has them. */
static uint32_t capabilities_for(unsigned calls)
{
	const uint32_t identity = 1U << CAP_SETUID | 1U << CAP_SETGID;

	if ((calls & OS_SANDBOX_PROGRAMS) != 0)
		return identity | 1U << CAP_KILL;
	if ((calls & OS_SANDBOX_OWNERS) != 0)
		return identity;
	if ((calls & OS_SANDBOX_SECRETS) != 0)
		return 1U << CAP_DAC_READ_SEARCH;
	/* in a node that runs as root, files may belong to other users */
	return (calls & OS_SANDBOX_CHANGE) != 0 ? 1U << CAP_DAC_OVERRIDE : 0;
}

/* Adds LACK to *LACKS if RESULT says that the kernel does not support it. */
static int note_lack(int result, unsigned lack, unsigned *lacks)
{
	if (result != -ENOSYS)
		return result;
	*lacks |= lack;
	return 0;
}

int os_sandbox_enter(const struct os_sandbox *sandbox, unsigned *lacks_out)
{
	bool is_whole = (sandbox->calls & OS_SANDBOX_PROGRAMS) == 0;
	unsigned lacks = 0;
	int error = 0;

	if (is_whole) /* otherwise the file would be searched for each time */
		(void)setenv("TZ", ":/etc/localtime", 0);
	tzset(); /* reads a file that local times in the log need */
	if ((sandbox->calls & (OS_SANDBOX_SECRETS | OS_SANDBOX_HIDDEN)) != 0 &&
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return -errno;
	if (prctl(is_whole ? PR_SET_NO_NEW_PRIVS : PR_SET_DUMPABLE, is_whole, 0, 0, 0) != 0)
		return -errno;
	if (is_whole)
		error = note_lack(sandbox_limit_paths(sandbox), OS_SANDBOX_NO_LANDLOCK, &lacks);
	if (error == 0)
		error = os_capability_keep(capabilities_for(sandbox->calls), false);
	if (error == 0 && is_whole)
		error = note_lack(sandbox_limit_calls(sandbox->calls), OS_SANDBOX_NO_SECCOMP,
				  &lacks);
	if (error == 0)
		*lacks_out = lacks;
	return error;
}

int os_sandbox_file(const char *path, struct os_sandbox_file *file_out)
{
	struct stat status;

	*file_out = (struct os_sandbox_file){0, 0};
	if (stat(path, &status) == 0)
		*file_out = (struct os_sandbox_file){status.st_dev, status.st_ino};
	else if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
		return -errno;
	return 0;
}

int os_sandbox_real_path(const char *path, char real_out[OS_SANDBOX_PATH_SIZE])
{
	return realpath(path, real_out) == NULL ? -errno : 0;
}
