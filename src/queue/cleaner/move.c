// SPDX-License-Identifier: ISC
/* Names leave the queue: for damaged/, for litter/, or for good. */
#include "os/file/file.h"
#include "queue/cleaner/internal.h"
#include <errno.h>
#include <stdio.h>

int cleaner_drop(const struct queue_cleaner *cleaner, enum queue_folder folder, const char *name,
		 uint64_t number)
{
	int result = queue_store_drop_durably(cleaner->store, folder, name, number);
	char path[QUEUE_PATH_SIZE];

	if (result > 0 && cleaner->handler->removed != NULL) {
		queue_store_path(cleaner->store, folder, name, number, path);
		cleaner->handler->removed(cleaner->context, path);
	}
	return result < 0 ? result : 0;
}

/* It has its new name durably before it loses the old one. */
static int move_name(const struct queue_cleaner *cleaner, enum queue_folder folder,
		     const char *name, uint64_t number, const char *aside,
		     char to[QUEUE_ASIDE_PATH_SIZE])
{
	const struct queue_store *store = cleaner->store;
	char from[QUEUE_PATH_SIZE];
	int result;

	queue_store_path(store, folder, name, number, from);
	result = queue_store_aside_name(store, aside, from, to);
	if (result == 0)
		result = os_file_link(store->directory, from, to);
	if (result == 0)
		result = os_file_sync_directory(store->directory, aside);
	if (result == 0)
		result = queue_store_drop_durably(store, folder, name, number);
	return result < 0 ? result : 0;
}

/* Further names of the control file that was moved already only go. */
static int move_place(const struct queue_cleaner *cleaner, const struct remains *remains, size_t i,
		      const char *aside, char to[QUEUE_ASIDE_PATH_SIZE])
{
	struct os_file_info info;
	char path[QUEUE_PATH_SIZE];
	const char *name;
	enum queue_folder folder = cleaner_folder(cleaner, i, &name);
	int result;

	queue_store_path(cleaner->store, folder, name, remains->number, path);
	result = os_file_info_at(cleaner->store->directory, path, &info);
	if (result < 0)
		return result == -ENOENT ? 0 : result;
	if (remains->control != NULL && i != remains->copy && info.inode == remains->copy_inode) {
		result = queue_store_drop_durably(cleaner->store, folder, name, remains->number);
		return result < 0 ? result : 0;
	}
	return move_name(cleaner, folder, name, remains->number, aside, to);
}

/* The control file that tells most goes last: while it is in its place, all begins again. */
int cleaner_move(const struct queue_cleaner *cleaner, const struct remains *remains,
		 const char *aside, char path_out[QUEUE_ASIDE_PATH_SIZE])
{
	size_t copy = remains->control != NULL ? remains->copy : SIZE_MAX;
	int result = 0;

	if (remains->has_data)
		result = move_name(cleaner, QUEUE_MESS, NULL, remains->number, aside, path_out);
	for (size_t i = 0; result == 0 && i < cleaner_folder_count(cleaner); i++) {
		char other[QUEUE_ASIDE_PATH_SIZE];

		if (i != copy)
			result = move_place(cleaner, remains, i, aside,
					    path_out[0] == '\0' ? path_out : other);
	}
	if (result == 0 && copy != SIZE_MAX)
		result = move_place(cleaner, remains, copy, aside, path_out);
	return result;
}

struct sweep {
	struct queue_store *store;
	int64_t before_us;
	void (*removed)(void *context, const char *path);
	void *context;
};

static int sweep_name(void *context, const char *name)
{
	const struct sweep *sweep = context;
	char path[QUEUE_ASIDE_PATH_SIZE];
	struct os_file_info info;
	int result;

	snprintf(path, sizeof path, QUEUE_LITTER "/%s", name);
	result = os_file_info_at(sweep->store->directory, path, &info);
	if (result < 0 || info.changed_us >= sweep->before_us || info.is_directory)
		return result == -ENOENT ? 0 : result;
	result = os_file_unlink(sweep->store->directory, path);
	if (result == 0 && sweep->removed != NULL)
		sweep->removed(sweep->context, path);
	return result == -ENOENT ? 0 : result;
}

int queue_cleaner_sweep(struct queue_store *store, int64_t now_us,
			void (*removed)(void *context, const char *path), void *context)
{
	struct sweep sweep = {store, now_us - QUEUE_LITTER_AGE_US, removed, context};
	int result = os_file_list(store->directory, QUEUE_LITTER, sweep_name, &sweep);

	return result == -ENOENT ? 0 : result;
}
