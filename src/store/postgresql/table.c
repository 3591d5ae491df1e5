// SPDX-License-Identifier: ISC
/* Records as rows of tables, and the statements that come of that. */
#include "directory/record/key.h"
#include "log/event.h"
#include "store/postgresql/internal.h"
#include <arpa/inet.h>
#include <string.h>

static const struct postgresql_table tables[DIRECTORY_TABLES] = {
	[DIRECTORY_DOMAIN] = {.name = "domain",
			      .key = "name",
			      .key_columns = {"name"},
			      .columns = {{"kind", "kind"},
					  {"target", "target"},
					  {"service", "service"}}},
	[DIRECTORY_ADDRESS] = {.name = "address",
			       .key = "address",
			       .key_columns = {"address"},
			       .columns = {{"kind", "kind"},
					   {"service", "service"},
					   {"user", "\"user\""},
					   {"mailbox", "mailbox"},
					   {"owner", "owner"},
					   {"verp", "verp"},
					   {"status", "status"},
					   {"text", "text"},
					   {"source", "source"}},
			       .child = "target",
			       .child_key = "address",
			       .child_when = "r.kind IN ('forward', 'alias')",
			       .child_field = "target",
			       .child_column = "target"},
	[DIRECTORY_MEMBER] = {.name = "member",
			      .key = "(list || ' ' || member)",
			      .key_columns = {"list", "member"}},
	[DIRECTORY_USER] = {.name = "\"user\"",
			    .key = "name",
			    .key_columns = {"name"},
			    .columns = {{"server", "server"}, {"name", "fullname"}},
			    .child = "password",
			    .child_key = "name",
			    .child_field = "password",
			    .child_column = "password"},
	[DIRECTORY_SERVER] = {.name = "server",
			      .key = "name",
			      .key_columns = {"name"},
			      .columns = {{"service", "service"}, {"address", "address"}}},
};

const struct postgresql_table *postgresql_table(enum directory_table table)
{
	return &tables[table];
}

const char *postgresql_statement_name(enum postgresql_statement statement,
				      enum directory_table table, char name[40])
{
	static const char *const words[POSTGRESQL_STATEMENTS] = {
		"get", "list", "remove", "put", "remove_children", "put_children"};

	snprintf(name, 40, "%s_%s", words[statement], directory_table_name(table));
	return name;
}

/* ---- statements ---- */

/* Key, columns, and the child's value of the rows of SOURCE. */
static void select_from(const struct postgresql_table *table, const char *source,
			struct buffer *out)
{
	buffer_append_format(out, "SELECT %s AS record_key", table->key);
	for (size_t i = 0; table->columns[i].field != NULL; i++)
		buffer_append_format(out, ", r.%s", table->columns[i].name);
	if (table->child != NULL)
		buffer_append_format(out, ", c.%s", table->child_column);
	buffer_append_format(out, " FROM %s AS r", source);
	/* the index is not even looked into for NULL */
	if (table->child != NULL)
		buffer_append_format(out, " LEFT JOIN %s AS c ON c.%s = CASE WHEN %s THEN r.%s END",
				     table->child, table->child_key,
				     table->child_when != NULL ? table->child_when : "true",
				     table->key_columns[0]);
}

/* The key as an expression in what has the child beside it. */
static const char *outer_key(const struct postgresql_table *table, char text[40])
{
	if (table->child == NULL)
		return table->key;
	snprintf(text, 40, "r.%s", table->key_columns[0]);
	return text;
}

static void get_sql(const struct postgresql_table *table, struct buffer *out)
{
	struct postgresql_table outer = *table;
	char key[40];

	outer.key = outer_key(table, key);
	select_from(&outer, table->name, out);
	buffer_append_format(out, " WHERE %s = ANY($1::text[])", outer.key);
	if (table->child != NULL)
		buffer_append_string(out, " ORDER BY 1, c.position");
}

