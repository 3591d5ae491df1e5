// SPDX-License-Identifier: ISC
/* The file's tables: created, recognised, and refused if the file is not ours. */
#include "directory/store/sqlite/internal.h"
#include "os/random.h"
#include <errno.h>
#include <stdio.h>

enum { APPLICATION = 0x53746744 }; /* "StgD": identifies the file, also to file(1) */

/* for DIRECTORY_MEMBERSHIP */
static const char MEMBERSHIP[] = "CREATE INDEX IF NOT EXISTS membership ON member(member, list);\n";

static int execute_schema_sql(struct sqlite_store *store, const char *sql)
{
	return sqlite3_exec(store->database, sql, NULL, NULL, NULL);
}

/* The first number in the result of SQL. */
static int first_number_of_result(struct sqlite_store *store, const char *sql, int64_t *number_out)
{
	sqlite3_stmt *statement = NULL;
	int error = sqlite3_prepare_v2(store->database, sql, -1, &statement, NULL);

	if (error == SQLITE_OK)
		error = sqlite3_step(statement);
	if (error == SQLITE_ROW) {
		*number_out = sqlite3_column_int64(statement, 0);
		error = SQLITE_OK;
	} else if (error == SQLITE_DONE) {
		error = SQLITE_CORRUPT;
	}
	(void)sqlite3_finalize(statement);
	return error;
}

struct file_marks {
	int64_t application;
	int64_t schema;
	int64_t objects; /* tables and others */
};

static int read_marks(struct sqlite_store *store, struct file_marks *marks)
{
	int error = first_number_of_result(store, "PRAGMA application_id", &marks->application);

	if (error == SQLITE_OK)
		error = first_number_of_result(store, "PRAGMA user_version", &marks->schema);
	if (error == SQLITE_OK)
		error = first_number_of_result(store, "SELECT count(*) FROM sqlite_schema",
					       &marks->objects);
	return error;
}

/* A random UUID of version 4 (RFC 9562). */
static void make_identity(char identity[40])
{
	uint64_t high = os_random_u64();
	uint64_t low = os_random_u64();

	snprintf(identity, 40, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(high >> 32),
		 (unsigned)(high >> 16 & 0xffff), (unsigned)(high & 0xfff),
		 (unsigned)(low >> 48 & 0x3fff) | 0x8000,
		 (unsigned long long)(low & 0xffffffffffff));
}

static int execute_all(struct sqlite_store *store, struct buffer *sql)
{
	buffer_append_byte(sql, '\0');
	return execute_schema_sql(store, buffer_data(sql));
}

static int make_sqlite_schema(struct sqlite_store *store)
{
	struct buffer sql CLEANUP(buffer_clear) = {0};
	char identity[40];

	make_identity(identity);
	sqlite_schema_write_tables(store, &sql);
	sqlite_schema_write_sums(&sql);
	sqlite_schema_write_triggers(store, &sql);
	buffer_append_string(&sql, MEMBERSHIP);
	buffer_append_format(&sql,
			     "INSERT INTO meta VALUES(0, '%s', %d, 0); PRAGMA application_id = %d;"
			     "PRAGMA user_version = %d",
			     identity, SQLITE_STORE_SCHEMA, APPLICATION, SQLITE_STORE_SCHEMA);
	return execute_all(store, &sql);
}

static bool has_sqlite_table(struct sqlite_store *store, const char *table)
{
	return sqlite3_table_column_metadata(store->database, NULL, table, NULL, NULL, NULL, NULL,
					     NULL, NULL) == SQLITE_OK;
}

static bool has_column_in_table(struct sqlite_store *store, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(store->database, NULL, table, column, NULL, NULL, NULL,
					     NULL, NULL) == SQLITE_OK;
}

/* Statements that add the missing columns to TABLE. */
static void write_missing(struct sqlite_store *store, enum directory_table table,
			  struct buffer *sql)
{
	const struct directory_schema *schema = &store->schemas[table];

	for (size_t i = 0; schema->columns[i].field != NULL; i++)
		if (!has_column_in_table(store, schema->name, schema->columns[i].name))
			buffer_append_format(sql, "ALTER TABLE %s ADD COLUMN %s TEXT;\n",
					     directory_schema_sql(schema->name),
					     directory_schema_sql(schema->columns[i].name));
}

/* Adds missing tables and columns to a file of an earlier version, has all records get checksums,
 * and replaces its triggers. */
