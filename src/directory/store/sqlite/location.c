// SPDX-License-Identifier: ISC
/* The identity of the file at the path, and of its log. */
#include "directory/store/sqlite/internal.h"
#include "log/event.h"
#include "os/file/file.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct sqlite_location sqlite_location_of(const char *path)
{
	struct os_file_info info;

	if (os_file_info_at(OS_FILE_HERE, path, &info) < 0)
		return (struct sqlite_location){0};
	return (struct sqlite_location){info.device, info.inode};
}

bool sqlite_location_is_same(const struct sqlite_location *a, const struct sqlite_location *b)
{
	return a->inode != 0 && a->inode == b->inode && a->device == b->device;
}

struct sqlite_location sqlite_location_of_log(const struct sqlite_store *store, struct buffer *path)
{
	buffer_append_format(path, "%s-wal%c", store->path, '\0');
	return sqlite_location_of(buffer_data(path));
}

void sqlite_location_remove_log(const struct sqlite_store *store)
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
		sqlite_location_remove_log(store); /* its pages belong to a truncated file */
		buffer_append_format(why, "%s: the file is empty", store->path);
		error = -ENODATA;
	}
	return error;
}

void sqlite_file_opened(struct sqlite_store *store)
{
	store->location = sqlite_location_of(store->path);
	store->is_damage_told = false;
	store->damage_told_count = 0;
	store->lacks_sums = true;
	buffer_reset(&store->away);
	store->base.held = NULL;
}

void sqlite_file_away(struct sqlite_store *store, const struct buffer *why)
{
	if (str_equal(buffer_view(why), buffer_view(&store->away)))
		return;
	buffer_reset(&store->away);
	buffer_append_str(&store->away, buffer_view(why));
	buffer_append_byte(&store->away, '\0');
	buffer_truncate(&store->away, store->away.length - 1);
	store->base.held = buffer_data(&store->away);
	log_event(EVENT_STORE_HELD, log_str(reason, buffer_view(why)));
}
