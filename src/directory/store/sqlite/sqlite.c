// SPDX-License-Identifier: ISC
#include "directory/store/sqlite/sqlite.h"
#include "base/panic.h"
#include "directory/store/sqlite/internal.h"
#include "os/file/file.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void on_first_turn(void *context)
{
	struct sqlite_store *store = context;

	if (store->base.handler != NULL)
		store->base.handler->state(store->base.context, store->base.is_up);
}

static void sqlite_free(struct directory_store *base)
{
	struct sqlite_store *store = CONTAINER_OF(base, struct sqlite_store, base);

	if (store->waiting != NULL) {
		/* wait no longer: neither the end of this turn nor that of the writer will come */
		store->retry_until_us = 1;
		sqlite_commit(store);
	}
	os_task_cancel(store->loop, &store->first);
	os_task_cancel(store->loop, &store->commit);
	os_timer_free(store->poll);
	os_timer_free(store->retry);
	sqlite_close(store);
	os_timer_free(store->soon);
	arena_free(store->spare);
	buffer_clear(&store->scratch);
	buffer_clear(&store->away);
	free(store->path);
	free(store);
}

struct sqlite_store *sqlite_new(struct os_loop *loop, const char *path)
{
	static const struct directory_store_operations operations = {
		.get = sqlite_get,
		.list = sqlite_list,
		.change = sqlite_change,
		.missed = sqlite_missed,
		.begin = sqlite_begin,
		.end = sqlite_end,
		.free = sqlite_free,
		.count = sqlite_count,
	};
	struct sqlite_store *store = memory_alloc_zero(1, sizeof *store);

	/* memory statistics would cost a lock for each allocation; no effect if SQLite is in use
	 * already */
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	store->base.operations = &operations;
	store->base.fresh_us = INT64_MAX;
	store->base.is_up = true;
	store->loop = loop;
	for (unsigned table = DIRECTORY_NO_TABLE + 1; table < DIRECTORY_LISTED_TABLES; table++)
		store->schemas[table] = directory_schema_of(table);
	store->path = memory_copy_string(path);
	store->first = (struct os_task){.call = on_first_turn, .context = store};
	store->commit = (struct os_task){.call = sqlite_commit, .context = store};
	store->poll = os_timer_new(loop, sqlite_poll, store);
	store->retry = os_timer_new(loop, sqlite_commit, store);
	store->soon = os_timer_new(loop, sqlite_look, store);
	return store;
}

static void begin_polling_sqlite(struct sqlite_store *store)
{
	sqlite_poll(store);
	os_loop_defer(store->loop, &store->first);
}

int store_sqlite_open(struct os_loop *loop, const char *path, struct directory_store **store_out,
		      struct buffer *why)
{
	struct sqlite_store *store = sqlite_new(loop, path);
	int error = sqlite_open(store, why);

	if (error < 0) {
		sqlite_free(&store->base);
		return error;
	}
	begin_polling_sqlite(store);
	*store_out = &store->base;
	return 0;
}

int store_sqlite_open_followed(struct os_loop *loop, const char *path, bool is_known,
			       struct directory_store **store_out, struct buffer *why)
{
	struct sqlite_store *store = sqlite_new(loop, path);
	int error;

	store->is_followed = true;
	store->base.is_known = is_known;
	error = sqlite_open(store, why);
	if (error < 0 && is_known) {
		sqlite_file_away(store, why);
		store->base.is_up = false;
	} else if (error < 0) {
		sqlite_free(&store->base);
		return error;
	}
	begin_polling_sqlite(store);
	*store_out = &store->base;
	return 0;
}
