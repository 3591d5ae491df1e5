// SPDX-License-Identifier: ISC
#include "queue/store.h"
#include "base/panic.h"
#include "os/file/file.h"
#include "queue/control/control.h"
#include "queue/internal.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FORMAT_SIZE_MAX = 256,
	/* Inodes that are left when new mail is refused: one for so many bytes of the reserve, at
	 * most this part of all, and at least so many. */
	BYTES_OF_INODE = 16384, /* of mke2fs */
	RESERVED_PART = 8,
	SPARE_INODES = 100,
};

static const char format_line[] = "stagepost-queue 1\n";

static int explain_queue_error(struct buffer *reason, int error, const char *what)
{
	if (reason != NULL)
		buffer_append_format(reason, "%s: %s", what, strerror(-error));
	return error;
}

/* "stagepost-queue 1\nsplit N\n", N in 1..QUEUE_SPLIT_MAX */
static bool parse_format(struct str text, uint32_t *split_out)
{
	struct str line;
	uint64_t split;

	if (!str_starts_with(text, str_from(format_line)))
		return false;
	text = str_skip(text, sizeof format_line - 1);
	if (!str_split(&text, '\n', &line) || !str_starts_with(line, STR("split ")))
		return false;
	if (!str_to_u64(str_skip(line, 6), &split) || split < 1 || split > QUEUE_SPLIT_MAX)
		return false;
	*split_out = (uint32_t)split;
	return true;
}

static int read_queue_format(int directory, uint32_t *split_out, struct buffer *reason)
{
	char text[FORMAT_SIZE_MAX];
	ssize_t length;
	int file = os_file_open(directory, "format", OS_FILE_READ);

	if (file < 0)
		return file;
	length = os_file_read(file, text, sizeof text, 0);
	os_file_close(file);
	if (length < 0)
		return explain_queue_error(reason, (int)length,
					   "cannot read the queue's format file");
	if (parse_format(str_slice(text, (size_t)length), split_out))
		return 0;
	if (reason != NULL)
		buffer_append_string(reason, "the queue's format file is not of format 1");
	return -EPROTO;
}

static int open_or_create_queue(const char *path, const struct queue_options *options,
				uint32_t *split, struct buffer *reason)
{
	int directory = os_file_open_directory(OS_FILE_HERE, path);
	int result;

	if (directory == -ENOENT && options->create) {
		result = os_file_make_directory(OS_FILE_HERE, path);
		if (result < 0 && result != -EEXIST)
			return explain_queue_error(reason, result,
						   "cannot make the queue directory");
		directory = os_file_open_directory(OS_FILE_HERE, path);
	}
	if (directory < 0)
		return explain_queue_error(reason, directory, "cannot open the queue directory");
	result = read_queue_format(directory, split, reason);
	if (result == -ENOENT && options->create) {
		*split = options->split > 0 ? options->split : QUEUE_SPLIT_DEFAULT;
		result = queue_create(directory, *split);
		if (result == -EEXIST)
			result = read_queue_format(directory, split, reason);
		else if (result < 0)
			explain_queue_error(reason, result, "cannot make a queue in the directory");
	} else if (result == -ENOENT) {
		if (reason != NULL)
			buffer_append_string(reason, "the directory holds no queue");
		result = -EPROTO;
	}
	if (result == 0)
		return directory;
	os_file_close(directory);
	return result;
}

static int check_queue_filesystem(int directory, bool unsafe, struct buffer *reason)
{
	int result = queue_filesystem_check(directory, reason);

	if (result == 0)
		result = queue_filesystem_probe(directory, reason);
	if (result == -ENOENT) {
		if (reason != NULL)
			buffer_append_string(reason, "directories of the queue are missing: run "
						     "\"stagepost queue repair\"");
		return -EPROTO;
	}
	return result == -ENOTSUP && unsafe ? 0 : result;
}

int queue_store_check_place(const char *path, struct buffer *reason)
{
	int directory = os_file_open_directory(OS_FILE_HERE, path);
	struct str parent = str_from(path);
	ptrdiff_t slash = str_find_last(parent, '/');
	char copy[PATH_MAX];
	int result;

	if (directory == -ENOENT && slash > 0 && slash < PATH_MAX) {
		memcpy(copy, path, (size_t)slash);
		copy[slash] = '\0';
		directory = os_file_open_directory(OS_FILE_HERE, copy);
	}
	if (directory < 0)
		return directory;
	result = queue_filesystem_check(directory, reason);
	os_file_close(directory);
	return result;
}

/* A queue with a filesystem of its own loses nothing if all of it is synced. */
static enum queue_sync choose_sync(int directory, enum queue_sync wanted)
{
	struct os_file_info own;
	struct os_file_info parent;

	if (wanted != QUEUE_SYNC_AUTO)
		return wanted;
	if (os_file_info(directory, &own) < 0 || os_file_info_at(directory, "..", &parent) < 0)
		return QUEUE_SYNC_FILES;
	return own.device != parent.device ? QUEUE_SYNC_FILESYSTEM : QUEUE_SYNC_FILES;
}

int queue_store_open(const char *path, const struct queue_options *options,
		     struct queue_store **store_out, struct buffer *reason)
{
	struct queue_store *store;
	uint32_t split = 0;
	int directory;
	int result;

