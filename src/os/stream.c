// SPDX-License-Identifier: ISC
#include "os/stream.h"
#include <errno.h>
#include <fcntl.h>
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

int os_stream_rewind(int descriptor)
{
	return lseek(descriptor, 0, SEEK_SET) < 0 ? -errno : 0;
}
