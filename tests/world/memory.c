// SPDX-License-Identifier: ISC
/* What each process has allocated, so that its end gives it back. */
#include "kernel.h"
#include <err.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>

/* Of each size of blocks so many bytes are kept that were freed, and a message that grows passes
 * through all sizes: with 256 MB, as is usual, a world came to several GB. */
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=16";
}
#endif

struct memory {
	void **blocks; /* a table by address, with open addressing */
	unsigned bits; /* of its size */
	size_t count;
};

enum { BITS_MIN = 8 };

static size_t size_of(const struct memory *memory)
{
	return memory->blocks == NULL ? 0 : (size_t)1 << memory->bits;
}

struct memory *memory_new(void)
{
	struct memory *memory = calloc(1, sizeof *memory);

	if (memory == NULL)
		err(1, "no memory");
	return memory;
}

void memory_free_all(struct memory *memory)
{
	for (size_t i = 0; i < size_of(memory); i++)
		free(memory->blocks[i]);
	free(memory->blocks);
	free(memory);
}

size_t memory_count(const struct memory *memory)
{
	return memory->count;
}

static size_t place_of(const struct memory *memory, const void *block)
{
	uint64_t mixed = ((uint64_t)(uintptr_t)block >> 4) * 0x9e3779b97f4a7c15;

	return (size_t)(mixed >> (64 - memory->bits));
}

static size_t next_of(const struct memory *memory, size_t place)
{
	return (place + 1) & (size_of(memory) - 1);
}

static void put(struct memory *memory, void *block)
{
	size_t place = place_of(memory, block);

	while (memory->blocks[place] != NULL)
		place = next_of(memory, place);
	memory->blocks[place] = block;
	memory->count++;
}

static void make_room(struct memory *memory)
{
	void **old = memory->blocks;
	size_t old_size = size_of(memory);

	if (memory->count * 2 < old_size)
		return;
	memory->bits = old == NULL ? BITS_MIN : memory->bits + 1;
	memory->blocks = calloc((size_t)1 << memory->bits, sizeof *memory->blocks);
	if (memory->blocks == NULL)
		err(1, "no memory");
	memory->count = 0;
	for (size_t i = 0; i < old_size; i++)
		if (old[i] != NULL)
			put(memory, old[i]);
	free(old);
}

/* Those behind PLACE that would have been put there move up, so that each is found from its own
 * place on without a gap. */
static void close_gap(struct memory *memory, size_t gap)
{
	size_t mask = size_of(memory) - 1;

	for (size_t i = next_of(memory, gap); memory->blocks[i] != NULL; i = next_of(memory, i)) {
		size_t home = place_of(memory, memory->blocks[i]);

		if (((i - home) & mask) < ((i - gap) & mask))
			continue;
		memory->blocks[gap] = memory->blocks[i];
		gap = i;
	}
	memory->blocks[gap] = NULL;
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

	if (memory == NULL || memory->blocks == NULL)
		return;
	place = place_of(memory, block);
	while (memory->blocks[place] != NULL && memory->blocks[place] != block)
		place = next_of(memory, place);
	if (memory->blocks[place] == NULL)
		return; /* the C library has allocated it */
	close_gap(memory, place);
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
