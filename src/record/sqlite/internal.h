// SPDX-License-Identifier: ISC
/* record/sqlite/internal.h - the connection, shared by its parts. */
#ifndef RECORD_SQLITE_INTERNAL_H
#define RECORD_SQLITE_INTERNAL_H

#include "lock/file.h"
#include "record/sql.h"
#include <sqlite3.h>

enum { RECORD_SQLITE_PATIENCE_MS = 10000 }; /* others commit meanwhile */

struct record_sqlite {
	struct record_sql sql;
	char *path;
	sqlite3 *database; /* NULL: there is no connection */
	uint64_t device, inode;
	struct lock_file *locks;
	struct lock_name turn;                       /* of the one who writes next */
	sqlite3_stmt *statements[RECORD_STATEMENTS]; /* or NULL */
};

/* record_sql_fail() for ERROR of this connection. */
int record_sqlite_fail(struct record_sqlite *sqlite, int error);

/* open.c */

/* Opens the file and that of the locks, unless they are open and still have their names. */
int record_sqlite_connect(struct record_sql *sql);
void record_sqlite_close(struct record_sqlite *sqlite);
/* Whether both still have their names. */
bool record_sqlite_is_there(const struct record_sqlite *sqlite);

#endif
