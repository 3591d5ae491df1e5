// SPDX-License-Identifier: ISC
/* Records as rows of tables, by the tables' schemas, and the statements that follow. */
#include "directory/record/key.h"
#include "directory/store/postgresql/internal.h"
#include "log/event.h"
#include <arpa/inet.h>
#include <string.h>

const char *postgresql_statement_name(enum postgresql_statement statement,
				      enum directory_table table, char name[40])
{
	static const char *const words[POSTGRESQL_STATEMENTS] = {
		"get", "list", "remove", "put", "remove_children", "put_children"};

	snprintf(name, 40, "%s_%s", words[statement], directory_table_name(table));
	return name;
}

/* ---- statements ---- */

/* A condition on rows called r: their kind has children. */
static void write_kinds_with_children(const struct directory_schema *schema, struct buffer *out)
{
	if (schema->child_kinds[0] == NULL) {
		buffer_append_string(out, "true");
		return;
	}
	for (size_t i = 0; schema->child_kinds[i] != NULL; i++)
		buffer_append_format(out, "%s'%s'", i > 0 ? ", " : "r.kind IN (",
				     schema->child_kinds[i]);
	buffer_append_byte(out, ')');
}

/* Selects KEY, the columns, and the child's value from the rows of SOURCE. */
static void select_from(const struct directory_schema *schema, const char *key, const char *source,
			struct buffer *out)
{
	buffer_append_format(out, "SELECT %s AS record_key", key);
	for (size_t i = 0; schema->columns[i].field != NULL; i++)
		buffer_append_format(out, ", r.%s", directory_schema_sql(schema->columns[i].name));
	if (schema->child != NULL)
		buffer_append_format(out, ", c.%s", directory_schema_sql(schema->child));
	buffer_append_format(out, " FROM %s AS r", source);
	if (schema->child == NULL)
		return;
	/* for NULL the index is not even searched */
	buffer_append_format(out, " LEFT JOIN %s AS c ON c.%s = CASE WHEN ",
			     directory_schema_sql(schema->child), schema->key_columns[0]);
	write_kinds_with_children(schema, out);
	buffer_append_format(out, " THEN r.%s END", schema->key_columns[0]);
}

/* The key as an expression in a join with the child table. */
static const char *outer_key(const struct directory_schema *schema, char text[40])
{
	if (schema->child == NULL)
		return schema->key;
	snprintf(text, 40, "r.%s", schema->key_columns[0]);
	return text;
}

static void get_sql(const struct directory_schema *schema, struct buffer *out)
{
	char text[40];
	const char *key = outer_key(schema, text);

	select_from(schema, key, directory_schema_sql(schema->name), out);
	buffer_append_format(out, " WHERE %s = ANY($1::text[])", key);
	if (schema->child != NULL)
		buffer_append_string(out, " ORDER BY 1, c.position");
}

static void list_sql(const struct directory_schema *schema, struct buffer *out)
{
	struct buffer source CLEANUP(buffer_clear) = {0};
	const char *key = schema->key;
	char text[40];

	buffer_append_format(&source,
			     "(SELECT * FROM %s WHERE %s >= $1 AND %s < $1 || U&'\\+10FFFF'"
			     " AND %s > $2 ORDER BY %s LIMIT $3::bigint)",
			     directory_schema_sql(schema->name), key, key, key, key);
	buffer_append_byte(&source, '\0');
	select_from(schema, outer_key(schema, text), buffer_data(&source), out);
	buffer_append_string(out, " ORDER BY 1");
	if (schema->child != NULL)
		buffer_append_string(out, ", c.position");
}

/* The key in RETURNING, where the name of a key that equals its table's would be ambiguous. */
static const char *inserted_key(const struct directory_schema *schema, char text[40])
{
	if (schema->key_columns[1] != NULL)
		return schema->key;
	snprintf(text, 40, "%s.%s", directory_schema_sql(schema->name), schema->key_columns[0]);
	return text;
}

static void put_sql(const struct directory_schema *schema, struct buffer *out)
{
	struct buffer names CLEANUP(buffer_clear) = {0};
	struct buffer arrays CLEANUP(buffer_clear) = {0};
	struct buffer updates CLEANUP(buffer_clear) = {0};
	unsigned count = 0;
	char key[40];

	for (size_t i = 0; i < 2 && schema->key_columns[i] != NULL; i++) {
		buffer_append_format(&names, "%s%s", count > 0 ? ", " : "", schema->key_columns[i]);
		buffer_append_format(&arrays, "%s$%u::text[]", count > 0 ? ", " : "", count + 1);
		count++;
	}
	for (size_t i = 0; schema->columns[i].field != NULL; i++) {
		const char *name = directory_schema_sql(schema->columns[i].name);

		buffer_append_format(&names, ", %s", name);
		buffer_append_format(&arrays, ", $%u::text[]", ++count);
		buffer_append_format(&updates, "%s%s = excluded.%s", i > 0 ? ", " : "", name, name);
	}
	if (schema->columns[0].field == NULL)
		buffer_append_format(&updates, "%s = excluded.%s", schema->key_columns[0],
				     schema->key_columns[0]);
	buffer_append_format(out,
			     "INSERT INTO %s (" STR_FORMAT ") SELECT * FROM unnest(" STR_FORMAT
			     ") ON CONFLICT (%s) DO UPDATE SET " STR_FORMAT
			     " RETURNING %s, xmax <> 0",
			     directory_schema_sql(schema->name), STR_ARGUMENTS(buffer_view(&names)),
			     STR_ARGUMENTS(buffer_view(&arrays)), schema->key,
			     STR_ARGUMENTS(buffer_view(&updates)), inserted_key(schema, key));
}

