// SPDX-License-Identifier: ISC
/* A build tool that writes postgresql_schema.sql: copies standard input, and replaces its lines
 * "-- {WORD}" by what follows from the rules of records. */
#include "directory/store/postgresql/internal.h"
#include <stdio.h>
#include <string.h>

struct table {
	const struct directory_schema *schema;
	bool is_child;
	const char *name;
};

static void write_create_postgresql_table(const struct table *table, struct buffer *out)
{
	const struct directory_schema *schema = table->schema;
	const char *key = schema->key_columns[0];
	const char *second = schema->key_columns[1];

	buffer_append_format(
		out, "IF '%s' = ANY (made) THEN\nCREATE TABLE %s (\n\t%s text COLLATE \"C\" %s",
		table->name, directory_schema_sql(table->name), key,
		table->is_child || second != NULL ? "NOT NULL" : "PRIMARY KEY");
	if (table->is_child)
		buffer_append_format(out,
				     ",\n\tposition integer NOT NULL DEFAULT 0"
				     ",\n\t%s text COLLATE \"C\" NOT NULL"
				     ",\n\tPRIMARY KEY (%s, position)",
				     directory_schema_sql(schema->child), key);
	else if (second != NULL)
		buffer_append_format(out, ",\n\t%s text COLLATE \"C\" NOT NULL", second);
	for (size_t i = 0; !table->is_child && schema->columns[i].field != NULL; i++)
		buffer_append_format(out, ",\n\t%s text COLLATE \"C\"",
				     directory_schema_sql(schema->columns[i].name));
	buffer_append_string(out, ");\n");
	if (second != NULL)
		buffer_append_format(out, "CREATE UNIQUE INDEX %s_key ON %s (%s);\n", table->name,
				     directory_schema_sql(table->name), schema->key);
	buffer_append_string(out, "END IF;\n");
}

static void write_add_columns(const struct table *table, struct buffer *out)
{
	const struct directory_schema *schema = table->schema;

	for (size_t i = 0; !table->is_child && schema->columns[i].field != NULL; i++)
		buffer_append_format(
			out, "ALTER TABLE %s ADD COLUMN IF NOT EXISTS %s text COLLATE \"C\";\n",
			directory_schema_sql(table->name),
			directory_schema_sql(schema->columns[i].name));
}

/* The table's name, its name in "change", and the key of the record to which a row belongs. */
static void write_numbered(const struct table *table, struct buffer *out)
{
	const struct directory_schema *schema = table->schema;
	bool is_expression = schema->key_columns[1] != NULL;

	buffer_append_format(out, "%s['%s', '%s', ", out->length > 0 ? ",\n" : "", table->name,
			     schema->name);
	if (is_expression)
		buffer_append_format(out, "'%s || '' '' || %s']", schema->key_columns[0],
				     schema->key_columns[1]);
	else
		buffer_append_format(out, "'%s']", schema->key_columns[0]);
}

static void write_child_table_names(const struct table *table, struct buffer *out)
{
	if (table->is_child)
		buffer_append_format(out, "%s['%s', '%s', '%s']", out->length > 0 ? ",\n" : "",
				     table->schema->name, table->name,
				     table->schema->key_columns[0]);
}

struct constraints {
	const struct table *table;
	struct buffer *out;
};

/* Existing rows may be malformed: they are not checked (NOT VALID). */
static void write_add_constraint(void *context, const struct directory_constraint *constraint)
{
	struct constraints *constraints = context;
	const char *table = constraints->table->name;

	buffer_append_format(
		constraints->out,
		"ALTER TABLE %s DROP CONSTRAINT IF EXISTS %s_%s_%s;\n"
		"ALTER TABLE %s ADD CONSTRAINT %s_%s_%s\n\tCHECK (" STR_FORMAT ") NOT VALID;\n",
		directory_schema_sql(table), table, constraint->column, constraint->word,
		directory_schema_sql(table), table, constraint->column, constraint->word,
		STR_ARGUMENTS(constraint->condition));
}

static void write_constraints(const struct table *table, struct buffer *out)
{
	struct constraints constraints = {table, out};

	directory_schema_constraints(table->schema->table, table->is_child, "",
				     write_add_constraint, &constraints);
}

static void write_each_postgresql_table(void (*write)(const struct table *table,
						      struct buffer *out),
					struct buffer *out)
{
	for (unsigned i = DIRECTORY_NO_TABLE + 1; i < DIRECTORY_TABLES; i++) {
		struct directory_schema schema = directory_schema_of(i);

		write(&(struct table){&schema, false, schema.name}, out);
		if (schema.child != NULL)
			write(&(struct table){&schema, true, schema.child}, out);
	}
}

static const struct {
	const char *line;
	void (*write)(const struct table *table, struct buffer *out);
	const char *after;
} PARTS[] = {
	{"-- {numbered}\n", write_numbered, "];\n"},
	{"-- {children}\n", write_child_table_names, "];\n"},
	{"-- {columns}\n", write_add_columns, ""},
	{"-- {tables}\n", write_create_postgresql_table, ""},
	{"-- {constraints}\n", write_constraints, ""},
};

static void write_indented(struct str text, const char *line, FILE *file)
{
	int indent = (int)strspn(line, "\t");

	while (text.length > 0) {
		ptrdiff_t end = str_find(text, '\n');
		size_t length = end < 0 ? text.length : (size_t)end + 1;

		fprintf(file, "%.*s%.*s", indent, line, (int)length, text.data);
		text = str_skip(text, length);
	}
}

/* If LINE is a placeholder, writes its replacement and returns true. */
static bool write_part(const char *line, FILE *file)
{
	for (size_t i = 0; i < COUNT_OF(PARTS); i++) {
		struct buffer out CLEANUP(buffer_clear) = {0};

		if (strcmp(line + strspn(line, "\t"), PARTS[i].line) != 0)
			continue;
		write_each_postgresql_table(PARTS[i].write, &out);
		buffer_append_string(&out, PARTS[i].after);
		write_indented(buffer_view(&out), line, file);
		return true;
	}
	return false;
}

static void write_line(const char *line, FILE *file)
{
	static const char WORD[] = "@VERSION@";
	const char *found;

	while ((found = strstr(line, WORD)) != NULL) {
		fprintf(file, "%.*s%d", (int)(found - line), line, POSTGRESQL_SCHEMA);
		line = found + strlen(WORD);
	}
	fputs(line, file);
}

int main(void)
{
	char line[1000];

	while (fgets(line, sizeof line, stdin) != NULL)
		if (!write_part(line, stdout))
			write_line(line, stdout);
	return ferror(stdin) != 0 || fflush(stdout) != 0;
}
