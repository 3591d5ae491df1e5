// SPDX-License-Identifier: ISC
/* Changes: all of one turn of the loop are one transaction, and share its sync. */
#include "base/panic.h"
#include "directory/store/sqlite/internal.h"
#include "log/event.h"
#include "os/clock.h"
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

enum {
	RETRY_US = 5000, /* while another process writes */
	PATIENCE_US = 5000000,
};

struct sqlite_change { /* one call */
	struct arena *arena;
	struct directory_change *changes;
	bool *existed;
	size_t count;
	int error; /* of this call alone */
	uint64_t version;
	directory_changed *changed;
	void *context;
	struct sqlite_change *prev, *next;
};

void sqlite_change(struct directory_store *base, const struct directory_change *changes,
		   size_t count, directory_changed *changed, void *context)
{
	struct sqlite_store *store = CONTAINER_OF(base, struct sqlite_store, base);
	struct arena *arena = arena_new();
	struct sqlite_change *call = arena_alloc(arena, sizeof *call);

	call->arena = arena;
	call->changes = arena_alloc(arena, count * sizeof *call->changes);
	call->existed = arena_alloc(arena, count * sizeof *call->existed);
	call->count = count;
	call->changed = changed;
	call->context = context;
	for (size_t i = 0; i < count; i++) {
		call->changes[i] = changes[i];
		call->changes[i].record = directory_record_copy(arena, &changes[i].record);
	}
	DL_APPEND(store->waiting, call);
	if (!os_timer_is_running(store->retry))
		os_loop_defer(store->loop, &store->commit);
}

static void bind_columns_of_record(const struct directory_schema *schema, sqlite3_stmt *statement,
				   int place, const struct directory_record *record)
{
	for (int i = 0; schema->columns[i].field != NULL; i++) {
		struct str value = directory_record_field(record, schema->columns[i].field);

		if (value.length > 0)
			sqlite_bind(statement, place + i, value);
		else
			(void)sqlite3_bind_null(statement, place + i);
	}
}

static int write_child_rows(struct sqlite_store *store, const struct directory_record *record)
{
	sqlite3_stmt *statement = store->rows[record->key.table][SQLITE_STATEMENT_INSERT_CHILD];
	struct str name = str_from(store->schemas[record->key.table].child);
	int position = 0;
	int error = SQLITE_OK;

	for (size_t i = 0; i < record->field_count && error == SQLITE_OK; i++) {
		if (!str_equal(record->fields[i].name, name))
			continue;
		sqlite_bind(statement, 1, record->key.name);
		(void)sqlite3_bind_int(statement, 2, position++);
		sqlite_bind(statement, 3, record->fields[i].value);
		error = sqlite_run(statement);
	}
	return error;
}

/* Runs STATEMENT for the key of RECORD; *IS_ROW_OUT: it changed a row. */
static int run_about(struct sqlite_store *store, sqlite3_stmt *statement,
		     const struct directory_record *record, bool has_columns, bool *is_row_out)
{
	int place = sqlite_bind_key(statement, 1, &record->key);
	int error;

	if (has_columns)
		bind_columns_of_record(&store->schemas[record->key.table], statement, place,
				       record);
	error = sqlite_run(statement);
	*is_row_out = error == SQLITE_OK && sqlite3_changes(store->database) > 0;
	return error;
}

int sqlite_put(struct sqlite_store *store, const struct directory_record *record, bool *existed)
{
	sqlite3_stmt **statements = store->rows[record->key.table];
	bool is_child_table = store->schemas[record->key.table].child != NULL;
	bool is_row;
	int error = run_about(store, statements[SQLITE_STATEMENT_UPDATE], record, true, existed);

	if (error == SQLITE_OK && !*existed)
		error = run_about(store, statements[SQLITE_STATEMENT_INSERT], record, true,
				  &is_row);
	if (error == SQLITE_OK && is_child_table)
		error = run_about(store, statements[SQLITE_STATEMENT_REMOVE_CHILDREN], record,
				  false, &is_row);
	if (error == SQLITE_OK && is_child_table)
		error = write_child_rows(store, record);
	return error;
}

static int take_away(struct sqlite_store *store, const struct directory_record *record,
		     bool *existed)
{
	sqlite3_stmt **statements = store->rows[record->key.table];
	bool is_row;
	int error = run_about(store, statements[SQLITE_STATEMENT_REMOVE], record, false, existed);

	if (error == SQLITE_OK && store->schemas[record->key.table].child != NULL)
		error = run_about(store, statements[SQLITE_STATEMENT_REMOVE_CHILDREN], record,
				  false, &is_row);
	return error;
}

static int note_change_in_log(struct sqlite_store *store, const struct directory_key *key,
			      uint64_t version)
{
	sqlite3_stmt *statement = store->data[DATA_LOG];

	(void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)version);
	sqlite_bind(statement, 2, str_from(directory_table_name(key->table)));
	sqlite_bind(statement, 3, key->name);
	return sqlite_run(statement);
}

