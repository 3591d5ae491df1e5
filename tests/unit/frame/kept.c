// SPDX-License-Identifier: ISC
#include "kept.h"
#include <stdlib.h>
#include <string.h>

enum { KEPT_MAX = 262144 };

struct kept_object {
	const char *kind;
	const void *object;
	uintptr_t call;
	uint64_t number;
};

/* In the order in which they were made; static, for no count of memory is to see them. */
static struct kept_object kept[KEPT_MAX];
static size_t kept_count;
static uint64_t next_number;

void kept_add(const char *kind, const void *object, uintptr_t call)
{
	if (object == NULL)
		return;
	if (kept_count == KEPT_MAX)
		abort();
	kept[kept_count++] = (struct kept_object){kind, object, call, next_number++};
}

/* The youngest are looked at first: most objects live shortly. */
void kept_remove(const void *object)
{
	for (size_t i = kept_count; i-- > 0;) {
		if (kept[i].object != object)
			continue;
		memmove(&kept[i], &kept[i + 1], (kept_count - i - 1) * sizeof *kept);
		kept_count--;
		return;
	}
}

uint64_t kept_now(void)
{
	return next_number;
}

size_t kept_print(uint64_t since, void (*print)(const char *kind, uintptr_t call))
{
	size_t left = 0;

	for (size_t i = 0; i < kept_count; i++) {
		if (kept[i].number < since)
			continue;
		print(kept[i].kind, kept[i].call);
		left++;
	}
	return left;
}
