// SPDX-License-Identifier: ISC
/* What each process has allocated, so that its end gives it back. */
#include "kernel.h"
#include <err.h>
#include <stdlib.h>
#include <string.h>

struct memory {
	void **blocks; /* a table by address, with open addressing */
	size_t size;   /* a power of two */
	size_t count;
	size_t used; /* with those that were removed */
};

static char removed;
#define REMOVED ((void *)&removed)

struct memory *memory_new(void)
{
	struct memory *memory = calloc(1, sizeof *memory);

	if (memory == NULL)
		err(1, "no memory");
	return memory;
}

void memory_free_all(struct memory *memory)
{
	for (size_t i = 0; i < memory->size; i++)
		if (memory->blocks[i] != NULL && memory->blocks[i] != REMOVED)
			free(memory->blocks[i]);
	free(memory->blocks);
	free(memory);
}

static size_t place_of(const struct memory *memory, const void *block)
{
	uint64_t mixed = ((uint64_t)(uintptr_t)block >> 4) * 0x9e3779b97f4a7c15;

	return (size_t)(mixed >> 20) & (memory->size - 1);
}

static void put(struct memory *memory, void *block)
{
	size_t place = place_of(memory, block);

	while (memory->blocks[place] != NULL)
		place = (place + 1) & (memory->size - 1);
	memory->blocks[place] = block;
	memory->used++;
	memory->count++;
}

static void make_room(struct memory *memory)
{
	void **old = memory->blocks;
	size_t old_size = memory->size;

	if (memory->used * 2 < memory->size)
		return;
	memory->size = 256;
	while (memory->size < memory->count * 4)
		memory->size *= 2;
	memory->blocks = calloc(memory->size, sizeof *memory->blocks);
	if (memory->blocks == NULL)
		err(1, "no memory");
	memory->count = 0;
	memory->used = 0;
	for (size_t i = 0; i < old_size; i++)
		if (old[i] != NULL && old[i] != REMOVED)
			put(memory, old[i]);
	free(old);
}

static void *keep(void *block)
{
	struct process *process = kernel_process();

	if (block == NULL || process == NULL)
		return block;
	make_room(process->memory);
	put(process->memory, block);
	return block;
}

static void forget(const void *block)
{
	struct process *process = kernel_process();
	struct memory *memory = process != NULL ? process->memory : NULL;
	size_t place;

	if (memory == NULL || memory->size == 0)
		return;
	place = place_of(memory, block);
	while (memory->blocks[place] != NULL && memory->blocks[place] != block)
		place = (place + 1) & (memory->size - 1);
	if (memory->blocks[place] == NULL)
		return; /* the C library has allocated it */
	memory->blocks[place] = REMOVED;
	memory->count--;
}

void *world_malloc(size_t size)
{
	return keep(malloc(size));
}

void *world_calloc(size_t count, size_t size)
{
	return keep(calloc(count, size));
}

void *world_realloc(void *old, size_t size)
{
	if (old != NULL)
		forget(old);
	return keep(realloc(old, size));
}

void world_free(void *block)
{
	if (block != NULL)
		forget(block);
	free(block);
}

char *world_strdup(const char *text)
{
	return keep(strdup(text));
}
