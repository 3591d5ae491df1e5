// SPDX-License-Identifier: ISC
/*
 * base/arena.h - memory for one unit of work, freed as a whole.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/str.h"

struct arena;

struct arena *arena_new(void);
/* Frees the arena and everything in it. NULL is allowed. */
void arena_free(struct arena *arena);
/* Frees everything in it but the first block, to reuse it for the next unit of work. */
void arena_reset(struct arena *arena);

/* SIZE zeroed bytes, aligned for any type. */
void *arena_alloc(struct arena *arena, size_t size);
/* A copy of S with a NUL after it. */
char *arena_copy(struct arena *arena, struct str s);
struct str arena_copy_str(struct arena *arena, struct str s);

#endif
