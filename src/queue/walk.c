// SPDX-License-Identifier: ISC
#include "queue/walk.h"
#include "os/file/file.h"
#include "queue/internal.h"
#include <stdio.h>

void queue_walk_begin(struct queue_walk *walk, const struct queue_store *store,
		      enum queue_folder folder, const char *name)
{
	*walk = (struct queue_walk){.store = store, .folder = folder, .name = name};
}

static void tell_stray(const struct queue_walk *walk, void (*stray)(const char *path))
{
	char directory[QUEUE_PATH_SIZE];
	char path[QUEUE_PATH_SIZE + 256];

	if (stray == NULL)
		return;
	queue_store_part_path(walk->folder, walk->name, walk->x, directory);
	snprintf(path, sizeof path, "%s/%s", directory, walk->entry);
	stray(path);
}

static int enter_directory(struct queue_walk *walk)
{
	char path[QUEUE_PATH_SIZE];
	int result;

	queue_store_part_path(walk->folder, walk->name, walk->x, path);
	result = os_file_list_open(walk->store->directory, path, &walk->list);
	if (result < 0)
		walk->x++;
	return result;
}

int queue_walk_next(struct queue_walk *walk, uint64_t *number_out, void (*stray)(const char *path))
{
	while (walk->x < walk->store->split) {
		int result = walk->list == NULL ? enter_directory(walk) : 0;

		if (result < 0)
			return result;
		result = os_file_list_next(walk->list, &walk->entry);
		if (result <= 0) {
			os_file_list_close(walk->list);
			walk->list = NULL;
			walk->x++;
		}
		if (result < 0)
			return result;
		if (result == 0)
			continue;
		if (queue_store_is_number(walk->store, walk->entry, walk->x, number_out))
			return 1;
		tell_stray(walk, stray);
	}
	return 0;
}

int queue_walk_info(const struct queue_walk *walk, struct os_file_info *info_out)
{
	return os_file_list_info(walk->list, walk->entry, info_out);
}

void queue_walk_end(struct queue_walk *walk)
{
	os_file_list_close(walk->list);
	walk->list = NULL;
	walk->x = walk->store->split;
}
