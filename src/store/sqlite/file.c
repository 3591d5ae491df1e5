// SPDX-License-Identifier: ISC
/*
 * The file may be removed, replaced or truncated while it is open. An open file without a name is a
 * ghost: what is put into it is lost; an empty one is a directory in which nobody exists.
 */
#include "os/file.h"
#include "log/event.h"
#include "store/sqlite/internal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct sqlite_place place_of(const char *path)
{
	struct os_file_info info;

	if (os_file_info_at(OS_FILE_HERE, path, &info) < 0)
		return (struct sqlite_place){0};
	return (struct sqlite_place){info.device, info.inode};
}

static bool is_same(const struct sqlite_place *a, const struct sqlite_place *b)
{
	return a->inode != 0 && a->inode == b->inode && a->device == b->device;
}

static struct sqlite_place log_of(const struct sqlite_store *store, struct buffer *path)
{
	buffer_append_format(path, "%s-wal%c", store->path, '\0');
	return place_of(buffer_data(path));
}

/* The log of a file that is not the one of before: SQLite would take it for that of this one. */
static void remove_log(const struct sqlite_store *store)
{
	static const char *const ends[] = {"-wal", "-shm"};

	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		struct buffer path = {0};

		buffer_append_format(&path, "%s%s%c", store->path, ends[i], '\0');
		(void)!os_file_unlink(OS_FILE_HERE, buffer_data(&path));
		buffer_clear(&path);
	}
}

int sqlite_file_check(const struct sqlite_store *store, struct buffer *why)
{
	struct os_file_info info;
	int error;

	if (!store->base.is_known)
		return 0;
	error = os_file_info_at(OS_FILE_HERE, store->path, &info);
	if (error == -ENOENT)
		buffer_append_format(why, "%s: the file is gone", store->path);
	else if (error < 0)
		buffer_append_format(why, "%s: %s", store->path, strerror(-error));
	else if (info.size == 0) {
		remove_log(store); /* of pages that are gone */
		buffer_append_format(why, "%s: the file is empty", store->path);
		error = -ENODATA;
	}
	return error;
}

void sqlite_file_opened(struct sqlite_store *store)
{
	store->place = place_of(store->path);
	buffer_reset(&store->away);
}

bool sqlite_file_leave(struct sqlite_store *store)
{
	struct buffer path = {0};
	struct os_file_info info;
	struct sqlite_place now;
	int error;

	if (!store->is_followed || store->database == NULL)
		return false;
	error = os_file_info_at(OS_FILE_HERE, store->path, &info);
	now = (struct sqlite_place){info.device, info.inode};
	if (error == 0 && info.size > 0 && is_same(&now, &store->place))
		return false;
	store->log_place = log_of(store, &path);
	buffer_clear(&path);
	/* nothing is written to what it is now */
	(void)sqlite3_db_config(store->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite_close(store);
	store->base.is_up = false;
	if (store->base.handler != NULL)
		store->base.handler->state(store->base.context, false);
	return true;
}

void sqlite_file_away(struct sqlite_store *store, const struct buffer *why)
{
	if (str_equal(buffer_view(why), buffer_view(&store->away)))
		return;
	buffer_reset(&store->away);
	buffer_append_str(&store->away, buffer_view(why));
	log_event(EVENT_STORE_HELD, log_str("reason", buffer_view(why)));
}

/* SQLite leaves the log of a file that has lost its name. */
static void remove_old_log(struct sqlite_store *store)
{
	struct sqlite_place now = place_of(store->path);
	struct buffer path = {0};
	struct sqlite_place log = log_of(store, &path);

	buffer_clear(&path);
	if (now.inode != 0 && !is_same(&now, &store->place) && is_same(&log, &store->log_place))
		remove_log(store);
}

void sqlite_file_return(struct sqlite_store *store)
{
	struct buffer why = {0};

	remove_old_log(store);
	if (sqlite_open(store, &why) < 0) {
		sqlite_file_away(store, &why);
	} else {
		store->base.is_up = true;
		if (store->base.handler != NULL) {
			store->base.handler->reset(store->base.context);
			store->base.handler->state(store->base.context, true);
		}
	}
	buffer_clear(&why);
}
