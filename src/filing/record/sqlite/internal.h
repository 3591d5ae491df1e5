// SPDX-License-Identifier: ISC
/* filing/record/sqlite/internal.h - the connection, shared by its parts. */
#ifndef FILING_RECORD_SQLITE_INTERNAL_H
#define FILING_RECORD_SQLITE_INTERNAL_H

#include "filing/lock/file.h"
#include "filing/record/sql.h"
#include <sqlite3.h>

enum {
	RECORD_SQLITE_PATIENCE_MS = 10000, /* others commit meanwhile */
	RECORD_SQLITE_IDENTITY_SIZE = 40,  /* with its NUL */
};

/* Ends what is said of a file that is damaged, gone or another one. */
#define RECORD_SQLITE_ADVICE ": run \"stagepost mailbox repair --rebuild\""

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

/* identity.c */

/* Of the file at PATH, which is that of the locks; "": it has none. 0 or -errno. */
MUST_CHECK int record_sqlite_read_identity(const char *path,
					   char identity[RECORD_SQLITE_IDENTITY_SIZE]);
/* Makes the file if it is missing. */
MUST_CHECK int record_sqlite_write_identity(const char *path, const char *identity);
/* Gives DATABASE and the file LOCKS one identity, if one of them has none. *IS_OTHER_OUT: they have
 * different ones. 0, -EILSEQ for an error of the database, or -errno. */
MUST_CHECK int record_sqlite_identify(sqlite3 *database, const char *locks, bool *is_other_out);

/* open.c */

/* Opens the file and that of the locks, unless they are open and still have their names. */
int record_sqlite_connect(struct record_sql *sql);
void record_sqlite_close(struct record_sqlite *sqlite);
/* Whether both still have their names. */
bool record_sqlite_is_there(const struct record_sqlite *sqlite);

#endif
