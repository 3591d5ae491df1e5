// SPDX-License-Identifier: ISC
#include "limit/memory.h"
#include "base/panic.h"
#include "os/shared.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct memory_row {
	char name[LIMIT_NAME_SIZE];
	void *place;
	bool may_write;
};

struct limit_memory {
	struct limit_layout layout;
	size_t size;
	struct memory_row rows[LIMIT_ROWS_MAX];
	size_t count;
};

static size_t align_size(size_t size)
{
	return (size + LIMIT_ALIGNMENT - 1) / LIMIT_ALIGNMENT * LIMIT_ALIGNMENT;
}

void limit_layout_add(struct limit_layout *layout, enum limit_area_use use, uint32_t size,
		      bool is_allocated)
{
	if (size == 0)
		return;
	if (layout->count == LIMIT_AREAS_MAX || size > LIMIT_AREA_SIZE_MAX)
		panic("a row of limits has no room for %u bytes more", size);
	layout->areas[layout->count++] = (struct limit_area){use, size, is_allocated};
}

static const struct limit_area *find_limit_area(const struct limit_layout *layout,
						enum limit_area_use use, size_t size)
{
	for (size_t i = 0; i < layout->count; i++)
		if (layout->areas[i].use == use && layout->areas[i].size >= size)
			return &layout->areas[i];
	return NULL;
}

bool limit_layout_has(const struct limit_layout *layout, const struct limit_layout *wanted)
{
	for (size_t i = 0; i < wanted->count; i++)
		if (find_limit_area(layout, wanted->areas[i].use, wanted->areas[i].size) == NULL)
			return false;
	return true;
}

bool limit_layout_equal(const struct limit_layout *a, const struct limit_layout *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (a->areas[i].use != b->areas[i].use || a->areas[i].size != b->areas[i].size)
			return false;
	return true;
}

void limit_layout_pack(const struct limit_layout *layout, struct buffer *out)
{
	pack_u32(out, (uint32_t)layout->count);
	for (size_t i = 0; i < layout->count; i++) {
		pack_u32(out, layout->areas[i].use);
		pack_u32(out, layout->areas[i].size);
		pack_u32(out, layout->areas[i].is_allocated);
	}
}

bool limit_layout_unpack(struct unpack *in, struct limit_layout *layout_out)
{
	uint32_t count = unpack_u32(in);

	if (count > LIMIT_AREAS_MAX)
		return false;
	*layout_out = (struct limit_layout){.count = count};
	for (size_t i = 0; i < count; i++) {
		struct limit_area *area = &layout_out->areas[i];

		area->use = unpack_u32(in);
		area->size = unpack_u32(in);
		area->is_allocated = unpack_u32(in) != 0;
		if (area->size == 0 || area->size > LIMIT_AREA_SIZE_MAX)
			return false;
	}
	return !in->failed;
}

static size_t size_of_limit_memory(const struct limit_layout *layout, bool is_allocated)
{
	size_t size = 0;

	for (size_t i = 0; i < layout->count; i++)
		if (!is_allocated || layout->areas[i].is_allocated)
			size += align_size(layout->areas[i].size);
	return size;
}

int limit_row_new(const struct limit_layout *layout, const char *name)
{
	return os_shared_new(name, size_of_limit_memory(layout, false),
			     size_of_limit_memory(layout, true));
}

struct limit_memory *limit_memory_new(const struct limit_layout *layout)
{
	struct limit_memory *memory = memory_alloc_zero(1, sizeof *memory);

	memory->layout = *layout;
	memory->size = size_of_limit_memory(layout, false);
	return memory;
}

void limit_memory_free(struct limit_memory *memory)
{
	for (size_t i = 0; memory != NULL && i < memory->count; i++)
		os_shared_unmap(memory->rows[i].place, memory->size);
	free(memory);
}

const struct limit_layout *limit_memory_layout(const struct limit_memory *memory)
{
	return &memory->layout;
}

int limit_memory_add(struct limit_memory *memory, const char *name, int descriptor, bool may_write)
{
	struct memory_row *row = &memory->rows[memory->count];
	int error;

	if (strlen(name) == 0 || strlen(name) >= sizeof row->name)
		return -EINVAL;
	for (size_t i = 0; i < memory->count; i++)
		if (strcmp(memory->rows[i].name, name) == 0)
			return 0;
	if (memory->count == LIMIT_ROWS_MAX)
		return -ENOSPC;
	error = os_shared_map(descriptor, memory->size, may_write, &row->place);
	if (error < 0)
		return error;
	memcpy(row->name, name, strlen(name) + 1);
	row->may_write = may_write;
	memory->count++;
	return 0;
}

size_t limit_memory_count(const struct limit_memory *memory)
{
	return memory->count;
}

const char *limit_memory_name(const struct limit_memory *memory, size_t row)
{
	return memory->rows[row].name;
}

ptrdiff_t limit_memory_own(const struct limit_memory *memory)
{
	for (size_t i = 0; i < memory->count; i++)
		if (memory->rows[i].may_write)
			return (ptrdiff_t)i;
	return -1;
}

size_t limit_memory_area_size(const struct limit_memory *memory, enum limit_area_use use)
{
	const struct limit_area *area = find_limit_area(&memory->layout, use, 0);

	return area != NULL ? area->size : 0;
}

void *limit_memory_area(const struct limit_memory *memory, size_t row, enum limit_area_use use,
			size_t size)
{
	const struct limit_area *area = find_limit_area(&memory->layout, use, size);
	size_t offset = 0;

	if (area == NULL)
		return NULL;
	for (const struct limit_area *a = memory->layout.areas; a < area; a++)
		offset += align_size(a->size);
	return (char *)memory->rows[row].place + offset;
}
