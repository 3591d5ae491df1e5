// SPDX-License-Identifier: ISC
/* The schema as SQL, derived from the schemas of the tables. Triggers are for other writers: they
 * are disabled on this process's connection. */
#include "directory/store/sqlite/internal.h"
#include <string.h>

struct table {
	enum directory_table record; /* to which the rows belong */
	bool is_child;
	const char *name;
	const struct directory_schema *schema;
};

static void write_create_sqlite_table(const struct table *table, struct buffer *out)
{
	const struct directory_schema *schema = table->schema;
	const char *key = schema->key_columns[0];

	if (table->is_child) {
		buffer_append_format(
			out,
			"CREATE TABLE IF NOT EXISTS %s(%s TEXT NOT NULL, position INTEGER NOT NULL"
			" DEFAULT 0, %s TEXT NOT NULL, PRIMARY KEY(%s, position))"
			" WITHOUT ROWID;\n",
			directory_schema_sql(schema->child), key,
			directory_schema_sql(schema->child), key);
		return;
	}
	buffer_append_format(out, "CREATE TABLE IF NOT EXISTS %s(%s TEXT NOT NULL",
			     directory_schema_sql(schema->name), key);
	if (schema->key_columns[1] != NULL)
		buffer_append_format(out, ", %s TEXT NOT NULL", schema->key_columns[1]);
	for (size_t i = 0; schema->columns[i].field != NULL; i++)
		buffer_append_format(out, ", %s TEXT",
				     directory_schema_sql(schema->columns[i].name));
	buffer_append_format(out, ", PRIMARY KEY(%s", key);
	if (schema->key_columns[1] != NULL)
		buffer_append_format(out, ", %s", schema->key_columns[1]);
	buffer_append_string(out, ")) WITHOUT ROWID;\n");
}

/* The key of the record to which row OLD or NEW belongs. */
static void write_key(const struct table *table, const char *row, const char *between,
		      const char *if_single, struct buffer *out)
{
	const struct directory_schema *schema = table->schema;

	buffer_append_format(out, "%s.%s", row, schema->key_columns[0]);
	if (schema->key_columns[1] != NULL)
		buffer_append_format(out, "%s%s.%s", between, row, schema->key_columns[1]);
	else
		buffer_append_string(out, if_single);
}

static void write_sum_place(const struct table *table, const char *row, struct buffer *out)
{
	buffer_append_format(out, " FROM checksum WHERE table_name = '%s' AND (key, member) = (",
			     directory_table_name(table->record));
	write_key(table, row, ", ", ", ''", out);
	buffer_append_byte(out, ')');
}

/* The checksum is removed, and a place for it made: SQL has none. It is no update, as what another
 * one's statement does on conflicts counts in its triggers, too. */
static void write_note(const struct table *table, const char *row, struct buffer *out)
{
	const char *name = directory_table_name(table->record);

	buffer_append_string(out, " UPDATE meta SET version = version + 1,"
				  " total = total - coalesce((SELECT sum");
	write_sum_place(table, row, out);
	buffer_append_string(out, "), 0); DELETE");
	write_sum_place(table, row, out);
	buffer_append_format(out, "; INSERT INTO checksum(table_name, key, member) VALUES('%s', ",
			     name);
	write_key(table, row, ", ", ", ''", out);
	buffer_append_format(out,
			     "); INSERT INTO change(version, table_name, key)"
			     " SELECT version, '%s', ",
			     name);
	write_key(table, row, " || ' ' || ", "", out);
	buffer_append_string(out, " FROM meta;");
}

static void begin_trigger(const struct table *table, const char *word, const char *when,
			  struct buffer *out)
{
	buffer_append_format(out,
			     "DROP TRIGGER IF EXISTS %s_%s;\n"
			     "CREATE TRIGGER %s_%s %s ON %s BEGIN",
			     table->name, word, table->name, word, when,
			     directory_schema_sql(table->name));
}

/* Triggers that number each change, and move or delete children with their record. */
static void write_notes(const struct table *table, struct buffer *out)
{
	const struct directory_schema *schema = table->schema;
	const char *child = table->is_child || schema->child == NULL
				    ? NULL
				    : directory_schema_sql(schema->child);
	const char *key = schema->key_columns[0];

	begin_trigger(table, "inserted", "AFTER INSERT", out);
	write_note(table, "NEW", out);
	buffer_append_string(out, " END;\n");
	begin_trigger(table, "removed", "AFTER DELETE", out);
	if (child != NULL)
		buffer_append_format(out, " DELETE FROM %s WHERE %s = OLD.%s;", child, key, key);
	write_note(table, "OLD", out);
	buffer_append_string(out, " END;\n");
	begin_trigger(table, "updated", "AFTER UPDATE", out);
	if (child != NULL)
		buffer_append_format(out,
				     " UPDATE %s SET %s = NEW.%s WHERE %s = OLD.%s AND NEW.%s <>"
				     " OLD.%s;",
				     child, key, key, key, key, key, key);
	write_note(table, "OLD", out);
	write_note(table, "NEW", out);
	buffer_append_string(out, " END;\n");
}