static bool child_sql(enum postgresql_statement statement, const struct directory_schema *schema,
		      struct buffer *out)
{
	const char *child;

	if (schema->child == NULL)
		return false;
	child = directory_schema_sql(schema->child);
	if (statement == POSTGRESQL_REMOVE_CHILDREN)
		buffer_append_format(out, "DELETE FROM %s WHERE %s = ANY($1::text[])", child,
				     schema->key_columns[0]);
	else
		buffer_append_format(
			out,
			"INSERT INTO %s (%s, position, %s)"
			" SELECT k, p::integer, v FROM"
			" unnest($1::text[], $2::text[], $3::text[]) AS rows (k, p, v)",
			child, schema->key_columns[0], child);
	return true;
}

bool postgresql_statement_sql(enum postgresql_statement statement,
			      const struct directory_schema *schema, struct buffer *out)
{
	switch (statement) {
	case POSTGRESQL_GET:
		get_sql(schema, out);
		return true;
	case POSTGRESQL_LIST:
		list_sql(schema, out);
		return true;
	case POSTGRESQL_REMOVE:
		buffer_append_format(out,
				     "DELETE FROM %s WHERE %s = ANY($1::text[]) RETURNING %s, true",
				     directory_schema_sql(schema->name), schema->key, schema->key);
		return true;
	case POSTGRESQL_PUT:
		put_sql(schema, out);
		return true;
	default:
		return child_sql(statement, schema, out);
	}
}

void postgresql_tables_write(const struct directory_schema schemas[DIRECTORY_TABLES],
			     struct buffer *out)
{
	const char *separator = "";

	for (unsigned table = DIRECTORY_NO_TABLE + 1; table < DIRECTORY_TABLES; table++) {
		buffer_append_format(out, "%sto_regclass('%s')::oid", separator,
				     directory_schema_sql(schemas[table].name));
		separator = ", ";
		if (schemas[table].child != NULL)
			buffer_append_format(out, ", to_regclass('%s')::oid",
					     directory_schema_sql(schemas[table].child));
	}
}

void postgresql_trigger_count_write(const struct directory_schema schemas[DIRECTORY_TABLES],
				    struct buffer *out)
{
	enum { OF_EACH_TABLE = 5, OF_CHILDREN = 3 };
	const char *separator = "";

	buffer_append_format(out, "%d * num_nonnulls(", OF_EACH_TABLE);
	postgresql_tables_write(schemas, out);
	buffer_append_format(out, ") + %d * num_nonnulls(", OF_CHILDREN);
	for (unsigned table = DIRECTORY_NO_TABLE + 1; table < DIRECTORY_TABLES; table++) {
		if (schemas[table].child == NULL)
			continue;
		buffer_append_format(out, "%sto_regclass('%s')", separator,
				     directory_schema_sql(schemas[table].child));
		separator = ", ";
	}
	buffer_append_byte(out, ')');
}

/* ---- rows ---- */

int postgresql_table_width(const struct directory_schema *schema)
{
	int width = 1 + (schema->child != NULL);

	for (size_t i = 0; schema->columns[i].field != NULL; i++)
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

static void add_field_to_record(struct directory_record *record, struct directory_field *fields,
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
		  log_string(table, directory_table_name(record->key.table)),
		  log_str(key, record->key.name), log_string(reason, reason));
}

bool postgresql_record_take(const struct directory_schema *schema, const PGresult *result, int *row,
			    struct arena *arena, struct directory_record *record_out,
			    const char **reason_out)
{
	int first = *row;
	int rows = count_rows(result, first);
	struct directory_field *fields =
		arena_alloc(arena, (DIRECTORY_COLUMNS_MAX + (size_t)rows) * sizeof *fields);
	struct directory_record raw = {{schema->table, value_at(result, first, 0)}, fields, 0};
	int column = 1;

	*row += rows;
	for (; schema->columns[column - 1].field != NULL; column++)
		add_field_to_record(&raw, fields, schema->columns[column - 1].field,
				    value_at(result, first, column));
	for (int i = first; schema->child != NULL && i < first + rows; i++)
		add_field_to_record(&raw, fields, schema->child, value_at(result, i, column));
	*reason_out = "the key is not in canonical form (lower case, no quotes)";
	if (is_in_form(&raw) && directory_record_check(&raw, arena, record_out, reason_out) == 0)
		return true;
	log_bad(&raw, *reason_out);
	*record_out = (struct directory_record){.key = raw.key};
	return false;
}

/* ---- changes ---- */

bool postgresql_change_key(const char *table, struct str key, struct directory_key *key_out)
{
	enum directory_table found = directory_table_find(str_from(table));
	struct buffer form = {0};
	bool is_ours = found != DIRECTORY_NO_TABLE &&
		       directory_key_normalize(found, key, &form) == 0 &&
		       str_equal(buffer_view(&form), key);

	buffer_clear(&form);
	if (is_ours)
		*key_out = (struct directory_key){found, key};
	return is_ours;
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

/* The header: dimensions, flags (has NULLs), type of elements; the dimension's count, first index
 * */
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
