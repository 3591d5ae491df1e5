// SPDX-License-Identifier: ISC
/* Names of this process and this machine. */
#include "os/process/process.h"
#include <errno.h>
#include <unistd.h>

pid_t os_process_id(void)
{
	return getpid();
}

int os_host_name(char *name, size_t size)
{
	if (gethostname(name, size) != 0)
		return -errno;
	name[size - 1] = '\0';
	return 0;
}
