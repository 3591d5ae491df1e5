// SPDX-License-Identifier: ISC
/*
 * directory/record/schema.h - how the records of a table stand in a relational database, as the
 * rules (directory/record/rules.h) have it: a row for each record, a column for each field, and a
 * table of its own for a field that may come more than once. Schemas and statements of the
 * backends are made of it, so a new field is a new rule and nothing else.
 */
#ifndef DIRECTORY_RECORD_SCHEMA_H
#define DIRECTORY_RECORD_SCHEMA_H

#include "directory/record/record.h"

enum { DIRECTORY_COLUMNS_MAX = 15, DIRECTORY_CHILD_KINDS_MAX = 3 };

struct directory_column {
	const char *field;
	const char *name;
};

/* All texts are static; names are without quotes. */
struct directory_schema {
	enum directory_table table;
	const char *name;
	const char *key;            /* of the record that a row belongs to, as an expression */
	const char *key_columns[2]; /* the second for members, else NULL */
	struct directory_column columns[DIRECTORY_COLUMNS_MAX + 1]; /* field NULL after the last */
	/* The field that may come more than once, and so its table and that table's column; beside
	 * it stand the key, called like KEY_COLUMNS[0], and a number, "position". NULL: none. */
	const char *child;
	/* Records of these kinds have it; NULL after the last, and none: all records. */
	const char *child_kinds[DIRECTORY_CHILD_KINDS_MAX + 1];
};

struct directory_schema directory_schema_of(enum directory_table table);
/* The NAME of a table or column as SQL wants it, in quotes where it is a word of SQL's. */
const char *directory_schema_sql(const char *name);
/* Whether a record of KIND (empty: its table has no kinds) has the field SCHEMA->child. */
bool directory_schema_has_child(const struct directory_schema *schema, struct str kind);

/* What has to be true of a row. */
struct directory_constraint {
	const char *column; /* that it is about */
	const char *word;   /* with table and column its name: "key", "value", "kind", "required" */
	struct str condition;
	struct str meaning; /* for people */
};

/* Calls EACH with what SQL can say of the rows of TABLE, or of the child's (IS_CHILD): necessary
 * for directory_record_check(), not sufficient, in words that PostgreSQL and SQLite share. BEFORE
 * stands before the names of columns: "NEW.". Strings are valid during the call. */
void directory_schema_constraints(enum directory_table table, bool is_child, const char *before,
				  void (*each)(void *context,
					       const struct directory_constraint *constraint),
				  void *context);

#endif