static int upgrade_sqlite_schema(struct sqlite_store *store)
{
	struct buffer sql CLEANUP(buffer_clear) = {0};

	sqlite_schema_write_tables(store, &sql);
	for (unsigned i = DIRECTORY_NO_TABLE + 1; i < DIRECTORY_TABLES; i++)
		if (has_sqlite_table(store, store->schemas[i].name))
			write_missing(store, i, &sql);
	if (!has_column_in_table(store, "meta", "total"))
		buffer_append_string(&sql, "ALTER TABLE meta ADD COLUMN"
					   " total INTEGER NOT NULL DEFAULT 0;\n");
	sqlite_schema_write_sums(&sql);
	sqlite_schema_write_resum(store, &sql);
	sqlite_schema_write_triggers(store, &sql);
	buffer_append_string(&sql, MEMBERSHIP);
	buffer_append_format(&sql, "UPDATE meta SET schema = %d; PRAGMA user_version = %d",
			     SQLITE_STORE_SCHEMA, SQLITE_STORE_SCHEMA);
	return execute_all(store, &sql);
}

static bool is_old_sqlite_schema(const struct file_marks *marks)
{
	return marks->application == APPLICATION && marks->schema < SQLITE_STORE_SCHEMA;
}

static bool has_other_marks(const struct file_marks *marks)
{
	return marks->application != APPLICATION || marks->schema != SQLITE_STORE_SCHEMA;
}

static bool is_empty(const struct file_marks *marks)
{
	return marks->objects == 0 && marks->application == 0;
}

/* Checks again within a transaction, as another process may have been faster. */
static int make_or_upgrade(struct sqlite_store *store, struct file_marks *marks)
{
	int error = execute_schema_sql(store, "BEGIN IMMEDIATE");

	if (error != SQLITE_OK)
		return error;
	error = read_marks(store, marks);
	if (error == SQLITE_OK && is_empty(marks))
		error = make_sqlite_schema(store);
	else if (error == SQLITE_OK && is_old_sqlite_schema(marks))
		error = upgrade_sqlite_schema(store);
	if (error == SQLITE_OK)
		error = read_marks(store, marks);
	if (error == SQLITE_OK)
		error = execute_schema_sql(store, "COMMIT");
	if (error != SQLITE_OK)
		(void)execute_schema_sql(store, "ROLLBACK");
	return error;
}

static const char *reason_of_schema_error(const struct sqlite_store *store, int error)
{
	return error == SQLITE_NOTADB ? "this is no SQLite database" SQLITE_STORE_ADVICE
				      : sqlite_reason(store, error);
}

static int explain_schema_error(struct sqlite_store *store, int error, struct buffer *why)
{
	buffer_append_format(why, "%s: %s%s", store->path, reason_of_schema_error(store, error),
			     (error & 0xff) == SQLITE_CORRUPT ? SQLITE_STORE_ADVICE : "");
	return error == SQLITE_NOTADB ? -EINVAL : sqlite_errno(store, error);
}

/* Whether the file has our tables, so that other marks in its header are damage. */
static bool has_our_tables(struct sqlite_store *store)
{
	int64_t schema = 0;

	return first_number_of_result(store, "SELECT schema FROM meta", &schema) == SQLITE_OK &&
	       schema == SQLITE_STORE_SCHEMA;
}

bool sqlite_schema_is_marked(struct sqlite_store *store)
{
	struct file_marks marks = {0};

	return read_marks(store, &marks) == SQLITE_OK && !has_other_marks(&marks);
}

int sqlite_schema_prepare(struct sqlite_store *store, struct buffer *why)
{
	struct file_marks marks = {0};
	int error = read_marks(store, &marks);

	if (error == SQLITE_OK && has_other_marks(&marks) && has_our_tables(store)) {
		buffer_append_format(why, "%s: its header is damaged" SQLITE_STORE_ADVICE,
				     store->path);
		return -EIO;
	}
	if (error == SQLITE_OK && (is_empty(&marks) || is_old_sqlite_schema(&marks)))
		error = make_or_upgrade(store, &marks);
	if (error != SQLITE_OK)
		return explain_schema_error(store, error, why);
	if (marks.application != APPLICATION) {
		buffer_append_format(
			why, "%s: this is another program's SQLite database" SQLITE_STORE_ADVICE,
			store->path);
		return -EINVAL;
	}
	if (marks.schema != SQLITE_STORE_SCHEMA) {
		buffer_append_format(why, "%s: the data have schema %lld; this program knows %d",
				     store->path, (long long)marks.schema, SQLITE_STORE_SCHEMA);
		return -EINVAL;
	}
	return 0;
}
