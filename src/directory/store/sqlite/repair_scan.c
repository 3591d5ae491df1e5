// SPDX-License-Identifier: ISC
/*
 * Goes through the records of a damaged file. A scan ends at the first page that cannot be read,
 * and another one comes from the other end. Each key that the checksums or the tables name is then
 * looked up by itself.
 */
#include "directory/record/key.h"
#include "directory/store/sqlite/internal_repair.h"
#include <string.h>

typedef void each_key(struct sqlite_repair *repair, const struct sqlite_columns *columns);

/* ---- scans ---- */

static int scan_one_way(struct sqlite_repair *repair, const char *sql, const char *order,
			each_key *each)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	sqlite3_stmt *statement = NULL;
	int error;

	buffer_append_format(&text, sql, order, order, order);
	buffer_append_byte(&text, '\0');
	error = sqlite3_prepare_v2(repair->old->database, buffer_data(&text), -1, &statement, NULL);
	while (error == SQLITE_OK && (error = sqlite3_step(statement)) == SQLITE_ROW) {
		const struct sqlite_columns columns = {
			arena_copy_str(repair->arena, sqlite_column(statement, 0)),
			arena_copy_str(repair->arena, sqlite_column(statement, 1)),
			arena_copy_str(repair->arena, sqlite_column(statement, 2)),
		};

		each(repair, &columns);
		arena_reset(repair->arena);
		error = SQLITE_OK;
	}
	(void)sqlite3_finalize(statement);
	return error == SQLITE_DONE ? SQLITE_OK : error;
}

/* SQL has the order three times, and returns table, key and member. */
static void scan_keys_both_ways(struct sqlite_repair *repair, const char *sql, each_key *each)
{
	if (scan_one_way(repair, sql, "ASC", each) == SQLITE_OK)
		return;
	repair->has_errors = true;
	(void)scan_one_way(repair, sql, "DESC", each);
}

static void scan_tables(struct sqlite_repair *repair, each_key *each)
{
	for (unsigned table = DIRECTORY_NO_TABLE + 1; table < DIRECTORY_TABLES; table++) {
		const struct directory_schema *schema = &repair->old->schemas[table];
		const char *second = schema->key_columns[1] != NULL ? schema->key_columns[1] : "''";
		struct buffer sql CLEANUP(buffer_clear) = {0};

		buffer_append_format(&sql,
				     "SELECT '%s', %s, %s FROM %s ORDER BY 1 %%s, %s %%s, 3 %%s",
				     schema->name, schema->key_columns[0], second,
				     directory_schema_sql(schema->name), schema->key_columns[0]);
		buffer_append_byte(&sql, '\0');
		scan_keys_both_ways(repair, buffer_data(&sql), each);
	}
}

/* ---- the record of a key ---- */

struct found {
	struct directory_record record;
	struct sqlite_sum sum; /* that the file has for it */
	uint32_t read;         /* that it has */
	bool is_there;
	bool is_readable;
};

static struct found find_row_to_repair(struct sqlite_repair *repair,
				       const struct sqlite_columns *columns)
{
	enum directory_table table = directory_table_find(columns->table);
	struct found found = {.is_readable = table != DIRECTORY_NO_TABLE};

	if (!found.is_readable)
		return found;
	if (sqlite_sum_find(repair->old, columns, &found.sum) != SQLITE_OK)
		repair->has_errors = true;
	found.is_readable = sqlite_row_raw(repair->old, table, columns, repair->arena,
					   &found.is_there, &found.record) == SQLITE_OK;
	if (found.is_there && found.is_readable)
		found.read = sqlite_sum_of(&repair->old->schemas[table], columns,
					   found.record.fields, found.record.field_count);
	return found;
}

/* ---- whether they add up ---- */

static void add_up_one(struct sqlite_repair *repair, const struct sqlite_columns *columns)
{
	struct found found = find_row_to_repair(repair, columns);

	repair->has_errors |= !found.is_readable;
	if (!found.sum.is_there || found.sum.is_known)
		repair->total += found.read;
}

