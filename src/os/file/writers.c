// SPDX-License-Identifier: ISC
/* Uses the kernel's leases to find out whether anybody else can write to a file or has it open. */
#include "os/file/file.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

/*
 * The kernel grants a lease only on a file without conflicting use: a read lease if nobody has it
 * open for writing, a write lease if nobody else has it open at all. For each inode it counts the
 * open file descriptions that may write and those that only read (i_writecount, i_readcount), of
 * all processes, also in transit in a socket, or kept only by a shared mapping
 * (check_conflicting_open() in fs/locks.c; fcntl(2)). So a lease is requested, and released.
 */
static int try_lease(int file, int kind)
{
	/* If the file is opened at that time, SIGIO is sent, which would end the process. */
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
