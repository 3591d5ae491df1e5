// SPDX-License-Identifier: ISC
#include "os/disk_cache/disk_cache.h"
#include "base/buffer.h"
#include "base/table.h"
#include "base/timestamp.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "os/worker.h"
#include <errno.h>
#include <stdlib.h>

#define NEW ".new"

enum { NAME_MOST = 253 };

static const int64_t LOG_EVERY_US = MINUTE_US;

/* A change that waits, or is being made. A later one of the same file replaces one that waits. */
struct change {
	struct buffer text;
	bool is_removal;
	int result;
	UT_hash_handle hh;
	char name[NAME_MOST + 1];
};

struct disk_cache {
	char *path;
	int directory;
	struct os_wakeup *wakeup;
	struct os_worker *worker;
	struct change *waiting; /* by name, in the order in which they came */
	struct change *current; /* in the hands of the thread */
	int64_t logged_us;      /* 0: never */
};

bool disk_cache_is_name(struct str name)
{
	if (name.length == 0 || name.length > NAME_MOST || name.data[0] == '.')
		return false;
	for (size_t i = 0; i < name.length; i++) {
		char byte = name.data[i];

		if (!(byte >= 'a' && byte <= 'z') && !(byte >= 'A' && byte <= 'Z') &&
		    !(byte >= '0' && byte <= '9') && byte != '-' && byte != '_' && byte != '.')
			return false;
	}
	return true;
}

/* --- in the thread, or after it --- */

static int write_disk_cache_file(int directory, const char *name, struct str text)
{
	int error = os_file_unlink(directory, NEW);
	int file;

	if (error < 0 && error != -ENOENT)
		return error;
	file = os_file_open(directory, NEW, OS_FILE_WRITE | OS_FILE_CREATE);
	if (file < 0)
		return file;
	error = os_file_write(file, text.data, text.length, 0);
	if (error == 0)
		error = os_file_sync(file);
	os_file_close(file);
	return error < 0 ? error : os_file_rename(directory, NEW, name);
}

static void make_change(void *context)
{
	const struct disk_cache *disk_cache = context;
	struct change *change = disk_cache->current;

	if (!change->is_removal)
		change->result = write_disk_cache_file(disk_cache->directory, change->name,
						       buffer_view(&change->text));
	else
		change->result = os_file_unlink(disk_cache->directory, change->name);
	if (change->is_removal && change->result == -ENOENT)
		change->result = 0;
}

/* --- in the loop --- */

static void log_result(struct disk_cache *disk_cache, const struct change *change)
{
	int64_t now_us = os_clock_monotonic_us();

	if (change->result == 0 ||
	    (disk_cache->logged_us != 0 && now_us - disk_cache->logged_us < LOG_EVERY_US))
		return;
	disk_cache->logged_us = now_us;
	log_event(EVENT_DISK_CACHE_ERROR, log_string(directory, disk_cache->path),
		  log_string(file, change->name), log_error(change->result));
}

static void take_next_change(struct disk_cache *disk_cache)
{
	disk_cache->current = disk_cache->waiting;
	HASH_DEL(disk_cache->waiting, disk_cache->current);
}

static void finish_disk_cache_change(struct disk_cache *disk_cache)
{
	log_result(disk_cache, disk_cache->current);
	buffer_clear(&disk_cache->current->text);
	free(disk_cache->current);
	disk_cache->current = NULL;
}

static void on_disk_cache_change_done(void *context)
{
	struct disk_cache *disk_cache = context;

	if (disk_cache->current == NULL || os_worker_is_busy(disk_cache->worker))
		return;
	finish_disk_cache_change(disk_cache);
	if (disk_cache->waiting == NULL)
		return;
	take_next_change(disk_cache);
	os_worker_start(disk_cache->worker);
}

static struct change *find_change(struct disk_cache *disk_cache, struct str name)
{
	struct change *change;

	HASH_FIND(hh, disk_cache->waiting, name.data, name.length, change);
	if (change != NULL)
		return change;
	change = memory_alloc_zero(1, sizeof *change);
	memcpy(change->name, name.data, name.length);
	HASH_ADD(hh, disk_cache->waiting, name[0], name.length, change);
	return change;
}