bool sqlite_repair_add_up(struct sqlite_repair *repair)
{
	sqlite3_stmt *statement = NULL;

	repair->total = 0;
	repair->file_total = -1;
	scan_tables(repair, add_up_one);
	if (sqlite3_prepare_v2(repair->old->database, "SELECT total FROM meta", -1, &statement,
			       NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		repair->file_total = sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	return repair->file_total == repair->total;
}

/* ---- what is good, and what is not ---- */

static void tell_lost_record(struct sqlite_repair *repair, const struct sqlite_columns *columns,
			     const char *why)
{
	struct buffer key CLEANUP(buffer_clear) = {0};

	buffer_append_str(&key, columns->key);
	if (columns->member.length > 0) {
		buffer_append_byte(&key, ' ');
		buffer_append_str(&key, columns->member);
	}
	repair->options->lost_count++;
	if (repair->made == NULL) /* else it was told before */
		repair->options->lost(repair->options->context, columns->table, buffer_view(&key),
				      why);
}

static void keep_scanned_record(struct sqlite_repair *repair, const struct sqlite_columns *columns,
				struct directory_record *record)
{
	struct buffer key CLEANUP(buffer_clear) = {0};
	bool existed;

	repair->options->good++;
	if (repair->made == NULL || repair->made_error != SQLITE_OK)
		return;
	buffer_append_str(&key, columns->key);
	if (directory_table_has_pairs(record->key.table)) {
		buffer_append_byte(&key, ' ');
		buffer_append_str(&key, columns->member);
	}
	record->key.name = buffer_view(&key);
	repair->made_error = sqlite_put(repair->made, record, &existed);
	if (repair->made_error == SQLITE_OK)
		repair->made_error = sqlite_sum_change(repair->made, record, false, &repair->total);
}

/* True once for each key. */
static bool is_first(struct sqlite_repair *repair, const struct sqlite_columns *columns)
{
	static const char SQL[] = "INSERT OR IGNORE INTO temp.seen VALUES(?1, ?2, ?3)";
	sqlite3_stmt *statement = NULL;
	int error = sqlite3_prepare_v2(repair->old->database, SQL, -1, &statement, NULL);

	if (error == SQLITE_OK) {
		sqlite_bind(statement, 1, columns->table);
		sqlite_bind(statement, 2, columns->key);
		sqlite_bind(statement, 3, columns->member);
		error = sqlite3_step(statement);
	}
	(void)sqlite3_finalize(statement);
	return error != SQLITE_DONE || sqlite3_changes(repair->old->database) > 0;
}

static void sort_one(struct sqlite_repair *repair, const struct sqlite_columns *columns)
{
	struct found found;
	const char *why;

	if (!is_first(repair, columns))
		return;
	found = find_row_to_repair(repair, columns);
	repair->known_total += found.sum.is_known ? found.sum.value : 0;
	why = sqlite_sum_judge(&found.sum, found.is_there ? &found.read : NULL);
	repair->has_bad_sums |= why != NULL;
	if (!found.is_readable)
		tell_lost_record(repair, columns, "it cannot be read");
	else if (found.is_there && (why == NULL || repair->is_total_right))
		keep_scanned_record(repair, columns, &found.record);
	else if (why != NULL && !repair->is_total_right)
		tell_lost_record(repair, columns, why);
}

void sqlite_repair_sort(struct sqlite_repair *repair)
{
	repair->total = 0;
	repair->known_total = 0;
	repair->options->good = 0;
	repair->options->lost_count = 0;
	(void)sqlite3_exec(repair->old->database, "DELETE FROM temp.seen", NULL, NULL, NULL);
	scan_keys_both_ways(repair,
			    "SELECT table_name, key, member FROM checksum"
			    " ORDER BY table_name %s, key %s, member %s",
			    sort_one);
	scan_tables(repair, sort_one);
	if (repair->file_total < 0)
		repair->options->has_unnamed = repair->has_errors;
	else
		repair->options->has_unnamed =
			!repair->is_total_right && repair->known_total != repair->file_total;
}
