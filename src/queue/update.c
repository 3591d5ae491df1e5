// SPDX-License-Identifier: ISC
#include "queue/update.h"
#include "base/panic.h"
#include "os/file.h"
#include "queue/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct group {
	struct queue_store *store;
	struct queue_update **updates;
	size_t count;
	int *files; /* [count]: open in this step; -1: none */
	struct directory_list {
		char (*paths)[QUEUE_PATH_SIZE];
		size_t *owners; /* an update whose new name is there */
		size_t count;
		size_t capacity;
	} directories;
};

static void add_directory(struct group *group, size_t owner, enum queue_place place,
			  const char *name)
{
	struct directory_list *list = &group->directories;

	if (list->count == list->capacity) {
		list->capacity = list->capacity > 0 ? list->capacity * 2 : 64;
		list->paths = memory_resize(list->paths, list->capacity * sizeof *list->paths);
		list->owners = memory_resize(list->owners, list->capacity * sizeof *list->owners);
	}
	queue_store_directory_path(group->store, place, name, group->updates[owner]->number,
				   list->paths[list->count]);
	list->owners[list->count++] = owner;
}

static void fail(struct group *group, size_t i, int error)
{
	if (group->updates[i]->result == 0)
		group->updates[i]->result = error;
}

/* Each directory once; whoever has a name in one that fails, fails. */
static void sync_directories(struct group *group)
{
	struct directory_list *list = &group->directories;
	bool is_whole = group->store->sync == QUEUE_SYNC_FILESYSTEM;
	int result = 0;

	if (list->count > 0 && is_whole)
		result = os_file_sync_filesystem(group->store->directory);
	for (size_t i = 0; i < list->count; i++) {
		bool is_new = !is_whole;

		for (size_t k = 0; k < i && is_new; k++)
			is_new = strcmp(list->paths[k], list->paths[i]) != 0;
		if (is_new)
			result = os_file_sync_directory(group->store->directory, list->paths[i]);
		else if (!is_whole)
			continue;
		for (size_t k = i; result < 0 && k < list->count; k++)
			if (is_whole || strcmp(list->paths[k], list->paths[i]) == 0)
				fail(group, list->owners[k], result);
	}
	list->count = 0;
}

/* Makes what was written to the open files durable and closes them. */
static void sync_files(struct group *group)
{
	int *files = memory_alloc((group->count + 1) * sizeof *files);
	int *results = memory_alloc((group->count + 1) * sizeof *results);
	size_t count = 0;

	for (size_t i = 0; i < group->count; i++)
		if (group->files[i] >= 0 && group->updates[i]->result == 0)
			files[count++] = group->files[i];
	os_file_sync_many(files, count, results);
	count = 0;
	for (size_t i = 0; i < group->count; i++) {
		if (group->files[i] < 0)
			continue;
		if (group->updates[i]->result == 0)
			fail(group, i, results[count++]);
		os_file_close(group->files[i]);
		group->files[i] = -1;
	}
	free(files);
	free(results);
}

/* Appends RECORDS; first ends a last line that a crash or a full disk cut. */
static int append(int file, struct str records)
{
	struct os_file_info info;
	ssize_t length;
	char last;
	int result = os_file_info(file, &info);

	if (result < 0)
		return result;
	if (info.size > 0) {
		length = os_file_read(file, &last, 1, info.size - 1);
		if (length < 0)
			return (int)length;
		if (length == 1 && last != '\n')
			result = os_file_append(file, "\n", 1);
	}
	if (result == 0 && records.length > 0)
		result = os_file_append(file, records.data, records.length);
	return result;
}

static void control_path(const struct group *group, size_t i, char path[QUEUE_PATH_SIZE])
{
	const struct queue_update *update = group->updates[i];

	if (update->is_queued)
		queue_store_path(group->store, QUEUE_TODO, mail_stage_name(update->stage),
				 update->number, path);
	else
		queue_store_path(group->store, QUEUE_INFO, NULL, update->number, path);
}

/* bounce/X/ID, whose directory is synced even if the name was there: it may
 * have been made by an update that failed before its end. */
