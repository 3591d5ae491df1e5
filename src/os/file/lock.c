// SPDX-License-Identifier: ISC
/* Waits for a lock on a file, up to a limit. */
#include "os/file/file.h"
#include <errno.h>
#include <time.h>

enum { PAUSE_MS = 20 };

int os_file_lock_within(int file, int milliseconds)
{
	const struct timespec pause = {0, PAUSE_MS * 1000000};
	int error = os_file_lock(file);

	for (; error == -EAGAIN && milliseconds > 0; milliseconds -= PAUSE_MS) {
		nanosleep(&pause, NULL);
		error = os_file_lock(file);
	}
	return error;
}