struct constraints {
	const struct table *table;
	struct buffer *out;
};

/* TEXT as a literal within an SQL string. */
static void write_quoted(struct str text, struct buffer *out)
{
	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] == '\'')
			buffer_append_byte(out, '\'');
		buffer_append_byte(out, text.data[i]);
	}
}

static void write_constraint_of_trigger(void *context,
					const struct directory_constraint *constraint)
{
	struct constraints *constraints = context;
	struct buffer *out = constraints->out;

	buffer_append_string(out, " SELECT RAISE(ABORT, '");
	buffer_append_format(out, "%s_%s_%s: ", constraints->table->name, constraint->column,
			     constraint->word);
	write_quoted(constraint->meaning, out);
	buffer_append_format(out, "') WHERE NOT (" STR_FORMAT ");",
			     STR_ARGUMENTS(constraint->condition));
}

static void write_checks(const struct table *table, struct buffer *out)
{
	static const struct {
		const char *word;
		const char *when;
	} events[] = {{"check_insert", "BEFORE INSERT"}, {"check_update", "BEFORE UPDATE"}};

	for (size_t i = 0; i < COUNT_OF(events); i++) {
		struct constraints constraints = {table, out};

		begin_trigger(table, events[i].word, events[i].when, out);
		directory_schema_constraints(table->record, table->is_child, "NEW.",
					     write_constraint_of_trigger, &constraints);
		buffer_append_string(out, " END;\n");
	}
}

static void write_each_sqlite_table(const struct sqlite_store *store,
				    void (*write)(const struct table *table, struct buffer *out),
				    struct buffer *out)
{
	for (unsigned record = DIRECTORY_NO_TABLE + 1; record < DIRECTORY_TABLES; record++) {
		const struct directory_schema *schema = &store->schemas[record];

		write(&(struct table){record, false, schema->name, schema}, out);
		if (schema->child != NULL)
			write(&(struct table){record, true, schema->child, schema}, out);
	}
}

void sqlite_schema_write_tables(const struct sqlite_store *store, struct buffer *out)
{
	buffer_append_string(
		out,
		"CREATE TABLE IF NOT EXISTS meta(version INTEGER NOT NULL, identity TEXT NOT NULL,"
		" schema INTEGER NOT NULL, total INTEGER NOT NULL DEFAULT 0);\n"
		"CREATE TABLE IF NOT EXISTS change(version INTEGER PRIMARY KEY, table_name TEXT "
		"NOT NULL,"
		" key TEXT NOT NULL, at INTEGER NOT NULL"
		" DEFAULT (CAST(strftime('%s', 'now') AS INTEGER)));\n");
	write_each_sqlite_table(store, write_create_sqlite_table, out);
}

void sqlite_schema_write_sums(struct buffer *out)
{
	buffer_append_string(
		out, "CREATE TABLE IF NOT EXISTS checksum(table_name TEXT NOT NULL,"
		     " key TEXT NOT NULL, member TEXT NOT NULL, sum INTEGER,"
		     " PRIMARY KEY(table_name, key, member)) WITHOUT ROWID;\n"
		     "CREATE INDEX IF NOT EXISTS checksum_missing"
		     " ON checksum(table_name, key, member) WHERE sum IS NULL;\n"
		     "CREATE INDEX IF NOT EXISTS checksum_membership ON checksum(member, key)"
		     " WHERE table_name = 'member';\n");
}

void sqlite_schema_write_resum(const struct sqlite_store *store, struct buffer *out)
{
	buffer_append_string(out, "DELETE FROM checksum; UPDATE meta SET total = 0;\n");
	for (unsigned record = DIRECTORY_NO_TABLE + 1; record < DIRECTORY_TABLES; record++) {
		const struct directory_schema *schema = &store->schemas[record];

		buffer_append_format(out,
				     "INSERT INTO checksum(table_name, key, member)"
				     " SELECT '%s', %s, %s FROM %s;\n",
				     schema->name, schema->key_columns[0],
				     schema->key_columns[1] != NULL ? schema->key_columns[1] : "''",
				     directory_schema_sql(schema->name));
	}
}

void sqlite_schema_write_triggers(const struct sqlite_store *store, struct buffer *out)
{
	write_each_sqlite_table(store, write_notes, out);
	write_each_sqlite_table(store, write_checks, out);
}
