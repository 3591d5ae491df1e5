// SPDX-License-Identifier: ISC
/*
 * limit/memory.h - the memory in which processes count what all of them together may do.
 *
 * Each process that counts has a row, named after it ("smtpd.0"), which it alone writes; it reads
 * those of all others. A row is a sealed file in memory (os/shared.h) that the supervisor makes
 * when it starts, all zeroes. So a process that was taken over can lie about itself, but not change
 * what another one counts, or take the memory from under it. The row outlives its process: the
 * supervisor clears the sessions when it finds it dead (limit/count.h), and the next one with the
 * same name goes on with the rest.
 *
 * A row consists of areas, each for one purpose, with a size that the configuration decides when
 * the rows are made (limit/layout.h). All rows have the same layout, which comes from the
 * supervisor; nothing that a row says of itself is trusted. When a new configuration needs larger
 * areas, there are new rows, with all counts at zero; who counts sessions sets its own at once.
 *
 * Readers use atomic loads. An area begins at a multiple of LIMIT_ALIGNMENT bytes.
 */
#ifndef LIMIT_MEMORY_H
#define LIMIT_MEMORY_H

#include "base/attributes.h"
#include "ipc/pack.h"
#include <stdbool.h>

enum limit_area_use {
	LIMIT_AREA_SESSIONS = 1, /* limit/count.h */
	LIMIT_AREA_RATES,        /* limit/rate.h */
	LIMIT_AREA_CLIENTS,      /* limit/client.h */
};

enum {
	LIMIT_AREAS_MAX = 4,
	LIMIT_ROWS_MAX = 288, /* processes that count, and those that follow some of them */
	LIMIT_NAME_SIZE = 24,
	LIMIT_ALIGNMENT = 64,
	LIMIT_AREA_SIZE_MAX = 1 << 30,
};

struct limit_area {
	enum limit_area_use use;
	uint32_t size; /* bytes, up to LIMIT_AREA_SIZE_MAX */
	/* Whether all of it gets its memory when it is made. Otherwise each page when it is first
	 * written to, which ends the process if there is none. These come last in the layout. */
	bool is_allocated;
};

struct limit_layout {
	struct limit_area areas[LIMIT_AREAS_MAX];
	size_t count;
};

/* Adds an area; none if SIZE is 0. */
void limit_layout_add(struct limit_layout *layout, enum limit_area_use use, uint32_t size,
		      bool is_allocated);
/* Whether LAYOUT has all areas of WANTED, in at least their sizes. */
bool limit_layout_has(const struct limit_layout *layout, const struct limit_layout *wanted);
bool limit_layout_equal(const struct limit_layout *a, const struct limit_layout *b);
/* For messages (ipc/pack.h). False: IN is not one. */
void limit_layout_pack(const struct limit_layout *layout, struct buffer *out);
MUST_CHECK bool limit_layout_unpack(struct unpack *in, struct limit_layout *layout_out);

/* A descriptor of a new row, or -errno (-ENOMEM). */
MUST_CHECK int limit_row_new(const struct limit_layout *layout, const char *name);

/* The rows, as a process has them mapped. */
struct limit_memory;

struct limit_memory *limit_memory_new(const struct limit_layout *layout);
/* NULL is allowed. */
void limit_memory_free(struct limit_memory *memory);
const struct limit_layout *limit_memory_layout(const struct limit_memory *memory);

/* Maps the row of DESCRIPTOR, which stays the caller's, behind the others; does nothing if there is
 * one called NAME. -errno: it cannot be mapped; -ENOSPC: too many; -EINVAL: a wrong name. */
MUST_CHECK int limit_memory_add(struct limit_memory *memory, const char *name, int descriptor,
				bool may_write);

/* Rows are numbered from 0, and keep their numbers. */
size_t limit_memory_count(const struct limit_memory *memory);
const char *limit_memory_name(const struct limit_memory *memory, size_t row);
/* The first one that may be written to; -1: there is none. */
ptrdiff_t limit_memory_own(const struct limit_memory *memory);
/* The size of the area in each row; 0: there is none. */
size_t limit_memory_area_size(const struct limit_memory *memory, enum limit_area_use use);
/* Where the area is in a row; NULL: the layout has none for that USE, or only a smaller one. Of a
 * row that was added without may_write, it must not be written to. */
void *limit_memory_area(const struct limit_memory *memory, size_t row, enum limit_area_use use,
			size_t size);

#endif