static void list_sql(const struct postgresql_table *table, struct buffer *out)
{
	struct postgresql_table outer = *table;
	struct buffer source = {0};
	char key[40];

	buffer_append_format(&source,
			     "(SELECT * FROM %s WHERE %s >= $1 AND %s < $1 || U&'\\+10FFFF'"
			     " AND %s > $2 ORDER BY %s LIMIT $3::bigint)",
			     table->name, table->key, table->key, table->key, table->key);
	buffer_append_byte(&source, '\0');
	outer.key = outer_key(table, key);
	select_from(&outer, buffer_data(&source), out);
	buffer_append_string(out, " ORDER BY 1");
	if (table->child != NULL)
		buffer_append_string(out, ", c.position");
	buffer_clear(&source);
}

/* In RETURNING, where a key that is called like its table would be both. */
static const char *inserted_key(const struct postgresql_table *table, char text[40])
{
	if (table->key_columns[1] != NULL)
		return table->key;
	snprintf(text, 40, "%s.%s", table->name, table->key_columns[0]);
	return text;
}

static void put_sql(const struct postgresql_table *table, struct buffer *out)
{
	struct buffer names = {0};
	struct buffer arrays = {0};
	struct buffer updates = {0};
	unsigned count = 0;
	char key[40];

	for (size_t i = 0; i < 2 && table->key_columns[i] != NULL; i++) {
		buffer_append_format(&names, "%s%s", count > 0 ? ", " : "", table->key_columns[i]);
		buffer_append_format(&arrays, "%s$%u::text[]", count > 0 ? ", " : "", count + 1);
		count++;
	}
	for (size_t i = 0; table->columns[i].field != NULL; i++) {
		const char *name = table->columns[i].name;

		buffer_append_format(&names, ", %s", name);
		buffer_append_format(&arrays, ", $%u::text[]", ++count);
		buffer_append_format(&updates, "%s%s = excluded.%s", i > 0 ? ", " : "", name, name);
	}
	if (table->columns[0].field == NULL)
		buffer_append_format(&updates, "%s = excluded.%s", table->key_columns[0],
				     table->key_columns[0]);
	buffer_append_format(out,
			     "INSERT INTO %s (" STR_FORMAT ") SELECT * FROM unnest(" STR_FORMAT
			     ") ON CONFLICT (%s) DO UPDATE SET " STR_FORMAT
			     " RETURNING %s, xmax <> 0",
			     table->name, STR_ARGUMENTS(buffer_view(&names)),
			     STR_ARGUMENTS(buffer_view(&arrays)), table->key,
			     STR_ARGUMENTS(buffer_view(&updates)), inserted_key(table, key));
	buffer_clear(&names);
	buffer_clear(&arrays);
	buffer_clear(&updates);
}

bool postgresql_statement_sql(enum postgresql_statement statement, enum directory_table table,
			      struct buffer *out)
{
	const struct postgresql_table *t = &tables[table];

	switch (statement) {
	case POSTGRESQL_GET:
		get_sql(t, out);
		return true;
	case POSTGRESQL_LIST:
		list_sql(t, out);
		return true;
	case POSTGRESQL_REMOVE:
		buffer_append_format(out,
				     "DELETE FROM %s WHERE %s = ANY($1::text[]) RETURNING %s, true",
				     t->name, t->key, t->key);
		return true;
	case POSTGRESQL_PUT:
		put_sql(t, out);
		return true;
	case POSTGRESQL_REMOVE_CHILDREN:
		if (t->child != NULL)
			buffer_append_format(out, "DELETE FROM %s WHERE %s = ANY($1::text[])",
					     t->child, t->child_key);
		return t->child != NULL;
	case POSTGRESQL_PUT_CHILDREN:
		if (t->child != NULL)
			buffer_append_format(out,
					     "INSERT INTO %s (%s, position, %s)"
					     " SELECT k, p::integer, v FROM"
					     " unnest($1::text[], $2::text[], $3::text[])"
					     " AS rows (k, p, v)",
					     t->child, t->child_key, t->child_column);
		return t->child != NULL;
	default:
		return false;
	}
}

