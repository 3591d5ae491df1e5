// SPDX-License-Identifier: ISC
/*
 * Which record a file is. The file of the locks has the same identity, so that one of another site
 * in its place is noticed: with that, whatever comes again would be filed again.
 */
#include "filing/record/sqlite/internal.h"
#include "os/file/file.h"
#include "os/random.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

int record_sqlite_read_identity(const char *path, char identity[RECORD_SQLITE_IDENTITY_SIZE])
{
	int file = os_file_open(OS_FILE_HERE, path, OS_FILE_READ);
	ssize_t size;

	identity[0] = '\0';
	if (file < 0)
		return file;
	size = os_file_read(file, identity, RECORD_SQLITE_IDENTITY_SIZE - 1, 0);
	os_file_close(file);
	if (size < 0)
		return (int)size;
	identity[size] = '\0';
	return 0;
}

int record_sqlite_write_identity(const char *path, const char *identity)
{
	int file = os_file_open(OS_FILE_HERE, path, OS_FILE_WRITE);
	int error;

	if (file == -ENOENT)
		file = os_file_open(OS_FILE_HERE, path,
				    OS_FILE_WRITE | OS_FILE_CREATE | OS_FILE_PRIVATE);
	if (file < 0)
		return file;
	error = os_file_write(file, identity, strlen(identity), 0);
	if (error == 0)
		error = os_file_sync(file);
	os_file_close(file);
	return error;
}

/* SITE and 32 digits, as RECORD_META has it in the column of programs; or "". */
static int read_own(sqlite3 *database, char identity[RECORD_SQLITE_IDENTITY_SIZE])
{
	sqlite3_stmt *statement = NULL;
	int error = sqlite3_prepare_v2(database,
				       "SELECT program FROM record_meta WHERE program LIKE 'site %'"
				       " ORDER BY program LIMIT 1",
				       -1, &statement, NULL);

	identity[0] = '\0';
	if (error == SQLITE_OK)
		error = sqlite3_step(statement);
	if (error == SQLITE_ROW)
		snprintf(identity, RECORD_SQLITE_IDENTITY_SIZE, "%s",
			 (const char *)sqlite3_column_text(statement, 0));
	(void)sqlite3_finalize(statement);
	return error == SQLITE_ROW || error == SQLITE_DONE ? SQLITE_OK : error;
}

/* Unless another process was faster, which is read then. */
static int write_own(sqlite3 *database, char identity[RECORD_SQLITE_IDENTITY_SIZE])
{
	char sql[200];
	int error;

	if (identity[0] == '\0')
		snprintf(identity, RECORD_SQLITE_IDENTITY_SIZE, "site %016llx%016llx",
			 (unsigned long long)os_random_u64(), (unsigned long long)os_random_u64());
	snprintf(sql, sizeof sql,
		 "INSERT INTO record_meta(program, version) SELECT '%s', 0 WHERE NOT EXISTS"
		 " (SELECT 1 FROM record_meta WHERE program LIKE 'site %%')",
		 identity);
	error = sqlite3_exec(database, sql, NULL, NULL, NULL);
	return error == SQLITE_OK ? read_own(database, identity) : error;
}

int record_sqlite_identify(sqlite3 *database, const char *locks, bool *is_other_out)
{
	char own[RECORD_SQLITE_IDENTITY_SIZE];
	char theirs[RECORD_SQLITE_IDENTITY_SIZE];
	int error = record_sqlite_read_identity(locks, theirs);
	int failed;

	*is_other_out = false;
	if (error < 0)
		return error;
	failed = read_own(database, own);
	if (failed == SQLITE_OK && own[0] == '\0') {
		memcpy(own, theirs, sizeof own);
		failed = write_own(database, own);
	}
	if (failed != SQLITE_OK)
		return -EILSEQ;
	if (theirs[0] == '\0')
		return record_sqlite_write_identity(locks, own);
	*is_other_out = strcmp(own, theirs) != 0;
	return 0;
}
