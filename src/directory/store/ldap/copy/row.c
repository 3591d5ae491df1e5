// SPDX-License-Identifier: ISC
/* Writes records to the tables that directory/store/sqlite/sqlite.h reads, but only if they differ,
 * because every write is a change that is pushed. */
#include "directory/record/key.h"
#include "directory/store/ldap/copy/internal.h"
#include "directory/store/ldap/map/claim.h"

static int prepare_statement_of_copy(struct copy *copy, int table, enum sqlite_statement which)
{
	struct buffer sql CLEANUP(buffer_clear) = {0};

	if (!sqlite_statement_write(which, &copy->schemas[table], &sql))
		return SQLITE_OK;
	return sqlite3_prepare_v3(copy->database, buffer_data(&sql), (int)sql.length,
				  SQLITE_PREPARE_PERSISTENT, &copy->rows[table][which], NULL);
}

int copy_row_prepare(struct copy *copy)
{
	int error = SQLITE_OK;

	for (int table = DIRECTORY_NO_TABLE + 1; table < DIRECTORY_TABLES; table++) {
		copy->schemas[table] = directory_schema_of((enum directory_table)table);
		for (unsigned i = 0; i < SQLITE_STATEMENTS && error == SQLITE_OK; i++)
			error = prepare_statement_of_copy(copy, table, i);
	}
	return error;
}

static sqlite3_stmt *begin_statement_with_key(struct copy *copy, int table,
					      enum sqlite_statement which, struct str key)
{
	sqlite3_stmt *statement = copy->rows[table][which];
	struct str list;
	struct str member;

	if (table == DIRECTORY_MEMBER) {
		directory_key_member(key, &list, &member);
		copy_bind(statement, 1, list);
		copy_bind(statement, 2, member);
	} else {
		copy_bind(statement, 1, key);
	}
	return statement;
}

/* Whether the row of RECORD exists and has the same columns. */
static bool has_columns(struct copy *copy, const struct directory_record *record)
{
	const struct directory_schema *schema = &copy->schemas[record->key.table];
	sqlite3_stmt *statement = begin_statement_with_key(copy, (int)record->key.table,
							   SQLITE_STATEMENT_GET, record->key.name);
	bool is_same = true;

	if (!copy_step(copy, statement))
		return false;
	for (int i = 0; schema->columns[i].field != NULL && is_same; i++)
		is_same = str_equal(copy_column(statement, i),
				    directory_record_field(record, schema->columns[i].field));
	copy_reset(statement);
	return is_same;
}

static bool is_child(struct copy *copy, const struct directory_record *record, size_t i)
{
	return str_equal(record->fields[i].name, str_from(copy->schemas[record->key.table].child));
}

/* Likewise for the field that may be repeated. */
static bool has_same_children(struct copy *copy, const struct directory_record *record)
{
	sqlite3_stmt *statement;
	bool is_same = true;

	if (copy->schemas[record->key.table].child == NULL)
		return true;
	statement = begin_statement_with_key(copy, (int)record->key.table,
					     SQLITE_STATEMENT_GET_CHILDREN, record->key.name);
	for (size_t i = 0; i < record->field_count && is_same; i++)
		if (is_child(copy, record, i))
			is_same = copy_step(copy, statement) &&
				  str_equal(copy_column(statement, 0), record->fields[i].value);
	if (is_same)
		is_same = !copy_step(copy, statement);
	copy_reset(statement);
	return is_same;
}

static void write_children_to_copy(struct copy *copy, const struct directory_record *record)
{
	int table = (int)record->key.table;
	int position = 0;

	if (copy->schemas[table].child == NULL)
		return;
	copy_run(copy, begin_statement_with_key(copy, table, SQLITE_STATEMENT_REMOVE_CHILDREN,
						record->key.name));
	for (size_t i = 0; i < record->field_count; i++) {
		sqlite3_stmt *statement;

		if (!is_child(copy, record, i))
			continue;
		statement = begin_statement_with_key(copy, table, SQLITE_STATEMENT_INSERT_CHILD,
						     record->key.name);
		(void)sqlite3_bind_int(statement, 2, position++);
		copy_bind(statement, 3, record->fields[i].value);
		copy_run(copy, statement);
	}
}

/* Whether STATEMENT, which updates or inserts, has written the row of RECORD. */
static bool write_columns_to_copy(struct copy *copy, const struct directory_record *record,
				  enum sqlite_statement which)
{
	const struct directory_schema *schema = &copy->schemas[record->key.table];
	sqlite3_stmt *statement =
		begin_statement_with_key(copy, (int)record->key.table, which, record->key.name);
	int place = schema->key_columns[1] != NULL ? 3 : 2;

	for (int i = 0; schema->columns[i].field != NULL; i++) {
		struct str value = directory_record_field(record, schema->columns[i].field);

		if (value.length > 0)
			copy_bind(statement, place + i, value);
	}
	copy_run(copy, statement);
	return sqlite3_changes(copy->database) > 0;
}

void copy_row_put(struct copy *copy, int table, struct str key, struct str fields)
{
	struct directory_record record = {
		.key = {.table = (enum directory_table)table, .name = key}};

	claim_fields(fields, copy->arena, &record.fields, &record.field_count);
	if (has_columns(copy, &record) && has_same_children(copy, &record))
		return;
	if (!write_columns_to_copy(copy, &record, SQLITE_STATEMENT_UPDATE))
		(void)write_columns_to_copy(copy, &record, SQLITE_STATEMENT_INSERT);
	write_children_to_copy(copy, &record);
	copy->counts.records++;
}

void copy_row_remove(struct copy *copy, int table, struct str key)
{
	sqlite3_stmt *statement = begin_statement_with_key(copy, table, SQLITE_STATEMENT_GET, key);

	if (!copy_step(copy, statement))
		return;
	copy_reset(statement);
	if (copy->schemas[table].child != NULL)
		copy_run(copy, begin_statement_with_key(copy, table,
							SQLITE_STATEMENT_REMOVE_CHILDREN, key));
	copy_run(copy, begin_statement_with_key(copy, table, SQLITE_STATEMENT_REMOVE, key));
	copy->counts.records++;
}
