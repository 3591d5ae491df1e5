// SPDX-License-Identifier: ISC
/* Opens the file, and says what its errors are. */
#include "base/panic.h"
#include "filing/record/sqlite/internal.h"
#include "os/clock.h"
#include "os/file/file.h"
#include <errno.h>
#include <stdlib.h>

/* SQLite's own handler would sleep for up to 100 ms while the lock comes and goes. */
static int wait_for_others(void *context, int count)
{
	(void)context;
	if (count >= RECORD_SQLITE_PATIENCE_MS)
		return 0;
	os_clock_pause_ms(1);
	return 1;
}

/* The system's error behind ERROR; 0: none. Of a commit SQLite does not keep it, but the log of
 * writes does. */
static int system_error(const struct record_sqlite *sqlite, int error)
{
	int system = sqlite3_system_errno(sqlite->database);
	sqlite3_file *log = NULL;

	if (system == 0 && (error & 0xff) == SQLITE_IOERR &&
	    sqlite3_file_control(sqlite->database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) ==
		    SQLITE_OK &&
	    log != NULL && log->pMethods != NULL)
		(void)log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &system);
	return system;
}

static int errno_of(int error, int system)
{
	switch (error & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -ETIMEDOUT;
	case SQLITE_CONSTRAINT: /* what it refers to was removed meanwhile */
		return -EDEADLK;
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
		return -EPROTO;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	default:
		if (system == ENOSPC || system == EDQUOT)
			return -ENOSPC;
		return system == EACCES || system == EROFS ? -system : -EIO;
	}
}

int record_sqlite_fail(struct record_sqlite *sqlite, int error)
{
	int system = system_error(sqlite, error);

	if ((error & 0xff) == SQLITE_NOTADB || (error & 0xff) == SQLITE_CORRUPT)
		return record_sql_fail(&sqlite->sql, -EPROTO, "%s: %s" RECORD_SQLITE_ADVICE,
				       sqlite->path, sqlite3_errmsg(sqlite->database));
	return record_sql_fail(&sqlite->sql, errno_of(error, system), "%s: %s%s%s", sqlite->path,
			       sqlite3_errmsg(sqlite->database), system > 0 ? ": " : "",
			       system > 0 ? strerror(system) : "");
}

static int fail_file(struct record_sqlite *sqlite, int error, const char *end)
{
	int kind = error == -EACCES || error == -EPERM    ? -EACCES
		   : error == -ENOSPC || error == -EDQUOT ? -ENOSPC
		   : error == -EROFS                      ? -EROFS
							  : -EIO;

	return record_sql_fail(&sqlite->sql, kind, "%s%s: %s", sqlite->path, end, strerror(-error));
}

bool record_sqlite_is_there(const struct record_sqlite *sqlite)
{
	struct os_file_info info;

	return lock_file_is_there(sqlite->locks) &&
	       os_file_info_at(OS_FILE_HERE, sqlite->path, &info) == 0 &&
	       info.inode == sqlite->inode && info.device == sqlite->device;
}

void record_sqlite_close(struct record_sqlite *sqlite)
{
	for (size_t i = 0; i < RECORD_STATEMENTS; i++) {
		(void)sqlite3_finalize(sqlite->statements[i]);
		sqlite->statements[i] = NULL;
	}
	(void)sqlite3_close(sqlite->database);
	sqlite->database = NULL;
	lock_file_close(sqlite->locks);
	sqlite->locks = NULL;
}

static void append_locks(const struct record_sqlite *sqlite, struct buffer *out)
{
	buffer_append_format(out, "%s-lock%c", sqlite->path, '\0');
}

/* Where there are locks, there was a record: they are made after it. With an empty one in its place
 * whatever comes again would be filed again. */
static bool was_there(const struct record_sqlite *sqlite)
{
	struct buffer path CLEANUP(buffer_clear) = {0};
	struct os_file_info info;

	append_locks(sqlite, &path);
	return os_file_info_at(OS_FILE_HERE, buffer_data(&path), &info) == 0;
}

/* Only its owner can read it: SQLite would create one that everybody can. */
static int make_record_file(struct record_sqlite *sqlite)
{
	int file = os_file_open(OS_FILE_HERE, sqlite->path,
				OS_FILE_WRITE | OS_FILE_CREATE | OS_FILE_PRIVATE);

	os_file_close(file);
	return file < 0 && file != -EEXIST ? fail_file(sqlite, file, "") : 0;
}

static int find_file(struct record_sqlite *sqlite)
{
	bool is_known = was_there(sqlite);
	struct os_file_info info;
	int error = is_known ? 0 : make_record_file(sqlite);

	if (error < 0)
		return error;
	error = os_file_info_at(OS_FILE_HERE, sqlite->path, &info);
	if (is_known && (error == -ENOENT || (error == 0 && info.size == 0)))
		return record_sql_fail(&sqlite->sql, -EPROTO, "%s: the file is %s%s", sqlite->path,
				       error == 0 ? "empty" : "gone", RECORD_SQLITE_ADVICE);
	sqlite->inode = info.inode;
	sqlite->device = info.device;
	return error == 0 ? 0 : fail_file(sqlite, error, "");
}

