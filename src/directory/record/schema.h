// SPDX-License-Identifier: ISC
/*
 * directory/record/schema.h - the mapping of records to a relational database, derived from the
 * rules (directory/record/rules.h): a row for each record, a column for each field, and a child
 * table for a field that may be repeated. The schemas and statements of the SQL backends are
 * generated from it, so a new field needs a new rule and nothing else.
 */
#ifndef DIRECTORY_RECORD_SCHEMA_H
#define DIRECTORY_RECORD_SCHEMA_H

#include "directory/record/record.h"

enum { DIRECTORY_COLUMNS_MAX = 15, DIRECTORY_CHILD_KINDS_MAX = 3 };

struct directory_column {
	const char *field;
	const char *name;
};

/* All texts are static; names are unquoted. */
struct directory_schema {
	enum directory_table table;
	const char *name;
	const char *key;            /* an expression for the key of a row's record */
	const char *key_columns[2]; /* the second only for members, else NULL */
	struct directory_column columns[DIRECTORY_COLUMNS_MAX + 1]; /* field NULL after the last */
	/* The field that may be repeated, which is also the name of its table and of that table's
	 * column. The others are the key, called KEY_COLUMNS[0], and "position". NULL: none. */
	const char *child;
	/* Records of these kinds have the child field; NULL after the last. Empty: all records. */
	const char *child_kinds[DIRECTORY_CHILD_KINDS_MAX + 1];
};

struct directory_schema directory_schema_of(enum directory_table table);
/* NAME of a table or column for SQL, in quotes if it is a reserved word. */
const char *directory_schema_sql(const char *name);
/* Whether a record of KIND (empty: its table has no kinds) has the field SCHEMA->child. */
bool directory_schema_has_child(const struct directory_schema *schema, struct str kind);

/* What must be true of a row. */
struct directory_constraint {
	const char *column; /* that it checks */
	const char *word;   /* with table and column its name: "key", "value", "kind", "required" */
	struct str condition;
	struct str meaning; /* for people */
};

/* Calls EACH for each constraint on the rows of TABLE, or of its child table (IS_CHILD), in SQL
 * that PostgreSQL and SQLite share. The constraints are necessary for directory_record_check(), but
 * not sufficient. BEFORE is the prefix of columns, such as "NEW.". Strings are valid during the
 * call. */
void directory_schema_constraints(enum directory_table table, bool is_child, const char *before,
				  void (*each)(void *context,
					       const struct directory_constraint *constraint),
				  void *context);

#endif
