// SPDX-License-Identifier: ISC
#include "os/stream/stream.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

ssize_t os_stream_read(int descriptor, void *data, size_t size)
{
	ssize_t count;

	do
		count = read(descriptor, data, size);
	while (count < 0 && errno == EINTR);
	return count < 0 ? -errno : count;
}

ssize_t os_stream_write(int descriptor, const void *data, size_t size)
{
	ssize_t count;

	do
		count = write(descriptor, data, size);
	while (count < 0 && errno == EINTR);
	return count < 0 ? -errno : count;
}

int os_stream_copy(int descriptor)
{
	int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	return copy < 0 ? -errno : copy;
}

int os_stream_set_blocking(int descriptor)
{
	int flags = fcntl(descriptor, F_GETFL);

	return flags < 0 || fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) != 0 ? -errno : 0;
}

int os_stream_rewind(int descriptor)
{
	return lseek(descriptor, 0, SEEK_SET) < 0 ? -errno : 0;
}

int os_stream_temporary(void)
{
	const char *folder =
		secure_getenv("TMPDIR"); /* of the user, not of who installed us for him */
	char path[PATH_MAX];
	int file;

	if (folder == NULL || folder[0] != '/')
		folder = P_tmpdir;
	if ((size_t)snprintf(path, sizeof path, "%s/stagepost-XXXXXX", folder) >= sizeof path)
		return -ENAMETOOLONG;
	file = mkostemp(path, O_CLOEXEC);
	if (file < 0)
		return -errno;
	unlink(path);
	return file;
}
