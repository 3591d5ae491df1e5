// SPDX-License-Identifier: ISC
/* directory/store/ldap/copy/internal.h - shared by the parts of directory/store/ldap/copy/copy.h.
 */
#ifndef DIRECTORY_STORE_LDAP_COPY_INTERNAL_H
#define DIRECTORY_STORE_LDAP_COPY_INTERNAL_H

#include "directory/store/ldap/copy/copy.h"
#include "directory/store/sqlite/statement.h"
#include <sqlite3.h>

enum copy_statement {
	COPY_BEGIN,
	COPY_COMMIT,
	COPY_ROLLBACK,
	COPY_STATE_GET,
	COPY_STATE_SET,
	COPY_ENTRY_COUNT,
	COPY_ENTRY_FIND,
	COPY_ENTRY_NEW,
	COPY_ENTRY_SET,
	COPY_ENTRY_DELETE,
	COPY_ENTRIES_BELOW,
	COPY_ENTRIES_ALL,
	COPY_CLAIMS,
	COPY_CLAIM_SET,
	COPY_CLAIM_DELETE,
	COPY_CHANGED,
	COPY_CHANGED_MEMBER,
	COPY_CHANGED_MEMBERS,
	COPY_CHANGED_OWNERS,
	COPY_CHANGED_ALL,
	COPY_CHANGED_NONE,
	COPY_CLAIMANTS,
	COPY_IS_MEMBER,
	COPY_OWNER,
	COPY_STATEMENTS,
};

struct copy {
	sqlite3 *database;
	sqlite3_stmt *statements[COPY_STATEMENTS];
	struct directory_schema schemas[DIRECTORY_TABLES];
	sqlite3_stmt *rows[DIRECTORY_TABLES][SQLITE_STATEMENTS]; /* of row.c; or NULL */
	copy_conflict *conflict;
	void *context;
	struct arena *arena;       /* for one record or entry */
	struct buffer cookie;      /* after the commit */
	struct buffer cookie_kept; /* of the last commit */
	int64_t fresh_us;
	struct copy_counts counts; /* since the last commit */
	int error;                 /* sticky */
	char error_text[200];
	bool is_open; /* a transaction is open */
};

/* Begins a transaction unless there is one. */
void copy_begin(struct copy *copy);
/* statement.c. The errno of SQLite's ERROR. */
int copy_errno(int error);
/* Binds a text or blob, which must live until the statement has run. */
void copy_bind(sqlite3_stmt *statement, int place, struct str text);
void copy_bind_bytes(sqlite3_stmt *statement, int place, struct str bytes);
/* Of the present row; valid until the next step. */
struct str copy_column(sqlite3_stmt *statement, int column);
/* Whether there is a row; if not, the statement is reset, and an error sticks. */
bool copy_step(struct copy *copy, sqlite3_stmt *statement);
/* Resets a statement that returned a row. */
void copy_reset(sqlite3_stmt *statement);
void copy_run(struct copy *copy, sqlite3_stmt *statement);

/* row.c: prepares its statements: 0, or an SQLite error. */
MUST_CHECK int copy_row_prepare(struct copy *copy);
/* Gives the record of KEY the FIELDS of a claim, or removes it. */
void copy_row_put(struct copy *copy, int table, struct str key, struct str fields);
void copy_row_remove(struct copy *copy, int table, struct str key);

/* derive.c: updates the records of all changed keys from the claims. */
void copy_derive(struct copy *copy);

#endif
