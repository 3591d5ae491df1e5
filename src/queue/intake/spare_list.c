// SPDX-License-Identifier: ISC
/* Lists of spares. */
#include "base/panic.h"
#include "os/file/file.h"
#include "queue/internal.h"
#include <stdlib.h>

void queue_spare_list_add(struct queue_spare_list *list, struct queue_spare spare)
{
	list->items = memory_grow(list->items, list->count, &list->capacity, sizeof *list->items);
	list->items[list->count++] = spare;
}

/* The last one added: its blocks are most likely cached. */
bool queue_spare_list_take(struct queue_spare_list *list, struct queue_spare *spare_out)
{
	if (list->count == 0)
		return false;
	*spare_out = list->items[--list->count];
	return true;
}

void queue_spare_list_clear(struct queue_spare_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		os_file_close(list->items[i].file);
	free(list->items);
	*list = (struct queue_spare_list){0};
}
