// SPDX-License-Identifier: ISC
/* Whether anybody else can write a file or has it open: the kernel's leases say so. */
#include "os/file.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

/*
 * The kernel gives a lease only on a file that others use in no way that it forbids: a read lease
 * where nobody has it open for writing, a write lease where nobody else has it open at all. It
 * counts, for each inode, the open file descriptions that may write and those that only read
 * (i_writecount, i_readcount), whoever has them, in whatever process, on their way in a socket, or
 * only as a shared mapping (check_conflicting_open() in fs/locks.c; fcntl(2)). So a lease is asked
 * for, and given back.
 */
static int try_lease(int file, int kind)
{
	/* Who opens it just then has us told by SIGIO, which would end a process. */
	if (signal(SIGIO, SIG_IGN) == SIG_ERR)
		return -errno;
	if (fcntl(file, F_SETLEASE, kind) != 0)
		return errno == EAGAIN ? 1 : -errno;
	return fcntl(file, F_SETLEASE, F_UNLCK) == 0 ? 0 : -errno;
}

int os_file_is_open_elsewhere(int file)
{
	return try_lease(file, F_WRLCK);
}

int os_file_has_writers(int file)
{
	return try_lease(file, F_RDLCK);
}
