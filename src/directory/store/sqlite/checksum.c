// SPDX-License-Identifier: ISC
/*
 * Each record has a checksum in a table of its own, and the data have the total of all of them. The
 * table is also the list of the records that there are: where the disk has lost a page of records,
 * or has brought back an older one, it differs. The total tells that pages of both tables are lost.
 *
 * Others, who change records by SQL, cannot compute checksums: triggers make a place for one, and
 * it is filled in by lacking_sum.c. Until then the record is not protected.
 */
#include "base/checksum.h"
#include "directory/record/key.h"
#include "directory/store/sqlite/internal.h"
#include "log/event.h"
#include <errno.h>
#include <string.h>

struct sqlite_columns sqlite_columns_of(const struct sqlite_store *store,
					const struct directory_key *key)
{
	struct sqlite_columns columns = {str_from(store->schemas[key->table].name), key->name,
					 STR("")};

	if (key->table == DIRECTORY_MEMBER)
		directory_key_member(key->name, &columns.key, &columns.member);
	else if (key->table == DIRECTORY_MEMBERSHIP)
		directory_key_member(key->name, &columns.member, &columns.key);
	return columns;
}

/* ---- of one record ---- */

static uint32_t add_text_to_sum(uint32_t sum, struct str text)
{
	return checksum_extend(checksum_extend(sum, text.data, text.length), "", 1);
}

static uint32_t add_fields_to_sum(uint32_t sum, const struct directory_schema *schema,
				  bool is_child, const struct directory_field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool is_one =
			schema->child != NULL && str_equal(fields[i].name, str_from(schema->child));

		/* an empty column is no field, but an empty row is one */
		if (is_one == is_child && (is_child || fields[i].value.length > 0))
			sum = add_text_to_sum(add_text_to_sum(sum, fields[i].name),
					      fields[i].value);
	}
	return sum;
}

uint32_t sqlite_sum_of(const struct directory_schema *schema, const struct sqlite_columns *columns,
		       const struct directory_field *fields, size_t count)
{
	uint32_t sum = add_text_to_sum(0, columns->table);

	sum = add_text_to_sum(add_text_to_sum(sum, columns->key), columns->member);
	sum = add_fields_to_sum(sum, schema, false, fields, count);
	return add_fields_to_sum(sum, schema, true, fields, count);
}

static sqlite3_stmt *bind_key_of_sum(struct sqlite_store *store, enum data_statement which,
				     const struct sqlite_columns *columns)
{
	sqlite3_stmt *statement = store->data[which];

	sqlite_bind(statement, 1, columns->table);
	sqlite_bind(statement, 2, columns->key);
	sqlite_bind(statement, 3, columns->member);
	return statement;
}

int sqlite_sum_find(struct sqlite_store *store, const struct sqlite_columns *columns,
		    struct sqlite_sum *sum_out)
{
	sqlite3_stmt *statement = bind_key_of_sum(store, DATA_SUM, columns);
	int error = sqlite3_step(statement);

	*sum_out = (struct sqlite_sum){.is_there = error == SQLITE_ROW};
	if (error == SQLITE_ROW) {
		sum_out->is_known = sqlite3_column_type(statement, 0) != SQLITE_NULL;
		sum_out->value = (uint32_t)sqlite3_column_int64(statement, 0);
	}
	(void)sqlite3_reset(statement);
	return error == SQLITE_ROW || error == SQLITE_DONE ? SQLITE_OK : error;
}

const char *sqlite_sum_judge(const struct sqlite_sum *sum, const uint32_t *read)
{
	if (read == NULL)
		return sum->is_known ? SQLITE_STORE_LOST : NULL;
	if (!sum->is_there)
		return "its checksum is lost";
	return sum->is_known && sum->value != *read ? "its checksum differs" : NULL;
}

int sqlite_sum_check(struct sqlite_store *store, const struct sqlite_columns *columns,
		     const uint32_t *read, const char **damage_out)
{
	struct sqlite_sum sum;
	int error = sqlite_sum_find(store, columns, &sum);

	*damage_out = error == SQLITE_OK ? sqlite_sum_judge(&sum, read) : NULL;
	store->damage_count += *damage_out != NULL;
	return error;
}

void sqlite_sum_tell(struct sqlite_store *store, const struct directory_key *key,
		     const char *damage)
{
	struct sqlite_columns columns = sqlite_columns_of(store, key);
	uint32_t sum = sqlite_sum_of(&store->schemas[key->table], &columns, NULL, 0);
	struct buffer reason CLEANUP(buffer_clear) = {0};

	for (size_t i = 0; i < store->damage_told_count; i++)
		if (store->damage_told[i] == sum)
			return;
	if (store->damage_told_count == COUNT_OF(store->damage_told))
		return;
	store->damage_told[store->damage_told_count++] = sum;
	buffer_append_format(&reason, "%s" SQLITE_STORE_ADVICE, damage);
	log_event(EVENT_STORE_DAMAGED, log_string(path, store->path), log_str(table, columns.table),
		  log_str(key, key->name), log_str(reason, buffer_view(&reason)));
}

/* ---- changes ---- */

int sqlite_sum_set(struct sqlite_store *store, const struct sqlite_columns *columns, uint32_t sum)
{
	sqlite3_stmt *statement = bind_key_of_sum(store, DATA_SUM_SET, columns);

	(void)sqlite3_bind_int64(statement, 4, sum);
	return sqlite_run(statement);
}

int sqlite_sum_remove(struct sqlite_store *store, const struct sqlite_columns *columns)
{
	return sqlite_run(bind_key_of_sum(store, DATA_SUM_REMOVE, columns));
}

int sqlite_sum_change(struct sqlite_store *store, const struct directory_record *record,
		      bool is_removal, int64_t *total)
{
	struct sqlite_columns columns = sqlite_columns_of(store, &record->key);
	struct sqlite_sum before;
	uint32_t sum;
	int error = sqlite_sum_find(store, &columns, &before);

	if (error != SQLITE_OK)
		return error;
	*total -= before.is_known ? before.value : 0;
	if (is_removal)
		return before.is_there ? sqlite_sum_remove(store, &columns) : SQLITE_OK;
	sum = sqlite_sum_of(&store->schemas[record->key.table], &columns, record->fields,
			    record->field_count);
	*total += sum;
	return sqlite_sum_set(store, &columns, sum);
}

/* ---- all ---- */

int sqlite_sum_check_total(struct sqlite_store *store, struct buffer *why)
{
	sqlite3_stmt *statement = store->data[DATA_TOTAL_IS_RIGHT];
	int error = sqlite3_step(statement);
	bool is_right = error == SQLITE_ROW && sqlite3_column_int(statement, 0) != 0;

	(void)sqlite3_reset(statement);
	if (is_right)
		return 0;
	if (error == SQLITE_ROW)
		buffer_append_format(why, "%s: the total of its checksums differs%s", store->path,
				     SQLITE_STORE_ADVICE);
	else
		buffer_append_format(why, "%s: %s%s", store->path, sqlite3_errmsg(store->database),
				     sqlite_is_damage(error) ? SQLITE_STORE_ADVICE : "");
	return error == SQLITE_ROW ? -EIO : sqlite_errno(store, error);
}
