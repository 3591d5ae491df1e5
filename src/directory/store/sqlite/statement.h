// SPDX-License-Identifier: ISC
/* directory/store/sqlite/statement.h - the SQL statements for one record, derived from its table's
 * schema. */
#ifndef DIRECTORY_STORE_SQLITE_STATEMENT_H
#define DIRECTORY_STORE_SQLITE_STATEMENT_H

#include "directory/record/schema.h"

/* Parameters: the key columns, then those named here. */
enum sqlite_statement {
	SQLITE_STATEMENT_GET,             /* returns the columns; 1 if there are none */
	SQLITE_STATEMENT_LIST,            /* from a key on: end, limit; returns keys and columns */
	SQLITE_STATEMENT_UPDATE,          /* columns */
	SQLITE_STATEMENT_INSERT,          /* columns */
	SQLITE_STATEMENT_REMOVE,          /**/
	SQLITE_STATEMENT_GET_CHILDREN,    /* returns values in order */
	SQLITE_STATEMENT_INSERT_CHILD,    /* position, value */
	SQLITE_STATEMENT_REMOVE_CHILDREN, /**/
	SQLITE_STATEMENT_LIST_LOST,       /* key and member, the end's, limit, in place of the key
					   * columns: returns keys and members that have a
					   * checksum and no record */
	SQLITE_STATEMENTS,
};

/* Appends its SQL to OUT; false, and nothing, if SCHEMA has no children. */
bool sqlite_statement_write(enum sqlite_statement statement, const struct directory_schema *schema,
			    struct buffer *out);

#endif
