// SPDX-License-Identifier: ISC
/* The checksums of records that others have changed by SQL. */
#include "directory/store/sqlite/internal.h"

enum { MISSING_MAX = 1000 }; /* in a transaction */

static int read_lacking(struct sqlite_store *store, struct arena *arena,
			struct sqlite_columns *columns, size_t *count_out)
{
	sqlite3_stmt *statement = store->data[DATA_SUMS_MISSING];
	size_t count = 0;
	int error;

	(void)sqlite3_bind_int(statement, 1, MISSING_MAX);
	while ((error = sqlite3_step(statement)) == SQLITE_ROW && count < MISSING_MAX)
		columns[count++] = (struct sqlite_columns){
			arena_copy_str(arena, sqlite_column(statement, 0)),
			arena_copy_str(arena, sqlite_column(statement, 1)),
			arena_copy_str(arena, sqlite_column(statement, 2)),
		};
	(void)sqlite3_reset(statement);
	*count_out = count;
	return error == SQLITE_DONE || error == SQLITE_ROW ? SQLITE_OK : error;
}

static int add_lacking_sum(struct sqlite_store *store, const struct sqlite_columns *columns,
			   struct arena *arena, int64_t *total)
{
	enum directory_table table = directory_table_find(columns->table);
	struct directory_record record;
	bool is_there = false;
	uint32_t sum;
	int error = SQLITE_OK;

	if (table != DIRECTORY_NO_TABLE)
		error = sqlite_row_raw(store, table, columns, arena, &is_there, &record);
	if (error != SQLITE_OK)
		return error;
	if (!is_there)
		return sqlite_sum_remove(store, columns);
	sum = sqlite_sum_of(&store->schemas[table], columns, record.fields, record.field_count);
	*total += sum;
	return sqlite_sum_set(store, columns, sum);
}

static int add_lacking_sums(struct sqlite_store *store, const struct sqlite_columns *columns,
			    size_t count, struct arena *arena)
{
	sqlite3_stmt *statement = store->data[DATA_SET_VERSION];
	int64_t total = 0;
	int error = SQLITE_OK;

	for (size_t i = 0; i < count && error == SQLITE_OK; i++)
		error = add_lacking_sum(store, &columns[i], arena, &total);
	if (error != SQLITE_OK)
		return error;
	(void)sqlite3_bind_int64(statement, 1, 0);
	(void)sqlite3_bind_int64(statement, 2, total);
	error = sqlite_run(statement);
	return error == SQLITE_OK ? sqlite_run(store->data[DATA_COMMIT]) : error;
}

/* In a transaction, so that they are of the records that are there. */
static int add_in_transaction(struct sqlite_store *store, struct arena *arena, size_t *count_out)
{
	struct sqlite_columns *columns = arena_alloc(arena, MISSING_MAX * sizeof *columns);
	int error = read_lacking(store, arena, columns, count_out);

	if (error != SQLITE_OK || *count_out == 0)
		return error;
	error = sqlite_begin_write(store);
	if (error != SQLITE_OK)
		return error;
	error = add_lacking_sums(store, columns, *count_out, arena);
	if (error != SQLITE_OK)
		sqlite_roll_back(store);
	return error;
}

bool sqlite_sum_add_missing(struct sqlite_store *store)
{
	struct arena *arena;
	size_t count = 0;
	int error;

	if (!store->lacks_sums)
		return false;
	sqlite_end_reading(store);
	arena = sqlite_take_arena(store);
	error = add_in_transaction(store, arena, &count);
	sqlite_give_arena(store, arena);
	store->lacks_sums = error != SQLITE_OK || count == MISSING_MAX;
	store->could_not_sum = error != SQLITE_OK;
	if (error != SQLITE_OK && (error & 0xff) != SQLITE_BUSY)
		(void)sqlite_failed(store, error, "change");
	return error == SQLITE_OK && count == MISSING_MAX;
}
