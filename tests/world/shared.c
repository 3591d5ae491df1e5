// SPDX-License-Identifier: ISC
/* os/shared.h: all processes of a world are in one address space, so a mapping is the memory
 * itself. It stays until nobody has it open or mapped; what was mapped by a process that is killed
 * stays until the world ends. */
#include "os/shared.h"
#include "description.h"
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

struct memory {
	struct description description;
	size_t size;
	char *bytes;
	struct memory *next;
};

static struct memory *memories;

static void close_memory(struct description *description)
{
	struct memory *memory = (struct memory *)description;
	struct memory **link = &memories;

	while (*link != memory)
		link = &(*link)->next;
	*link = memory->next;
	free(memory->bytes);
	free(memory);
}

static const struct description_kind memory_description = {
	.name = "memory", .close = close_memory, .mode = S_IFREG};

int os_shared_new(const char *name, size_t size, size_t allocated)
{
	struct memory *memory = calloc(1, sizeof *memory);

	(void)name;
	(void)allocated;
	if (memory == NULL || (memory->bytes = calloc(1, size)) == NULL)
		err(1, "no memory");
	description_init(&memory->description, &memory_description);
	memory->size = size;
	memory->next = memories;
	memories = memory;
	return table_add(&memory->description);
}

int os_shared_reader(int memory)
{
	return table_of_kind(memory, &memory_description) != NULL ? table_copy(memory, 0) : -EBADF;
}

int os_shared_map(int descriptor, size_t size, bool may_write, void **place_out)
{
	struct memory *memory = (struct memory *)table_of_kind(descriptor, &memory_description);

	(void)may_write;
	if (memory == NULL)
		return -EBADF;
	if (size > memory->size)
		return -EINVAL;
	memory->description.references++;
	*place_out = memory->bytes;
	return 0;
}

void os_shared_unmap(void *place, size_t size)
{
	struct memory *memory = memories;

	(void)size;
	while (memory != NULL && memory->bytes != place)
		memory = memory->next;
	if (memory == NULL)
		errx(1, "memory is unmapped that is not mapped");
	description_drop(&memory->description);
}
