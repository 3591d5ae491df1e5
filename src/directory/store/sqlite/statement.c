// SPDX-License-Identifier: ISC
#include "directory/store/sqlite/statement.h"

static int key_count(const struct directory_schema *schema)
{
	return schema->key_columns[1] != NULL ? 2 : 1;
}

static void write_keys(const struct directory_schema *schema, struct buffer *out)
{
	buffer_append_string(out, schema->key_columns[0]);
	if (schema->key_columns[1] != NULL)
		buffer_append_format(out, ", %s", schema->key_columns[1]);
}

static void write_where(const struct directory_schema *schema, struct buffer *out)
{
	buffer_append_format(out, " WHERE %s = ?1", schema->key_columns[0]);
	if (schema->key_columns[1] != NULL)
		buffer_append_format(out, " AND %s = ?2", schema->key_columns[1]);
}

/* The columns' names, each after a comma, but not the first if IS_FIRST. */
static void write_column_names(const struct directory_schema *schema, bool is_first,
			       struct buffer *out)
{
	for (size_t i = 0; schema->columns[i].field != NULL; i++) {
		buffer_append_format(out, "%s%s", is_first ? "" : ", ",
				     directory_schema_sql(schema->columns[i].name));
		is_first = false;
	}
}

static void write_get(const struct directory_schema *schema, struct buffer *out)
{
	buffer_append_string(out, "SELECT ");
	if (schema->columns[0].field == NULL)
		buffer_append_byte(out, '1');
	write_column_names(schema, true, out);
	buffer_append_format(out, " FROM %s", directory_schema_sql(schema->name));
	write_where(schema, out);
}

static void write_select_of_list(const struct directory_schema *schema, struct buffer *out)
{
	int place = key_count(schema);

	buffer_append_string(out, "SELECT ");
	write_keys(schema, out);
	write_column_names(schema, false, out);
	buffer_append_format(out, " FROM %s WHERE (", directory_schema_sql(schema->name));
	write_keys(schema, out);
	buffer_append_format(out, ") >= (%s) AND %s < ?%d ORDER BY ", place > 1 ? "?1, ?2" : "?1",
			     schema->key_columns[0], place + 1);
	write_keys(schema, out);
	buffer_append_format(out, " LIMIT ?%d", place + 2);
}

static void write_update(const struct directory_schema *schema, struct buffer *out)
{
	int place = key_count(schema);

	buffer_append_format(out, "UPDATE %s SET ", directory_schema_sql(schema->name));
	/* so that the number of changed rows tells whether the row exists */
	if (schema->columns[0].field == NULL)
		buffer_append_format(out, "%s = ?1", schema->key_columns[0]);
	for (int i = 0; schema->columns[i].field != NULL; i++)
		buffer_append_format(out, "%s%s = ?%d", i > 0 ? ", " : "",
				     directory_schema_sql(schema->columns[i].name), place + 1 + i);
	write_where(schema, out);
}

static void write_insert(const struct directory_schema *schema, struct buffer *out)
{
	int count = key_count(schema);

	buffer_append_format(out, "INSERT INTO %s(", directory_schema_sql(schema->name));
	write_keys(schema, out);
	write_column_names(schema, false, out);
	buffer_append_string(out, ") VALUES(");
	for (size_t i = 0; schema->columns[i].field != NULL; i++)
		count++;
	for (int i = 1; i <= count; i++)
		buffer_append_format(out, "%s?%d", i > 1 ? ", " : "", i);
	buffer_append_byte(out, ')');
}

/* By the two indexes, which are the only ones that are asked. */
static const char LOST_MEMBERSHIPS[] =
	"SELECT member, key FROM checksum INDEXED BY checksum_membership"
	" WHERE table_name = 'member' AND (member, key) >= (?1, ?2) AND (member, key) < (?3, ?4)"
	" AND sum IS NOT NULL AND NOT EXISTS (SELECT 1 FROM member INDEXED BY membership"
	" WHERE member.member = checksum.member AND list = checksum.key) LIMIT ?5";

static void write_lost(const struct directory_schema *schema, struct buffer *out)
{
	const char *table = directory_schema_sql(schema->name);

	if (schema->table == DIRECTORY_MEMBERSHIP) {
		buffer_append_string(out, LOST_MEMBERSHIPS);
		return;
	}
	buffer_append_format(out,
			     "SELECT key, member FROM checksum WHERE table_name = '%s'"
			     " AND (key, member) >= (?1, ?2) AND (key, member) < (?3, ?4)"
			     " AND sum IS NOT NULL AND NOT EXISTS (SELECT 1 FROM %s"
			     " WHERE %s.%s = checksum.key",
			     schema->name, table, table, schema->key_columns[0]);
	if (schema->key_columns[1] != NULL)
		buffer_append_format(out, " AND %s.%s = checksum.member", table,
				     schema->key_columns[1]);
	buffer_append_string(out, ") LIMIT ?5");
}

static bool write_child(enum sqlite_statement statement, const struct directory_schema *schema,
			struct buffer *out)
{
	const char *key = schema->key_columns[0];
	const char *child;

	if (schema->child == NULL)
		return false;
	child = directory_schema_sql(schema->child);
	if (statement == SQLITE_STATEMENT_GET_CHILDREN)
		buffer_append_format(out, "SELECT %s FROM %s WHERE %s = ?1 ORDER BY position",
				     child, child, key);
	else if (statement == SQLITE_STATEMENT_INSERT_CHILD)
		buffer_append_format(out, "INSERT INTO %s(%s, position, %s) VALUES(?1, ?2, ?3)",
				     child, key, child);
	else
		buffer_append_format(out, "DELETE FROM %s WHERE %s = ?1", child, key);
	return true;
}

bool sqlite_statement_write(enum sqlite_statement statement, const struct directory_schema *schema,
			    struct buffer *out)
{
	switch (statement) {
	case SQLITE_STATEMENT_GET:
		write_get(schema, out);
		return true;
	case SQLITE_STATEMENT_LIST:
		write_select_of_list(schema, out);
		return true;
	case SQLITE_STATEMENT_UPDATE:
		write_update(schema, out);
		return true;
	case SQLITE_STATEMENT_INSERT:
		write_insert(schema, out);
		return true;
	case SQLITE_STATEMENT_REMOVE:
		buffer_append_format(out, "DELETE FROM %s", directory_schema_sql(schema->name));
		write_where(schema, out);
		return true;
	case SQLITE_STATEMENT_LIST_LOST:
		write_lost(schema, out);
		return true;
	default:
		return write_child(statement, schema, out);
	}
}
