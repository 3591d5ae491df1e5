// SPDX-License-Identifier: ISC
/* Records as rows, with their checksums. */
#include "directory/record/key.h"
#include "directory/store/sqlite/internal.h"
#include "log/event.h"
#include <string.h>

static struct str key_of_row(sqlite3_stmt *statement, enum directory_table table,
			     struct arena *arena)
{
	struct str first = sqlite_column(statement, 0);
	struct str second;
	char *both;

	if (!directory_table_has_pairs(table))
		return arena_copy_str(arena, first);
	second = sqlite_column(statement, 1);
	both = arena_alloc(arena, first.length + 1 + second.length);
	memcpy(both, first.data, first.length);
	both[first.length] = ' ';
	memcpy(both + first.length + 1, second.data, second.length);
	return str_slice(both, first.length + 1 + second.length);
}

struct row {
	struct directory_field fields[DIRECTORY_FIELDS_MAX + DIRECTORY_COLUMNS_MAX];
	size_t count;
};

static int add_children_to_row(struct sqlite_store *store, const struct directory_key *key,
			       struct arena *arena, struct row *row)
{
	sqlite3_stmt *statement = store->rows[key->table][SQLITE_STATEMENT_GET_CHILDREN];
	struct str name = str_from(store->schemas[key->table].child);
	int error;

	sqlite_bind(statement, 1, key->name);
	while ((error = sqlite3_step(statement)) == SQLITE_ROW &&
	       row->count < COUNT_OF(row->fields))
		row->fields[row->count++] = (struct directory_field){
			name, arena_copy_str(arena, sqlite_column(statement, 0))};
	(void)sqlite3_reset(statement);
	return error == SQLITE_DONE || error == SQLITE_ROW ? SQLITE_OK : error;
}

/* KIND is in the first column of tables that have kinds. */
static bool row_may_have_children(const struct directory_schema *schema, const struct row *row)
{
	return directory_schema_has_child(schema, row->count > 0 ? row->fields[0].value : STR(""));
}

/* The row's record in canonical form, or NULL and *REASON_OUT. */
static const struct directory_record *
check_record_of_row(struct sqlite_store *store, const struct directory_key *key,
		    struct arena *arena, const struct row *row, bool is_key_in_form,
		    struct str *reason_out)
{
	struct directory_record *record = arena_alloc(arena, sizeof *record);
	struct directory_record input = {*key, row->fields, row->count};
	const char *reason = "the key is not in canonical form";
	struct directory_field *fields;

	if (directory_record_is_in_form(&input, is_key_in_form, &store->scratch)) {
		fields = arena_alloc(arena, row->count * sizeof *fields);
		memcpy(fields, row->fields, row->count * sizeof *fields);
		*record = (struct directory_record){*key, fields, row->count};
		return record;
	}
	if (directory_record_check(&input, arena, record, &reason) == 0 &&
	    str_equal(record->key.name, key->name))
		return record;
	if (store->told_count++ < SQLITE_STORE_TOLD_MAX)
		log_event(EVENT_STORE_RECORD_BAD,
			  log_string(table, directory_table_name(key->table)),
			  log_str(key, key->name), log_string(reason, reason));
	*reason_out = str_from(reason);
	return NULL;
}

/* The columns of STATEMENT's row from COLUMN on, and the children. */
static int load_row(struct sqlite_store *store, sqlite3_stmt *statement, int column,
		    const struct directory_key *key, struct arena *arena, struct row *row)
{
	const struct directory_schema *schema = &store->schemas[key->table];

	row->count = 0;
	for (int i = 0; schema->columns[i].field != NULL; i++) {
		struct str value = sqlite_column(statement, column + i);

		if (value.length > 0)
			row->fields[row->count++] = (struct directory_field){
				str_from(schema->columns[i].field), arena_copy_str(arena, value)};
	}
	return row_may_have_children(schema, row) ? add_children_to_row(store, key, arena, row)
						  : SQLITE_OK;
}

static int read_checked_row(struct sqlite_store *store, sqlite3_stmt *statement, int column,
			    const struct directory_key *key, const struct sqlite_columns *columns,
			    bool is_key_in_form, struct arena *arena,
			    const struct directory_record **record_out, struct str *reason_out)
{
	struct row row;
	const char *damage = NULL;
	uint32_t sum;
	int error = load_row(store, statement, column, key, arena, &row);

	if (error != SQLITE_OK)
		return error;
	sum = sqlite_sum_of(&store->schemas[key->table], columns, row.fields, row.count);
	error = sqlite_sum_check(store, columns, &sum, &damage);
	if (error != SQLITE_OK)
		return error;
	if (damage == NULL) {
		*record_out =
			check_record_of_row(store, key, arena, &row, is_key_in_form, reason_out);
		return SQLITE_OK;
	}
	sqlite_sum_tell(store, key, damage);
	*reason_out = str_from(damage);
	*record_out = NULL;
	return SQLITE_OK;
}

int sqlite_row(struct sqlite_store *store, sqlite3_stmt *statement, const struct directory_key *key,
	       struct arena *arena, const struct directory_record **record_out)
{
	struct sqlite_columns columns = sqlite_columns_of(store, key);
	struct str reason;

	return read_checked_row(store, statement, 0, key, &columns, true, arena, record_out,
				&reason);
}

int sqlite_row_raw(struct sqlite_store *store, enum directory_table table,
		   const struct sqlite_columns *columns, struct arena *arena, bool *is_there_out,
		   struct directory_record *record_out)
{
	sqlite3_stmt *statement = store->rows[table][SQLITE_STATEMENT_GET];
	struct directory_key key = {table, columns->key}; /* of its children */
	struct directory_field *fields;
	struct row row;
	int error;

	sqlite_bind(statement, 1, columns->key);
	if (directory_table_has_pairs(table))
		sqlite_bind(statement, 2, columns->member);
	error = sqlite3_step(statement);
	*is_there_out = error == SQLITE_ROW;
	if (error == SQLITE_ROW) {
		error = load_row(store, statement, 0, &key, arena, &row);
		fields = arena_alloc(arena, row.count * sizeof *fields);
		memcpy(fields, row.fields, row.count * sizeof *fields);
		*record_out = (struct directory_record){key, fields, row.count};
	}
	(void)sqlite3_reset(statement);
	return error == SQLITE_DONE ? SQLITE_OK : error;
}

/* The first columns of a row that is listed. */
static struct sqlite_columns listed_columns(struct sqlite_store *store, sqlite3_stmt *statement,
					    enum directory_table table)
{
	struct str name = str_from(store->schemas[table].name);
	struct str first = sqlite_column(statement, 0);

	if (!directory_table_has_pairs(table))
		return (struct sqlite_columns){name, first, STR("")};
	if (table == DIRECTORY_MEMBER)
		return (struct sqlite_columns){name, first, sqlite_column(statement, 1)};
	return (struct sqlite_columns){name, sqlite_column(statement, 1), first};
}

int sqlite_listed_row(struct sqlite_store *store, sqlite3_stmt *statement,
		      enum directory_table table, struct arena *arena,
		      const struct directory_record **record_out,
		      struct directory_malformed *found_out)
{
	struct directory_key key = {table, key_of_row(statement, table, arena)};
	struct sqlite_columns columns = listed_columns(store, statement, table);
	int key_columns = store->schemas[table].key_columns[1] != NULL ? 2 : 1;

	found_out->key = key.name;
	return read_checked_row(store, statement, key_columns, &key, &columns, false, arena,
				record_out, &found_out->reason);
}