static int open_locks(struct record_sqlite *sqlite)
{
	struct buffer path CLEANUP(buffer_clear) = {0};
	bool is_other = false;
	int error;

	append_locks(sqlite, &path);
	error = lock_file_open(buffer_data(&path), &sqlite->locks);
	if (error == 0)
		error = record_sqlite_identify(sqlite->database, buffer_data(&path), &is_other);
	if (error == -EILSEQ)
		return record_sqlite_fail(sqlite, sqlite3_extended_errcode(sqlite->database));
	if (is_other)
		return record_sql_fail(&sqlite->sql, -EPROTO,
				       "%s: this is the record of another site%s", sqlite->path,
				       RECORD_SQLITE_ADVICE);
	return error == 0 ? 0 : fail_file(sqlite, error, "-lock");
}

/* Whether what was there has tables: before any are made. */
static int refuse_empty(struct record_sqlite *sqlite)
{
	sqlite3_stmt *statement = NULL;
	int error;

	if (!was_there(sqlite))
		return 0;
	error = sqlite3_prepare_v2(sqlite->database,
				   "SELECT 1 FROM sqlite_schema WHERE name = 'record_meta'", -1,
				   &statement, NULL);
	if (error == SQLITE_OK)
		error = sqlite3_step(statement);
	(void)sqlite3_finalize(statement);
	if (error == SQLITE_DONE)
		return record_sql_fail(&sqlite->sql, -EPROTO, "%s: it has no record%s",
				       sqlite->path, RECORD_SQLITE_ADVICE);
	return error == SQLITE_ROW ? 0 : record_sqlite_fail(sqlite, error);
}

static int take_journal_mode(void *is_wal, int columns, char **texts, char **names)
{
	(void)columns;
	(void)names;
	*(bool *)is_wal = strcmp(texts[0], "wal") == 0;
	return 0;
}

static int set_up_record_file(struct record_sqlite *sqlite)
{
	static const char settings[] = "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
				       "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192;"
				       "PRAGMA wal_autocheckpoint = 4000;"; /* pages: 16 MiB */
	bool is_wal = false;
	int error = sqlite3_exec(sqlite->database, "PRAGMA journal_mode = WAL", take_journal_mode,
				 &is_wal, NULL);

	if (error == SQLITE_OK && !is_wal)
		return record_sql_fail(&sqlite->sql, -EPROTO,
				       "%s: the filesystem allows SQLite no log of writes (WAL)",
				       sqlite->path);
	if (error == SQLITE_OK)
		error = sqlite3_exec(sqlite->database, settings, NULL, NULL, NULL);
	return error == SQLITE_OK ? 0 : record_sqlite_fail(sqlite, error);
}

static int open_record_file(struct record_sqlite *sqlite)
{
	int error = sqlite3_open_v2(
		sqlite->path, &sqlite->database,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);

	if (sqlite->database == NULL)
		panic("no memory for SQLite");
	/* what cannot be opened for writing just now, SQLite opens for reading, for good */
	if (error == SQLITE_OK && sqlite3_db_readonly(sqlite->database, "main") != 0)
		return record_sql_fail(&sqlite->sql, -EROFS, "%s cannot be opened for writing",
				       sqlite->path);
	if (error == SQLITE_OK)
		error = sqlite3_busy_handler(sqlite->database, wait_for_others, NULL);
	return error == SQLITE_OK ? set_up_record_file(sqlite) : record_sqlite_fail(sqlite, error);
}

/* With the name of its log of writes the database loses what is in it. SQLite syncs that name, but
 * ignores an error. */
static int sync_names_of_record_file(struct record_sqlite *sqlite)
{
	const char *slash = strrchr(sqlite->path, '/');
	char *folder = memory_copy_string(slash == NULL ? "." : sqlite->path);
	int error;

	if (slash != NULL)
		folder[slash == sqlite->path ? 1 : slash - sqlite->path] = '\0';
	error = os_file_sync_directory(OS_FILE_HERE, folder);
	free(folder);
	return error == 0 ? 0 : fail_file(sqlite, error, ": its folder");
}

int record_sqlite_connect(struct record_sql *sql)
{
	struct record_sqlite *sqlite = (struct record_sqlite *)sql;
	int error;

	if (sqlite->database != NULL && record_sqlite_is_there(sqlite))
		return 0;
	record_sqlite_close(sqlite);
	error = find_file(sqlite);
	if (error == 0)
		error = open_record_file(sqlite);
	if (error == 0)
		error = refuse_empty(sqlite);
	if (error == 0)
		error = record_sql_prepare(sql);
	if (error == 0)
		error = sync_names_of_record_file(sqlite);
	if (error == 0)
		error = open_locks(sqlite);
	if (error < 0)
		record_sqlite_close(sqlite);
	return error;
}
