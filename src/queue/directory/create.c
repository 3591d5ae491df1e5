// SPDX-License-Identifier: ISC
/*
 * Creating a queue. Its format file comes last, so a directory without one is not a queue; the next
 * process that finds it starts again and keeps what is there.
 */
#include "os/file/file.h"
#include "queue/handed.h"
#include "queue/internal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LOCK_MS = 30000 };

static const char *const plain_names[] = {"pid",
					  "mess",
					  "intd",
					  "todo",
					  "info",
					  "local",
					  "remote",
					  "bounce",
					  "trigger",
					  "lock",
					  QUEUE_DAMAGED,
					  QUEUE_LITTER,
					  QUEUE_HANDED_FOLDER,
					  QUEUE_PEERS_FOLDER};
static const char *const split_names[] = {"mess", "intd",   "todo/submit", "todo/arrive",
					  "info", "remote", "bounce"};
static const char *const lock_names[] = {"lock/queue", "lock/send"};

static int make_directory(int directory, const char *path)
{
	int result = os_file_make_directory(directory, path);

	return result == -EEXIST ? 0 : result;
}

static int parent_of_path(const char *path, char parent[QUEUE_PATH_SIZE])
{
	const char *slash = strrchr(path, '/');

	if (slash == NULL)
		return snprintf(parent, QUEUE_PATH_SIZE, ".");
	return snprintf(parent, QUEUE_PATH_SIZE, "%.*s", (int)(slash - path), path);
}

int queue_make_split(int directory, const char *name, uint32_t split)
{
	char path[QUEUE_PATH_SIZE];
	int result = make_directory(directory, name);

	for (uint32_t x = 0; result == 0 && x < split; x++) {
		snprintf(path, sizeof path, "%s/%u", name, x);
		result = make_directory(directory, path);
	}
	return result;
}

static int create_split(int directory, const char *name, uint32_t split)
{
	char path[QUEUE_PATH_SIZE];
	int result = queue_make_split(directory, name, split);

	if (result == 0)
		result = os_file_sync_directory(directory, name);
	if (result == 0) {
		parent_of_path(name, path);
		result = os_file_sync_directory(directory, path);
	}
	return result;
}

static int make_empty_file(int directory, const char *path)
{
	int file = os_file_open(directory, path, OS_FILE_WRITE | OS_FILE_CREATE);

	if (file < 0)
		return file == -EEXIST ? 0 : file;
	os_file_close(file);
	return 0;
}

static int make_locks(int directory)
{
	int result = os_file_make_pipe(directory, "lock/trigger");

	if (result == -EEXIST)
		result = 0;
	for (size_t i = 0; result == 0 && i < COUNT_OF(lock_names); i++)
		result = make_empty_file(directory, lock_names[i]);
	return result == 0 ? os_file_sync_directory(directory, "lock") : result;
}

static int write_format(int directory, uint32_t split)
{
	char text[64];
	int length = snprintf(text, sizeof text, "stagepost-queue 1\nsplit %u\n", split);
	int result = os_file_unlink(directory, "format.new");
	int file;

	if (result < 0 && result != -ENOENT)
		return result;
	file = os_file_open(directory, "format.new", OS_FILE_WRITE | OS_FILE_CREATE);
	if (file < 0)
		return file;
	result = os_file_write(file, text, (size_t)length, 0);
	if (result == 0)
		result = os_file_sync(file);
	os_file_close(file);
	if (result == 0)
		result = os_file_rename(directory, "format.new", "format");
	if (result == 0)
		result = os_file_sync_directory(directory, ".");
	if (result < 0)
		return result;
	/* a user who may not read the parent did not create our name in it */
	result = os_file_sync_directory(directory, "..");
	return result == -EACCES ? 0 : result;
}

/* A directory with other people's files in it does not become a queue. */
static int refuse_foreign(void *context, const char *name)
{
	(void)context;
	for (size_t i = 0; i < COUNT_OF(plain_names); i++)
		if (strcmp(name, plain_names[i]) == 0)
			return 0;
	/* the record of what the node has seen of its directory may exist already */
	return strcmp(name, "format.new") == 0 || strcmp(name, "lost+found") == 0 ||
			       strcmp(name, "directory") == 0
		       ? 0
		       : -ENOTEMPTY;
}

int queue_create_lacking(int directory, uint32_t split)
{
	int result = 0;

	for (size_t i = 0; result == 0 && i < COUNT_OF(plain_names); i++)
		result = make_directory(directory, plain_names[i]);
	for (size_t i = 0; result == 0 && i < COUNT_OF(split_names); i++)
		result = create_split(directory, split_names[i], split);
	if (result == 0)
		result = make_locks(directory);
	return result == 0 ? os_file_sync_directory(directory, ".") : result;
}

static int create_locked(int directory, uint32_t split)
{
	struct os_file_info info;
	int result = os_file_info_at(directory, "format", &info);

	if (result != -ENOENT)
		return result == 0 ? -EEXIST : result;
	result = os_file_list(directory, ".", refuse_foreign, NULL);
	if (result == 0)
		result = queue_create_lacking(directory, split);
	return result == 0 ? write_format(directory, split) : result;
}

/* Several processes may be the first to use the queue: one creates it, the others wait. */
int queue_create(int directory, uint32_t split)
{
	int lock = os_file_open_directory(directory, ".");
	int result;

	if (lock < 0)
		return lock;
	result = os_file_lock_within(lock, LOCK_MS);
	if (result == 0)
		result = create_locked(directory, split);
	os_file_close(lock);
	return result;
}
