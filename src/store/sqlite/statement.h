// SPDX-License-Identifier: ISC
/* store/sqlite/statement.h - the statements about one record, made of its table's schema. */
#ifndef STORE_SQLITE_STATEMENT_H
#define STORE_SQLITE_STATEMENT_H

#include "directory/record/schema.h"

/* Parameters: key columns first, then what is named here. */
enum sqlite_statement {
	SQLITE_STATEMENT_GET,             /* gives the columns; 1 where there are none */
	SQLITE_STATEMENT_LIST,            /* from that key on: end, limit; gives keys and columns */
	SQLITE_STATEMENT_UPDATE,          /* columns */
	SQLITE_STATEMENT_INSERT,          /* columns */
	SQLITE_STATEMENT_REMOVE,          /**/
	SQLITE_STATEMENT_GET_CHILDREN,    /* gives values in their order */
	SQLITE_STATEMENT_INSERT_CHILD,    /* position, value */
	SQLITE_STATEMENT_REMOVE_CHILDREN, /**/
	SQLITE_STATEMENTS,
};

/* Appends its SQL to OUT: false where SCHEMA has no children, and nothing is appended. */
bool sqlite_statement_write(enum sqlite_statement statement, const struct directory_schema *schema,
			    struct buffer *out);

#endif
