// SPDX-License-Identifier: ISC
/*
 * The file may be removed, replaced or truncated while it is open. What is written to an open file
 * that has lost its name is lost, and an empty file is a directory without addresses.
 */
#include "os/file/file.h"
#include "directory/store/sqlite/internal.h"
#include "log/event.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

bool sqlite_file_leave(struct sqlite_store *store)
{
	struct buffer path = {0};
	struct os_file_info info;
	struct sqlite_location now;
	int error;

	if (!store->is_followed || store->database == NULL)
		return false;
	error = os_file_info_at(OS_FILE_HERE, store->path, &info);
	now = (struct sqlite_location){info.device, info.inode};
	if (error == 0 && info.size > 0 && sqlite_location_is_same(&now, &store->location))
		return false;
	store->log_location = sqlite_location_of_log(store, &path);
	buffer_clear(&path);
	/* nothing must be written to the file any more */
	(void)sqlite3_db_config(store->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite_close(store);
	store->base.is_up = false;
	if (store->base.handler != NULL)
		store->base.handler->state(store->base.context, false);
	return true;
}

/* SQLite does not remove the log of a file that has lost its name. */
static void remove_old_log(struct sqlite_store *store)
{
	struct sqlite_location now = sqlite_location_of(store->path);
	struct buffer path = {0};
	struct sqlite_location log = sqlite_location_of_log(store, &path);

	buffer_clear(&path);
	if (now.inode != 0 && !sqlite_location_is_same(&now, &store->location) &&
	    sqlite_location_is_same(&log, &store->log_location))
		sqlite_location_remove_log(store);
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
