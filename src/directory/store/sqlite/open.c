// SPDX-License-Identifier: ISC
/* Opens and closes the database file, and prepares its statements. */
#include "base/panic.h"
#include "directory/store/sqlite/internal.h"
#include "os/file/file.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_PART = 65536 };

/* The file is read through the page cache of the kernel (mmap); SQLite's own cache has only pages
 * of the log and of a change. */
static const char SETTINGS[] = "PRAGMA synchronous = FULL;"
			       "PRAGMA mmap_size = 1073741824; PRAGMA temp_store = MEMORY;"
			       "PRAGMA cache_size = -8192;";

/* Creates an empty file that only its owner can read: SQLite would create one that everybody can,
 * and it holds passwords. */
static int make_sqlite_file(const char *path)
{
	int file =
		os_file_open(OS_FILE_HERE, path, OS_FILE_WRITE | OS_FILE_CREATE | OS_FILE_PRIVATE);

	os_file_close(file);
	return file < 0 && file != -EEXIST ? file : 0;
}

static int fail_to_open_sqlite(struct sqlite_store *store, int error, struct buffer *why)
{
	int system = sqlite3_system_errno(store->database);

	if ((error & 0xff) == SQLITE_NOTADB) {
		buffer_append_format(why, "%s: this is no SQLite database" SQLITE_STORE_ADVICE,
				     store->path);
		return -EINVAL;
	}
	buffer_append_format(why, "%s: %s", store->path, sqlite_reason(store, error));
	if (system > 0)
		buffer_append_format(why, " (%s)", strerror(system));
	/* what it says of tables that are altered is a plain error */
	if (sqlite_is_damage(error) || error == SQLITE_ERROR)
		buffer_append_string(why, SQLITE_STORE_ADVICE);
	return sqlite_errno(store, error);
}

static int open_sqlite_database(struct sqlite_store *store, struct buffer *why)
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
	return error == SQLITE_OK ? 0 : fail_to_open_sqlite(store, error, why);
}

/* Fails on file systems without shared memory, which WAL needs. */
static int take_log(void *is_wal, int columns, char **texts, char **names)
{
	(void)columns;
	(void)names;
	*(bool *)is_wal = strcmp(texts[0], "wal") == 0;
	return 0;
}

static int write_log_again(struct sqlite_store *store)
{
	unsigned char bytes[LOG_PART];
	sqlite3_file *log = NULL;
	sqlite3_int64 size = 0;
	int error = sqlite3_file_control(store->database, "main", SQLITE_FCNTL_JOURNAL_POINTER,
					 (void *)&log);

	if (error == SQLITE_OK && (log == NULL || log->pMethods == NULL))
		return SQLITE_OK; /* there is none */
	if (error == SQLITE_OK)
		error = log->pMethods->xFileSize(log, &size);
	for (sqlite3_int64 at = 0; error == SQLITE_OK && at < size; at += LOG_PART) {
		int count = size - at < LOG_PART ? (int)(size - at) : LOG_PART;

		error = log->pMethods->xRead(log, bytes, count, at);
		if (error == SQLITE_OK)
			error = log->pMethods->xWrite(log, bytes, count, at);
	}
	return error == SQLITE_OK && size > 0 ? log->pMethods->xSync(log, SQLITE_SYNC_FULL) : error;
}

/* What a writer could not sync before its end is in the log of writes, and is read from there as
 * if it were durable. It is made so, before anybody has seen it. The kernel takes bytes whose sync
 * failed for durable, so they are written again, while nobody else writes. Only then they may be
 * copied to the database: if a power failure left the log's first part alone, that would be applied
 * to a database that is newer. */
static int sync_content(struct sqlite_store *store)
{
	int error = sqlite3_exec(store->database, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	if ((error & 0xff) == SQLITE_BUSY)
		return SQLITE_OK; /* another process writes, and will copy it */
	if (error == SQLITE_OK) {
		error = write_log_again(store);
		(void)sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
	}
	if (error == SQLITE_OK)
		error = sqlite3_wal_checkpoint_v2(store->database, NULL, SQLITE_CHECKPOINT_PASSIVE,
						  NULL, NULL);
	return (error & 0xff) == SQLITE_BUSY ? SQLITE_OK : error; /* another process does it */
}

/* With the name of its log of writes the database loses all changes in it. SQLite syncs the name,
 * but ignores an error. */
static int sync_names_of_sqlite_file(const struct sqlite_store *store, struct buffer *why)
{
	const char *slash = strrchr(store->path, '/');
	char *folder = memory_copy_string(slash == NULL ? "." : store->path);
	int error;

	if (slash != NULL)
		folder[slash == store->path ? 1 : slash - store->path] = '\0';
	error = os_file_sync_directory(OS_FILE_HERE, folder);
	if (error < 0)
		buffer_append_format(why, "%s: %s", folder, strerror(-error));
	free(folder);
	return error;
}

static int set_up_sqlite_database(struct sqlite_store *store, struct buffer *why)
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
	if (error == SQLITE_OK)
		error = sync_content(store);
	return error == SQLITE_OK ? sync_names_of_sqlite_file(store, why)
				  : fail_to_open_sqlite(store, error, why);
}

static int prepare_sqlite_database(struct sqlite_store *store, struct buffer *why)
{
	struct arena *arena = arena_new();
	struct str identity;
	int error = SQLITE_OK;

	/* triggers are for others: our own changes are numbered without them */
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
	return error == SQLITE_OK ? 0 : fail_to_open_sqlite(store, error, why);
}

void sqlite_close(struct sqlite_store *store)
{
	sqlite_unwatch(store);
	for (int table = 0; table < DIRECTORY_LISTED_TABLES; table++) {
		for (int i = 0; i < SQLITE_STATEMENTS; i++) {
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
	store->data_version = 0; /* it is this connection's count, whatever the next one reads */
}

int sqlite_open(struct sqlite_store *store, struct buffer *why)
{
	int error = sqlite_file_check(store, why);

	if (error == 0 && !store->base.is_known) {
		error = make_sqlite_file(store->path);
		if (error < 0)
			buffer_append_format(why, "%s: %s", store->path, strerror(-error));
	}
	if (error == 0)
		error = open_sqlite_database(store, why);
	if (error == 0)
		error = sqlite_schema_prepare(store, why);
	if (error == 0)
		error = set_up_sqlite_database(store, why);
	if (error == 0)
		error = prepare_sqlite_database(store, why);
	if (error == 0)
		error = sqlite_sum_check_total(store, why);
	if (error < 0)
		sqlite_close(store);
	else
		sqlite_file_opened(store);
	return error;
}