	if (options->split > QUEUE_SPLIT_MAX)
		return -EINVAL;
	directory = open_or_create_queue(path, options, &split, reason);
	if (directory < 0)
		return directory;
	result = options->make_lacking ? queue_create_lacking(directory, split) : 0;
	if (result == 0 && !options->read_only)
		result = check_queue_filesystem(directory, options->unsafe, reason);
	if (result < 0) {
		os_file_close(directory);
		return result;
	}
	store = memory_alloc_zero(1, sizeof *store);
	store->directory = directory;
	store->split = split;
	store->has_settled = memory_alloc_zero(split, sizeof *store->has_settled);
	store->sync = choose_sync(directory, options->sync);
	/* with order one journal commit a group suffices, with syncs there are two */
	store->order_watch = options->sync == QUEUE_SYNC_AUTO ? os_file_order_watch(directory) : -1;
	store->has_order = store->order_watch >= 0;
	os_boot(store->boot);
	*store_out = store;
	return 0;
}

void queue_store_close(struct queue_store *store)
{
	if (store == NULL)
		return;
	for (size_t i = 0; i < store->lock_count; i++)
		os_file_close(store->locks[i]);
	os_file_close(store->order_watch);
	os_file_close(store->directory);
	free(store->has_settled);
	free(store);
}

int queue_store_directory(const struct queue_store *store)
{
	return store->directory;
}

uint32_t queue_store_split(const struct queue_store *store)
{
	return store->split;
}

enum queue_sync queue_store_sync(const struct queue_store *store)
{
	return store->order_watch >= 0 && store->has_order ? QUEUE_SYNC_ORDERED : store->sync;
}

bool queue_store_kept_order(struct queue_store *store)
{
	if (store->order_watch < 0)
		return store->sync == QUEUE_SYNC_ORDERED;
	store->has_order = os_file_order_holds(store->order_watch);
	return store->has_order;
}

enum queue_sync queue_store_begin_sync(struct queue_store *store)
{
	if (!store->has_order)
		(void)queue_store_kept_order(store);
	return queue_store_sync(store);
}

enum queue_sync queue_sync_of(enum config_sync sync)
{
	switch (sync) {
	case CONFIG_SYNC_FILES:
		return QUEUE_SYNC_FILES;
	case CONFIG_SYNC_FILESYSTEM:
		return QUEUE_SYNC_FILESYSTEM;
	case CONFIG_SYNC_ORDERED:
		return QUEUE_SYNC_ORDERED;
	case CONFIG_SYNC_AUTO:
		break;
	}
	return QUEUE_SYNC_AUTO;
}

const char *queue_sync_name(enum queue_sync sync)
{
	static const char *const names[] = {
		[QUEUE_SYNC_AUTO] = "auto",
		[QUEUE_SYNC_FILES] = "files",
		[QUEUE_SYNC_FILESYSTEM] = "filesystem",
		[QUEUE_SYNC_ORDERED] = "ordered",
	};

	return names[sync];
}

int queue_store_add_service(struct queue_store *store, const char *service)
{
	char name[QUEUE_PATH_SIZE];

	if (!queue_service_is_valid(str_from(service)))
		return -EINVAL;
	snprintf(name, sizeof name, "local/%s", service);
	return queue_make_split(store->directory, name, store->split);
}

int queue_store_lock(struct queue_store *store, const char *name)
{
	char path[QUEUE_PATH_SIZE];
	int result;
	int file;

	if (store->lock_count == QUEUE_LOCKS_MAX)
		return -EMFILE;
	snprintf(path, sizeof path, "lock/%s", name);
	file = os_file_open(store->directory, path, OS_FILE_WRITE);
	if (file < 0)
		return file;
	result = os_file_lock(file);
	if (result < 0) {
		os_file_close(file);
		return result;
	}
	store->locks[store->lock_count++] = file;
	return 0;
}

static int pull_trigger(const struct queue_store *store)
{
	int file = os_file_open(store->directory, "lock/trigger", OS_FILE_WRITE | OS_FILE_NO_BLOCK);
	int result = file;

	if (file >= 0)
		result = os_file_append(file, "", 1);
	os_file_close(file);
	return result;
}

/* A listener that misses this finds out only at the next rescan. A full pipe wakes its reader as
 * well as one more byte would; -ENXIO: nobody listens. */
void queue_store_pull_trigger(struct queue_store *store)
{
	enum { TRIES = 3 };

	for (unsigned i = 0; i < TRIES; i++) {
		int result = pull_trigger(store);

		if (result >= 0 || result == -EAGAIN || result == -ENXIO || result == -ENOENT)
			return;
	}
}

/* A record, a bounce and what is rebuilt take a few blocks and inodes: as many of these as there
 * are in a usual filesystem, but not most of one that has few. */
static uint64_t inodes_for(uint64_t reserve, const struct os_file_space *space)
{
	uint64_t usual = reserve / BYTES_OF_INODE;
	uint64_t most = space->inodes / RESERVED_PART;
	uint64_t count = usual < most ? usual : most;

	return count > SPARE_INODES ? count : SPARE_INODES;
}

int queue_store_has_room(struct queue_store *store, uint64_t size, uint64_t reserve)
{
	struct os_file_space space;
	int result = os_file_space(store->directory, &space);

	if (result < 0)
		return result;
	if (space.free_bytes < reserve || space.free_bytes - reserve < size ||
	    space.free_inodes < inodes_for(reserve, &space))
		return -ENOSPC;
	return 0;
}

int queue_store_has_bytes(struct queue_store *store, uint64_t bytes)
{
	struct os_file_space space;
	int result = os_file_space(store->directory, &space);

	if (result < 0)
		return result;
	return space.free_bytes < bytes ? -ENOSPC : 0;
}
