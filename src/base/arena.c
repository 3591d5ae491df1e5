// SPDX-License-Identifier: ISC
#include "base/arena.h"
#include "base/panic.h"
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 2048 };

struct block {
	struct block *next;
	size_t size; /* of BYTES */
	size_t used;
	alignas(max_align_t) char bytes[];
};

struct arena {
	struct block *newest; /* the list ends with the first block */
};

static struct block *block_new(struct block *next, size_t size)
{
	struct block *block = memory_alloc(sizeof *block + size);

	block->next = next;
	block->size = size;
	block->used = 0;
	return block;
}

struct arena *arena_new(void)
{
	struct arena *arena = memory_alloc_zero(1, sizeof *arena);

	return arena;
}

void arena_free(struct arena *arena)
{
	if (arena == NULL)
		return;
	while (arena->newest != NULL) {
		struct block *next = arena->newest->next;

		free(arena->newest);
		arena->newest = next;
	}
	free(arena);
}

void arena_reset(struct arena *arena)
{
	while (arena->newest != NULL && arena->newest->next != NULL) {
		struct block *next = arena->newest->next;

		free(arena->newest);
		arena->newest = next;
	}
	if (arena->newest != NULL)
		arena->newest->used = 0;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	size_t rounded;
	void *memory;

	if (__builtin_add_overflow(size, alignof(max_align_t) - 1, &rounded))
		panic("arena allocation of %zu bytes", size);
	rounded -= rounded % alignof(max_align_t);
	if (arena->newest == NULL || arena->newest->size - arena->newest->used < rounded)
		arena->newest =
			block_new(arena->newest, rounded > BLOCK_SIZE ? rounded : BLOCK_SIZE);
	memory = arena->newest->bytes + arena->newest->used;
	arena->newest->used += rounded;
	return memset(memory, 0, size);
}

char *arena_copy(struct arena *arena, struct str s)
{
	char *copy = arena_alloc(arena, s.length + 1);

	if (s.length > 0)
		memcpy(copy, s.data, s.length);
	return copy;
}

struct str arena_copy_str(struct arena *arena, struct str s)
{
	return str_slice(arena_copy(arena, s), s.length);
}