/* Sets the call's error if CHANGE has a condition that is not met now, at VERSION. */
static int check_condition(struct sqlite_store *store, const struct directory_change *change,
			   uint64_t version, int *error_out)
{
	sqlite3_stmt *statement = store->data[DATA_HAS_CHANGED];
	const struct directory_key *key = &change->record.key;
	int error;

	if (!change->is_conditional || change->since == version)
		return SQLITE_OK;
	if (change->since > version) { /* of other data, which had more changes */
		*error_out = -ESTALE;
		return SQLITE_OK;
	}
	(void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)change->since);
	sqlite_bind(statement, 2, str_from(directory_table_name(key->table)));
	sqlite_bind(statement, 3, key->name);
	error = sqlite3_step(statement);
	if (error == SQLITE_ROW && sqlite3_column_int(statement, 0) != 0)
		*error_out = -ESTALE;
	(void)sqlite3_reset(statement);
	return error == SQLITE_ROW ? SQLITE_OK : error;
}

static int apply_changes_of_call(struct sqlite_store *store, struct sqlite_change *call,
				 uint64_t *version, int64_t *total)
{
	int error = check_condition(store, &call->changes[0], *version, &call->error);

	if (error != SQLITE_OK || call->error != 0)
		return error;

	for (size_t i = 0; i < call->count && error == SQLITE_OK; i++) {
		const struct directory_change *change = &call->changes[i];

		error = change->is_removal ? take_away(store, &change->record, &call->existed[i])
					   : sqlite_put(store, &change->record, &call->existed[i]);
		if (error == SQLITE_OK)
			error = sqlite_sum_change(store, &change->record, change->is_removal,
						  total);
		if (error == SQLITE_OK && (!change->is_removal || call->existed[i]))
			error = note_change_in_log(store, &change->record.key, ++*version);
	}
	call->version = *version;
	return error;
}

/* Applies all CALLS in the open transaction. */
static int apply_all(struct sqlite_store *store, struct sqlite_change *calls)
{
	sqlite3_stmt *set_version = store->data[DATA_SET_VERSION];
	struct arena *arena = sqlite_take_arena(store);
	struct sqlite_change *call;
	struct str identity;
	uint64_t version;
	int64_t total = 0;
	int error = sqlite_meta(store, &version, &identity, arena);

	sqlite_give_arena(store, arena);
	DL_FOREACH (calls, call) {
		if (error == SQLITE_OK)
			error = apply_changes_of_call(store, call, &version, &total);
	}
	if (error != SQLITE_OK)
		return error;
	(void)sqlite3_bind_int64(set_version, 1, (sqlite3_int64)version);
	(void)sqlite3_bind_int64(set_version, 2, total);
	return sqlite_run(set_version);
}

static void answer_changes(struct sqlite_change *calls, int error)
{
	struct sqlite_change *call;
	struct sqlite_change *next;

	DL_FOREACH_SAFE (calls, call, next) {
		DL_DELETE(calls, call);
		if (error != 0)
			call->error = error;
		call->changed(call->context, call->error, call->error == 0 ? call->existed : NULL,
			      call->version);
		arena_free(call->arena);
	}
}

/* Whether another process writes, so that the commit must wait. */
static bool must_wait_for_writer(struct sqlite_store *store)
{
	int64_t now_us = os_clock_monotonic_us();

	if (store->retry_until_us == 0)
		store->retry_until_us = now_us + PATIENCE_US;
	if (now_us >= store->retry_until_us)
		return false;
	os_timer_start(store->retry, RETRY_US);
	return true;
}

void sqlite_commit(void *context)
{
	struct sqlite_store *store = context;
	struct sqlite_change *calls = store->waiting;
	int error;
	int failure = 0;

	if (calls == NULL)
		return;
	if (sqlite_file_leave(store) || store->database == NULL) {
		store->waiting = NULL;
		store->retry_until_us = 0;
		answer_changes(calls, -EBUSY);
		return;
	}
	sqlite_end_reading(store);
	error = sqlite_begin_write(store);
	if ((error & 0xff) == SQLITE_BUSY && must_wait_for_writer(store))
		return;
	store->waiting = NULL;
	store->retry_until_us = 0;
	if (error == SQLITE_OK)
		error = apply_all(store, calls);
	if (error == SQLITE_OK)
		error = sqlite_run(store->data[DATA_COMMIT]);
	if (error != SQLITE_OK) {
		failure = sqlite_failed(store, error, "change");
		if (failure == -ETIMEDOUT)
			failure = -EIO;
		sqlite_roll_back(store);
	} else {
		store->has_failed_change = false;
		sqlite_follow(store);
		if (sqlite_file_leave(store)) /* it went into a file that has lost its name */
			failure = -EIO;
	}
	answer_changes(calls, failure);
}
