// SPDX-License-Identifier: ISC
#include "os/shelf/shelf.h"
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

struct shelf {
	char *path;
	int directory;
	struct os_wakeup *wakeup;
	struct os_worker *worker;
	struct change *waiting; /* by name, in the order in which they came */
	struct change *current; /* in the hands of the thread */
	int64_t logged_us;      /* 0: never */
};

bool shelf_is_name(struct str name)
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

static int write_shelf_file(int directory, const char *name, struct str text)
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
	const struct shelf *shelf = context;
	struct change *change = shelf->current;

	if (!change->is_removal)
		change->result = write_shelf_file(shelf->directory, change->name,
						  buffer_view(&change->text));
	else
		change->result = os_file_unlink(shelf->directory, change->name);
	if (change->is_removal && change->result == -ENOENT)
		change->result = 0;
}

/* --- in the loop --- */

static void log_result(struct shelf *shelf, const struct change *change)
{
	int64_t now_us = os_clock_monotonic_us();

	if (change->result == 0 ||
	    (shelf->logged_us != 0 && now_us - shelf->logged_us < LOG_EVERY_US))
		return;
	shelf->logged_us = now_us;
	log_event(EVENT_SHELF_ERROR, log_string(directory, shelf->path),
		  log_string(file, change->name), log_error(change->result));
}

static void change_free(struct change *change)
{
	buffer_clear(&change->text);
	free(change);
}

static void take_next_change(struct shelf *shelf)
{
	shelf->current = shelf->waiting;
	HASH_DEL(shelf->waiting, shelf->current);
}

static void finish_shelf_change(struct shelf *shelf)
{
	log_result(shelf, shelf->current);
	change_free(shelf->current);
	shelf->current = NULL;
}

static void on_shelf_change_done(void *context)
{
	struct shelf *shelf = context;

	if (shelf->current == NULL || os_worker_is_busy(shelf->worker))
		return;
	finish_shelf_change(shelf);
	if (shelf->waiting == NULL)
		return;
	take_next_change(shelf);
	os_worker_start(shelf->worker);
}

static struct change *find_change(struct shelf *shelf, struct str name)
{
	struct change *change;

	HASH_FIND(hh, shelf->waiting, name.data, name.length, change);
	if (change != NULL)
		return change;
	change = memory_alloc_zero(1, sizeof *change);
	memcpy(change->name, name.data, name.length);
	HASH_ADD(hh, shelf->waiting, name[0], name.length, change);
	return change;
}

static void begin_shelf_change(struct shelf *shelf)
{
	if (shelf->current != NULL)
		return;
	take_next_change(shelf);
	os_worker_start(shelf->worker);
}

void shelf_put(struct shelf *shelf, struct str name, struct str text)
{
	struct change *change = find_change(shelf, name);

	change->is_removal = false;
	buffer_reset(&change->text);
	buffer_append_str(&change->text, text);
	begin_shelf_change(shelf);
}

void shelf_remove(struct shelf *shelf, struct str name)
{
	find_change(shelf, name)->is_removal = true;
	begin_shelf_change(shelf);
}

/* --- reading --- */

struct reading {
	const struct shelf *shelf;
	size_t size_max;
	void (*each)(void *context, struct str name, struct str text);
	void *context;
	int error; /* the first; 0: none */
};

static int read_open_shelf_file(const struct reading *reading, const char *name, int file)
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

static int read_shelf_file(const struct reading *reading, const char *name)
{
	int file = os_file_open(reading->shelf->directory, name,
				OS_FILE_READ | OS_FILE_NO_FOLLOW | OS_FILE_NO_BLOCK);
	int error;

	if (file < 0)
		return file;
	error = read_open_shelf_file(reading, name, file);
	os_file_close(file);
	return error;
}

/* What is wrong with one file does not hide the others. */
static int read_name(void *context, const char *name)
{
	struct reading *reading = context;
	int error = shelf_is_name(str_from(name)) ? read_shelf_file(reading, name) : 0;

	if (reading->error == 0)
		reading->error = error;
	return 0;
}

int shelf_each(struct shelf *shelf, size_t size_max,
	       void (*each)(void *context, struct str name, struct str text), void *context)
{
	struct reading reading = {shelf, size_max, each, context, 0};
	int error = os_file_list(shelf->directory, ".", read_name, &reading);

	return error < 0 ? error : reading.error;
}

int shelf_open(struct os_loop *loop, const char *path, struct shelf **shelf_out)
{
	struct shelf *shelf;
	int error = os_file_make_directory(OS_FILE_HERE, path);
	int directory = os_file_open_directory(OS_FILE_HERE, path);

	if (directory < 0)
		return error < 0 && error != -EEXIST ? error : directory;
	shelf = memory_alloc_zero(1, sizeof *shelf);
	shelf->path = memory_copy_string(path);
	shelf->directory = directory;
	shelf->wakeup = os_wakeup_new(loop, on_shelf_change_done, shelf);
	error = os_worker_new(make_change, shelf, shelf->wakeup, &shelf->worker);
	if (error < 0) {
		shelf_close(shelf);
		return error;
	}
	*shelf_out = shelf;
	return 0;
}

void shelf_close(struct shelf *shelf)
{
	if (shelf == NULL)
		return;
	os_worker_free(shelf->worker);
	if (shelf->current != NULL)
		finish_shelf_change(shelf);
	while (shelf->waiting != NULL) {
		take_next_change(shelf);
		make_change(shelf);
		finish_shelf_change(shelf);
	}
	os_wakeup_free(shelf->wakeup);
	os_file_close(shelf->directory);
	free(shelf->path);
	free(shelf);
}