static void begin_disk_cache_change(struct disk_cache *disk_cache)
{
	if (disk_cache->current != NULL)
		return;
	take_next_change(disk_cache);
	os_worker_start(disk_cache->worker);
}

void disk_cache_put(struct disk_cache *disk_cache, struct str name, struct str text)
{
	struct change *change = find_change(disk_cache, name);

	change->is_removal = false;
	buffer_reset(&change->text);
	buffer_append_str(&change->text, text);
	begin_disk_cache_change(disk_cache);
}

void disk_cache_remove(struct disk_cache *disk_cache, struct str name)
{
	find_change(disk_cache, name)->is_removal = true;
	begin_disk_cache_change(disk_cache);
}

/* --- reading --- */

struct reading {
	const struct disk_cache *disk_cache;
	size_t size_max;
	void (*each)(void *context, struct str name, struct str text);
	void *context;
	int error; /* the first; 0: none */
};

static int read_open_disk_cache_file(const struct reading *reading, const char *name, int file)
{
	struct os_file_info info;
	int error = os_file_info(file, &info);
	ssize_t length;
	char *text;

	if (error < 0)
		return error;
	if (info.size > reading->size_max) {
		reading->each(reading->context, str_from(name), str_slice(NULL, 0));
		return 0;
	}
	text = memory_alloc((size_t)info.size + 1);
	length = os_file_read(file, text, (size_t)info.size, 0);
	if (length >= 0)
		reading->each(reading->context, str_from(name), str_slice(text, (size_t)length));
	free(text);
	return length < 0 ? (int)length : 0;
}

static int read_disk_cache_file(const struct reading *reading, const char *name)
{
	int file = os_file_open(reading->disk_cache->directory, name,
				OS_FILE_READ | OS_FILE_NO_FOLLOW | OS_FILE_NO_BLOCK);
	int error;

	if (file < 0)
		return file;
	error = read_open_disk_cache_file(reading, name, file);
	os_file_close(file);
	return error;
}

/* What is wrong with one file does not hide the others. */
static int read_name(void *context, const char *name)
{
	struct reading *reading = context;
	int error = disk_cache_is_name(str_from(name)) ? read_disk_cache_file(reading, name) : 0;

	if (reading->error == 0)
		reading->error = error;
	return 0;
}

int disk_cache_each(struct disk_cache *disk_cache, size_t size_max,
		    void (*each)(void *context, struct str name, struct str text), void *context)
{
	struct reading reading = {disk_cache, size_max, each, context, 0};
	int error = os_file_list(disk_cache->directory, ".", read_name, &reading);

	return error < 0 ? error : reading.error;
}

int disk_cache_open(struct os_loop *loop, const char *path, struct disk_cache **disk_cache_out)
{
	struct disk_cache *disk_cache;
	int error = os_file_make_directory(OS_FILE_HERE, path);
	int directory = os_file_open_directory(OS_FILE_HERE, path);

	if (directory < 0)
		return error < 0 && error != -EEXIST ? error : directory;
	disk_cache = memory_alloc_zero(1, sizeof *disk_cache);
	disk_cache->path = memory_copy_string(path);
	disk_cache->directory = directory;
	disk_cache->wakeup = os_wakeup_new(loop, on_disk_cache_change_done, disk_cache);
	error = os_worker_new(make_change, disk_cache, disk_cache->wakeup, &disk_cache->worker);
	if (error < 0) {
		disk_cache_close(disk_cache);
		return error;
	}
	*disk_cache_out = disk_cache;
	return 0;
}

void disk_cache_close(struct disk_cache *disk_cache)
{
	if (disk_cache == NULL)
		return;
	os_worker_free(disk_cache->worker);
	if (disk_cache->current != NULL)
		finish_disk_cache_change(disk_cache);
	while (disk_cache->waiting != NULL) {
		take_next_change(disk_cache);
		make_change(disk_cache);
		finish_disk_cache_change(disk_cache);
	}
	os_wakeup_free(disk_cache->wakeup);
	os_file_close(disk_cache->directory);
	free(disk_cache->path);
	free(disk_cache);
}