static int open_bounce(struct group *group, size_t i)
{
	char path[QUEUE_PATH_SIZE];
	int file;

	queue_store_path(group->store, QUEUE_BOUNCE, NULL, group->updates[i]->number, path);
	add_directory(group, i, QUEUE_BOUNCE, NULL);
	file = os_file_open(group->store->directory, path, OS_FILE_WRITE | OS_FILE_APPEND);
	if (file != -ENOENT)
		return file;
	return os_file_open(group->store->directory, path,
			    OS_FILE_WRITE | OS_FILE_APPEND | OS_FILE_CREATE);
}

static void write_bounces(struct group *group)
{
	for (size_t i = 0; i < group->count; i++) {
		int file;

		if (group->updates[i]->result < 0 || group->updates[i]->bounce.length == 0)
			continue;
		file = open_bounce(group, i);
		if (file < 0) {
			fail(group, i, file);
			continue;
		}
		group->files[i] = file;
		fail(group, i, append(file, group->updates[i]->bounce));
	}
	sync_files(group);
	sync_directories(group);
}

static void write_controls(struct group *group)
{
	for (size_t i = 0; i < group->count; i++) {
		char path[QUEUE_PATH_SIZE];
		int file;

		if (group->updates[i]->result < 0 || group->updates[i]->control.length == 0)
			continue;
		control_path(group, i, path);
		file = os_file_open(group->store->directory, path, OS_FILE_WRITE | OS_FILE_APPEND);
		if (file < 0) {
			fail(group, i, file);
			continue;
		}
		group->files[i] = file;
		fail(group, i, append(file, group->updates[i]->control));
	}
	sync_files(group);
}

/* Links FROM to the update's name in PLACE. A name that is there already is
 * this file's from an attempt that was interrupted, or an ended message's. */
static int link_place(struct group *group, size_t i, const char *from, enum queue_place place,
		      const char *name)
{
	int directory = group->store->directory;
	struct os_file_info own;
	struct os_file_info there;
	char path[QUEUE_PATH_SIZE];
	int result;

	queue_store_path(group->store, place, name, group->updates[i]->number, path);
	add_directory(group, i, place, name);
	result = os_file_link(directory, from, path);
	if (result != -EEXIST)
		return result;
	result = os_file_info_at(directory, from, &own);
	if (result == 0)
		result = os_file_info_at(directory, path, &there);
	if (result < 0 || own.inode == there.inode)
		return result;
	result = os_file_unlink(directory, path);
	return result == 0 ? os_file_link(directory, from, path) : result;
}

/* info/ last: where it stands, the others do. */
static int link_all(struct group *group, size_t i)
{
	const struct queue_update *update = group->updates[i];
	char from[QUEUE_PATH_SIZE];
	int result = 0;

	control_path(group, i, from);
	for (size_t k = 0; result == 0 && k < update->link_service_count; k++)
		result = link_place(group, i, from, QUEUE_LOCAL, update->link_services[k]);
	if (result == 0 && update->link_remote)
		result = link_place(group, i, from, QUEUE_REMOTE, NULL);
	return result == 0 ? link_place(group, i, from, QUEUE_INFO, NULL) : result;
}

/* Records that are not written again now may be of an update whose sync failed
 * and may never have reached the disk. So S5 demands them in the same update. */
static int check(const struct queue_update *update)
{
	if (update->preprocess && (!update->is_queued || update->control.length == 0))
		return -EINVAL;
	if (update->control.length > 0 && update->control.data[update->control.length - 1] != '\n')
		return -EINVAL;
	if (update->bounce.length > 0 && update->bounce.data[update->bounce.length - 1] != '\n')
		return -EINVAL;
	return 0;
}

void queue_update_commit_group(struct queue_store *store, struct queue_update **updates,
			       size_t count)
{
	struct group group = {.store = store, .updates = updates, .count = count};

	group.files = memory_alloc((count + 1) * sizeof *group.files);
	for (size_t i = 0; i < count; i++) {
		group.files[i] = -1;
		updates[i]->result = check(updates[i]);
	}
	write_bounces(&group);
	write_controls(&group);
	for (size_t i = 0; i < count; i++)
		if (updates[i]->result == 0 && updates[i]->preprocess)
			fail(&group, i, link_all(&group, i));
	sync_directories(&group);
	free(group.files);
	free(group.directories.paths);
	free(group.directories.owners);
}
