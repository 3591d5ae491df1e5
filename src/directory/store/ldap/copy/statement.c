// SPDX-License-Identifier: ISC
/* Runs the statements of a copy. An error sticks: later statements do nothing until the rollback.
 */
#include "base/panic.h"
#include "directory/store/ldap/copy/internal.h"
#include <errno.h>
#include <stdio.h>

void copy_bind(sqlite3_stmt *statement, int place, struct str text)
{
	(void)sqlite3_bind_text(statement, place, text.length > 0 ? text.data : "",
				(int)text.length, SQLITE_STATIC);
}

void copy_bind_bytes(sqlite3_stmt *statement, int place, struct str bytes)
{
	(void)sqlite3_bind_blob(statement, place, bytes.length > 0 ? bytes.data : "",
				(int)bytes.length, SQLITE_STATIC);
}

struct str copy_column(sqlite3_stmt *statement, int column)
{
	const char *data = sqlite3_column_blob(statement, column);

	return str_slice(data, (size_t)sqlite3_column_bytes(statement, column));
}

int copy_errno(int error)
{
	switch (error & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		panic("out of memory");
	default:
		return -EIO;
	}
}

bool copy_step(struct copy *copy, sqlite3_stmt *statement)
{
	int result = copy->error == 0 ? sqlite3_step(statement) : SQLITE_DONE;

	if (result == SQLITE_ROW)
		return true;
	if (result != SQLITE_DONE) {
		copy->error = copy_errno(result);
		(void)snprintf(copy->error_text, sizeof(copy->error_text), "%s",
			       sqlite3_errmsg(copy->database));
	}
	copy_reset(statement);
	return false;
}

void copy_reset(sqlite3_stmt *statement)
{
	(void)sqlite3_reset(statement);
	(void)sqlite3_clear_bindings(statement);
}

void copy_run(struct copy *copy, sqlite3_stmt *statement)
{
	if (copy_step(copy, statement))
		copy_reset(statement);
}
