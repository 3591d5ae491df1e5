// SPDX-License-Identifier: ISC
#include "power/disk_log.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

int disk_log_open(struct disk_log *log, const char *path, const char *position_path)
{
	void *memory;
	int position = open(position_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (position < 0)
		return -errno;
	if (ftruncate(position, sizeof(uint64_t)) < 0) {
		close(position);
		return -errno;
	}
	memory = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, position, 0);
	close(position);
	if (memory == MAP_FAILED)
		return -errno;
	log->position = memory;
	log->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	return log->file < 0 ? -errno : 0;
}

int disk_log_append(struct disk_log *log, enum disk_record_kind kind, uint64_t offset,
		    uint64_t length, const void *bytes)
{
	struct disk_record record = {.kind = kind, .offset = offset, .length = length};
	size_t behind = kind == DISK_WRITE ? length : 0;
	struct iovec pieces[] = {{&record, sizeof record}, {(void *)bytes, behind}};
	struct timespec now;
	ssize_t written;

	clock_gettime(CLOCK_REALTIME, &now);
	record.time = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
	written = writev(log->file, pieces, behind > 0 ? 2 : 1);
	if (written < 0)
		return -errno;
	if ((size_t)written != sizeof record + behind)
		return -ENOSPC;
	*log->position += 1;
	return 0;
}
