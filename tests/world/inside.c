// SPDX-License-Identifier: ISC
/* What of os/ is the product's own: it allocates with the product's memory, and is linked with
 * it. Of os/file/file.h what is asked of descriptors that are not the disk's, too. */
#include "inside.h"
#include "base/buffer.h"
#include "disk_table.h"
#include "os/clock.h"
#include "os/process/process.h"
#include "os/stream/stream.h"
#include <errno.h>

/* os_file.c's (meson.build) */
int disk_file_info(int file, struct os_file_info *info_out);
int disk_file_append(int file, const void *data, size_t size);

int os_process_read_text(int descriptor, size_t limit, struct buffer *out)
{
	const char *data = NULL;
	ssize_t size = world_text_read(descriptor, &data);

	if (size < 0)
		return (int)size;
	if ((size_t)size > limit)
		return -EFBIG;
	buffer_append_str(out, str_slice(data, (size_t)size));
	return 0;
}

int os_file_info(int file, struct os_file_info *info_out)
{
	struct os_file_info info = {.device = 2, .links = 1};

	if (disk_table_find(file) != NULL)
		return disk_file_info(file, info_out);
	if (world_description(file, &info.inode, &info.mode) < 0)
		return -EBADF;
	*info_out = info;
	return 0;
}

int os_file_append(int file, const void *data, size_t size)
{
	struct disk_file *open = disk_table_find(file);

	if (open == NULL || !disk_is_pipe(open))
		return disk_file_append(file, data, size);
	return os_stream_write(file, data, size) < 0 ? -EAGAIN : 0;
}

int os_file_lock_within(int file, int milliseconds)
{
	enum { STEP_US = 10000 };
	int64_t until_us = os_clock_monotonic_us() + milliseconds * 1000LL;
	int error = os_file_lock(file);

	while (error == -EAGAIN && os_clock_monotonic_us() < until_us) {
		world_sleep_us(STEP_US);
		error = os_file_lock(file);
	}
	return error;
}
