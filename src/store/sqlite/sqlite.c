// SPDX-License-Identifier: ISC
#include "store/sqlite/sqlite.h"
#include "base/panic.h"
#include "os/file.h"
#include "store/sqlite/internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Pages of the file are read where the kernel has them; what is in the log of writes, and
 * what a change needs, is in the cache. */
static const char SETTINGS[] = "PRAGMA synchronous = FULL;"
			       "PRAGMA mmap_size = 1073741824; PRAGMA temp_store = MEMORY;"
			       "PRAGMA cache_size = -8192;";

/* An empty file, where there is none, that only its owner may read: SQLite would make
 * one that everybody may, and it has passwords. */
static int make_file(const char *path)
{
	int file =
		os_file_open(OS_FILE_HERE, path, OS_FILE_WRITE | OS_FILE_CREATE | OS_FILE_PRIVATE);

	os_file_close(file);
	return file < 0 && file != -EEXIST ? file : 0;
}

static int fail(struct sqlite_store *store, int error, struct buffer *why)
{
	int system = sqlite3_system_errno(store->database);

	if ((error & 0xff) == SQLITE_NOTADB) {
		buffer_append_format(why, "%s: this is no SQLite database", store->path);
		return -EINVAL;
	}
	buffer_append_format(why, "%s: %s", store->path, sqlite3_errmsg(store->database));
	if (system > 0)
		buffer_append_format(why, " (%s)", strerror(system));
	return sqlite_errno(store, error);
}

static int open_database(struct sqlite_store *store, struct buffer *why)
{
	int error = sqlite3_open_v2(
		store->path, &store->database,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);

	if (store->database == NULL)
		panic("no memory for SQLite");
	if (error == SQLITE_OK)
		error = sqlite3_busy_timeout(store->database, SQLITE_STORE_BUSY_MS);
	if (error == SQLITE_OK)
		error = sqlite3_exec(store->database, "SELECT count(*) FROM sqlite_schema", NULL,
				     NULL, NULL);
	return error == SQLITE_OK ? 0 : fail(store, error, why);
}

/* Some filesystems have no memory that processes share. */
static int take_log(void *is_wal, int columns, char **texts, char **names)
{
	(void)columns;
	(void)names;
	*(bool *)is_wal = strcmp(texts[0], "wal") == 0;
	return 0;
}

static int set_up(struct sqlite_store *store, struct buffer *why)
{
	bool is_wal = false;
	int error =
		sqlite3_exec(store->database, "PRAGMA journal_mode = WAL", take_log, &is_wal, NULL);

	if (error == SQLITE_OK && !is_wal) {
		buffer_append_format(why, "%s: the filesystem allows SQLite no log of writes (WAL)",
				     store->path);
		return -EINVAL;
	}
	if (error == SQLITE_OK)
		error = sqlite3_exec(store->database, SETTINGS, NULL, NULL, NULL);
	return error == SQLITE_OK ? 0 : fail(store, error, why);
}

static int prepare(struct sqlite_store *store, struct buffer *why)
{
	struct arena *arena = arena_new();
	struct str identity;
	int error = SQLITE_OK;

	/* our own changes are numbered without them */
	if (error == SQLITE_OK)
		error = sqlite3_db_config(store->database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	if (error == SQLITE_OK)
		error = sqlite_table_prepare(store);
	if (error == SQLITE_OK)
		error = sqlite_meta(store, &store->base.version, &identity, arena);
	if (error == SQLITE_OK)
		snprintf(store->base.identity, sizeof store->base.identity, STR_FORMAT,
			 STR_ARGUMENTS(identity));
	arena_free(arena);
	return error == SQLITE_OK ? 0 : fail(store, error, why);
}

static void on_first_turn(void *context)
{
	struct sqlite_store *store = context;

	if (store->base.handler != NULL)
		store->base.handler->state(store->base.context, store->base.is_up);
}

void sqlite_close(struct sqlite_store *store)
{
	sqlite_unwatch(store);
	for (int table = 0; table < DIRECTORY_TABLES; table++) {
		for (int i = 0; i < ROW_STATEMENTS; i++) {
			(void)sqlite3_finalize(store->rows[table][i]);
			store->rows[table][i] = NULL;
		}
	}
	for (int i = 0; i < DATA_STATEMENTS; i++) {
		(void)sqlite3_finalize(store->data[i]);
		store->data[i] = NULL;
	}
	(void)sqlite3_close(store->database);
	store->database = NULL;
	store->is_reading = false;
}

int sqlite_open(struct sqlite_store *store, struct buffer *why)
{
	int error = sqlite_file_check(store, why);

	if (error == 0 && !store->base.is_known) {
		error = make_file(store->path);
		if (error < 0)
			buffer_append_format(why, "%s: %s", store->path, strerror(-error));
	}
	if (error == 0)
		error = open_database(store, why);
	if (error == 0)
		error = sqlite_schema_prepare(store, why);
	if (error == 0)
		error = set_up(store, why);
	if (error == 0)
		error = prepare(store, why);
	if (error < 0)
		sqlite_close(store);
	else
		sqlite_file_opened(store);
	return error;
}

static void sqlite_free(struct directory_store *base)
{
	struct sqlite_store *store = CONTAINER_OF(base, struct sqlite_store, base);

	if (store->waiting != NULL) {
		/* the end of this turn will not come, nor will that of whoever writes */
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

static struct sqlite_store *store_new(struct os_loop *loop, const char *path)
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

	/* counting its memory would cost a lock at each allocation; where SQLite is in use
	 * already this changes nothing */
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	store->base.operations = &operations;
	store->base.fresh_us = INT64_MAX;
	store->base.is_up = true;
	store->loop = loop;
	store->path = memory_copy_string(path);
	store->first = (struct os_task){.call = on_first_turn, .context = store};
	store->commit = (struct os_task){.call = sqlite_commit, .context = store};
	store->poll = os_timer_new(loop, sqlite_poll, store);
	store->retry = os_timer_new(loop, sqlite_commit, store);
	store->soon = os_timer_new(loop, sqlite_look, store);
	return store;
}

static void begin(struct sqlite_store *store)
{
	sqlite_poll(store);
	os_loop_defer(store->loop, &store->first);
}

int store_sqlite_open(struct os_loop *loop, const char *path, struct directory_store **store_out,
		      struct buffer *why)
{
	struct sqlite_store *store = store_new(loop, path);
	int error = sqlite_open(store, why);

	if (error < 0) {
		sqlite_free(&store->base);
		return error;
	}
	begin(store);
	*store_out = &store->base;
	return 0;
}

int store_sqlite_open_followed(struct os_loop *loop, const char *path, bool is_known,
			       struct directory_store **store_out, struct buffer *why)
{
	struct sqlite_store *store = store_new(loop, path);
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
	begin(store);
	*store_out = &store->base;
	return 0;
}