/* ---- rows ---- */

int postgresql_table_width(enum directory_table table)
{
	const struct postgresql_table *t = &tables[table];
	int width = 1 + (t->child != NULL);

	for (size_t i = 0; t->columns[i].field != NULL; i++)
		width++;
	return width;
}

static struct str value_at(const PGresult *result, int row, int column)
{
	if (PQgetisnull(result, row, column) != 0)
		return (struct str){0};
	return str_slice(postgresql_link_value(result, row, column),
			 postgresql_link_length(result, row, column));
}

static int count_rows(const PGresult *result, int row)
{
	struct str key = value_at(result, row, 0);
	int end = row + 1;

	while (end < PQntuples(result) && str_equal(value_at(result, end, 0), key))
		end++;
	return end - row;
}

static void add_field(struct directory_record *record, struct directory_field *fields,
		      const char *name, struct str value)
{
	if (value.data != NULL)
		fields[record->field_count++] = (struct directory_field){str_from(name), value};
}

static bool is_in_form(const struct directory_record *record)
{
	struct buffer form = {0};
	bool is_same = directory_key_normalize(record->key.table, record->key.name, &form) == 0 &&
		       str_equal(buffer_view(&form), record->key.name);

	buffer_clear(&form);
	return is_same;
}

static void log_bad(const struct directory_record *record, const char *reason)
{
	log_event(EVENT_STORE_RECORD_BAD,
		  log_string("table", directory_table_name(record->key.table)),
		  log_str("key", record->key.name), log_string("reason", reason));
}

bool postgresql_record_take(enum directory_table table, const PGresult *result, int *row,
			    struct arena *arena, struct directory_record *record_out)
{
	const struct postgresql_table *t = &tables[table];
	int first = *row;
	int rows = count_rows(result, first);
	struct directory_field *fields =
		arena_alloc(arena, (POSTGRESQL_COLUMNS_MAX + (size_t)rows) * sizeof *fields);
	struct directory_record raw = {{table, value_at(result, first, 0)}, fields, 0};
	const char *reason = "the key is not in its one form (lower case, no quotes)";
	int column = 1;

	*row += rows;
	for (; t->columns[column - 1].field != NULL; column++)
		add_field(&raw, fields, t->columns[column - 1].field,
			  value_at(result, first, column));
	for (int i = first; t->child != NULL && i < first + rows; i++)
		add_field(&raw, fields, t->child_field, value_at(result, i, column));
	if (is_in_form(&raw) && directory_record_check(&raw, arena, record_out, &reason) == 0)
		return true;
	log_bad(&raw, reason);
	return false;
}

/* ---- arrays ---- */

enum { OID_TEXT = 25, HEADER_SIZE = 20 };

static void append_u32(struct buffer *buffer, uint32_t value)
{
	uint32_t wire = htonl(value);

	buffer_append(buffer, &wire, sizeof wire);
}

void postgresql_array_add(struct postgresql_array *array, struct str element)
{
	if (array->count++ == 0) {
		memset(buffer_reserve(&array->buffer, HEADER_SIZE), 0, HEADER_SIZE);
		buffer_commit(&array->buffer, HEADER_SIZE);
	}
	append_u32(&array->buffer, element.data != NULL ? (uint32_t)element.length : UINT32_MAX);
	buffer_append_str(&array->buffer, element);
}

/* dimensions, flags (has NULLs), type of the elements; of the dimension: count, first index */
struct postgresql_parameter postgresql_array_end(struct postgresql_array *array)
{
	const uint32_t header[] = {htonl(1), htonl(1), htonl(OID_TEXT), htonl(array->count),
				   htonl(1)};

	memcpy(buffer_data(&array->buffer), header, sizeof header);
	return (struct postgresql_parameter){.value = buffer_view(&array->buffer),
					     .is_binary = true};
}

void postgresql_array_clear(struct postgresql_array *array)
{
	buffer_clear(&array->buffer);
	*array = (struct postgresql_array){0};
}
