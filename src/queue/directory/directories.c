// SPDX-License-Identifier: ISC
/* The directories that a commit has changed: each is opened once and synced once. */
#include "base/panic.h"
#include "os/file/file.h"
#include "queue/handed.h"
#include "queue/internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t queue_directories_add_path(struct queue_directories *list, const char *path)
{
	struct queue_directory *item;

	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].path, path) == 0)
			return i;
	list->items = memory_grow(list->items, list->count, &list->capacity, sizeof *list->items);
	item = &list->items[list->count];
	snprintf(item->path, sizeof item->path, "%s", path);
	item->result = 0;
	item->file = -1;
	return list->count++;
}

size_t queue_directories_add(struct queue_directories *list, const struct queue_store *store,
			     enum queue_folder folder, const char *name, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];

	queue_store_directory_path(store, folder, name, number, path);
	return queue_directories_add_path(list, path);
}

size_t queue_directories_add_node(struct queue_directories *list, const char *node)
{
	char path[QUEUE_PATH_SIZE];

	snprintf(path, sizeof path, QUEUE_HANDED_FOLDER "%s%s", node[0] != '\0' ? "/" : "", node);
	return queue_directories_add_path(list, path);
}

void queue_dirty_nodes_add(struct queue_dirty_nodes *list, const char *node)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->names[i], node) == 0)
			return;
	list->names = memory_grow(list->names, list->count, &list->capacity, sizeof *list->names);
	snprintf(list->names[list->count++], sizeof *list->names, "%s", node);
}

int queue_directories_open(struct queue_directories *list, const struct queue_store *store)
{
	int first_error = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct queue_directory *item = &list->items[i];

		if (item->file >= 0)
			continue;
		item->file = os_file_open_directory(store->directory, item->path);
		item->result = item->file < 0 ? item->file : 0;
		if (first_error == 0)
			first_error = item->result;
	}
	return first_error;
}

int queue_directories_sync(struct queue_directories *list)
{
	int *files = memory_alloc((list->count + 1) * sizeof *files);
	int *results = memory_alloc((list->count + 1) * sizeof *results);
	size_t count = 0;
	int first_error = 0;

	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].file >= 0)
			files[count++] = list->items[i].file;
	os_file_sync_directories(files, count, results);
	count = 0;
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].file < 0)
			continue;
		list->items[i].result = results[count++];
		if (first_error == 0)
			first_error = list->items[i].result;
	}
	free(files);
	free(results);
	return first_error;
}

void queue_directories_reset(struct queue_directories *list)
{
	for (size_t i = 0; i < list->count; i++)
		os_file_close(list->items[i].file);
	list->count = 0;
}

void queue_directories_clear(struct queue_directories *list)
{
	queue_directories_reset(list);
	free(list->items);
	*list = (struct queue_directories){0};
}
