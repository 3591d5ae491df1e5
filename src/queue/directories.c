// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "os/file.h"
#include "queue/internal.h"
#include <stdlib.h>
#include <string.h>

size_t queue_directories_add(struct queue_directories *list, const struct queue_store *store,
			     enum queue_place place, const char *name, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];

	queue_store_directory_path(store, place, name, number, path);
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].path, path) == 0)
			return i;
	if (list->count == list->capacity) {
		list->capacity = list->capacity > 0 ? list->capacity * 2 : 64;
		list->items = memory_resize(list->items, list->capacity * sizeof *list->items);
	}
	memcpy(list->items[list->count].path, path, sizeof path);
	list->items[list->count].result = 0;
	return list->count++;
}

int queue_directories_sync(struct queue_directories *list, const struct queue_store *store)
{
	const char **paths = memory_alloc((list->count + 1) * sizeof *paths);
	int *results = memory_alloc((list->count + 1) * sizeof *results);
	int first_error = 0;

	for (size_t i = 0; i < list->count; i++)
		paths[i] = list->items[i].path;
	os_file_sync_directories(store->directory, paths, list->count, results);
	for (size_t i = 0; i < list->count; i++) {
		list->items[i].result = results[i];
		if (first_error == 0)
			first_error = results[i];
	}
	free(paths);
	free(results);
	return first_error;
}

void queue_directories_clear(struct queue_directories *list)
{
	free(list->items);
	*list = (struct queue_directories){0};
}
