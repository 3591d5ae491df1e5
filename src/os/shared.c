// SPDX-License-Identifier: ISC
#include "os/shared.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int set_up_shared_memory(int memory, size_t size, size_t allocated)
{
	if (ftruncate(memory, (off_t)size) < 0)
		return -errno;
	if (allocated > 0 && fallocate(memory, 0, 0, (off_t)allocated) < 0)
		return -errno;
	if (fchmod(memory, 0400) < 0)
		return -errno;
	if (fcntl(memory, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW) < 0)
		return -errno;
	return 0;
}

int os_shared_new(const char *name, size_t size, size_t allocated)
{
	int memory = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int error;

	if (memory < 0)
		return -errno;
	error = set_up_shared_memory(memory, size, allocated);
	if (error == 0)
		return memory;
	close(memory);
	return error;
}

int os_shared_reader(int memory)
{
	char path[64];
	int reader;

	snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
	reader = open(path, O_RDONLY | O_CLOEXEC);
	return reader < 0 ? -errno : reader;
}

int os_shared_map(int memory, size_t size, bool may_write, void **place_out)
{
	void *place = mmap(NULL, size, may_write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
			   memory, 0);

	if (place == MAP_FAILED)
		return -errno;
	*place_out = place;
	return 0;
}

void os_shared_unmap(void *place, size_t size)
{
	munmap(place, size);
}
