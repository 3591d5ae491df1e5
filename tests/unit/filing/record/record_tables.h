// SPDX-License-Identifier: ISC
/*
 * tests/unit/filing/record/record_tables.h - the tables of a played database server: what a
 * backend says in the dialect of its server is done by SQLite, each connection with a transaction
 * of its own.
 */
#ifndef TESTS_UNIT_RECORD_TABLES_H
#define TESTS_UNIT_RECORD_TABLES_H

#include "filing/record/sql.h"
#include <sqlite3.h>

/* Instead of ONE, in a statement, SQLite has OTHER. */
struct record_tables_word {
	const char *one, *other;
};

struct record_tables_result {
	int code; /* SQLite's: SQLITE_OK, SQLITE_CONSTRAINT_UNIQUE... */
	size_t columns, rows;
	struct record_value *values; /* rows times columns */
	int64_t changed, inserted;
	char words[200]; /* of the failure */
};

/* In memory, and of nobody else: a folder is made for it. */
void record_tables_begin(void);
void record_tables_end(void);
/* All tables are gone; nobody has a connection. */
void record_tables_empty(void);
sqlite3 *record_tables_connect(void);
/* ROLLS BACK what is open. */
void record_tables_disconnect(sqlite3 *connection);
/* WORDS end with one that has no ONE. VALUES are those of the parameters in their order, or of
 * $1, $2 and so on. */
void record_tables_run(sqlite3 *connection, const struct record_tables_word *words, struct str text,
		       const struct record_value *values, size_t count, struct arena *arena,
		       struct record_tables_result *out);
/* An administrator's statement, of SQLite. */
void record_tables_run_sql(const char *sql);

#endif
