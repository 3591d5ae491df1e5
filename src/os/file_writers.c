// SPDX-License-Identifier: ISC
#include "os/file.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

/*
 * The kernel lets nobody have a read lease on a file that is open for writing: it counts, for
 * each inode, the open file descriptions that may write (i_writecount), whoever has them, in
 * whatever process, on their way in a socket, or only as a shared mapping
 * (check_conflicting_open() in fs/locks.c; fcntl(2)). So the lease is asked for, and given back.
 */
int os_file_has_writers(int file)
{
	/* Who opens it for writing just then would have us told by SIGIO, which ends a process. */
	if (fcntl(file, F_SETSIG, SIGURG) != 0)
		return -errno;
	if (fcntl(file, F_SETLEASE, F_RDLCK) != 0)
		return errno == EAGAIN ? 1 : -errno;
	return fcntl(file, F_SETLEASE, F_UNLCK) == 0 ? 0 : -errno;
}
