// SPDX-License-Identifier: ISC
/* Transactions, and the data's version and identity. */
#include "directory/store/sqlite/internal.h"

int sqlite_begin_write(struct sqlite_store *store)
{
	int error;

	/* the loop must not block while another process writes */
	(void)sqlite3_busy_timeout(store->database, 0);
	error = sqlite_run(store->data[DATA_BEGIN_WRITE]);
	(void)sqlite3_busy_timeout(store->database, SQLITE_STORE_BUSY_MS);
	return error;
}

void sqlite_roll_back(struct sqlite_store *store)
{
	/* some errors have rolled back already */
	if (sqlite3_get_autocommit(store->database))
		return;
	(void)sqlite3_step(store->data[DATA_ROLLBACK]);
	(void)sqlite3_reset(store->data[DATA_ROLLBACK]);
}

struct arena *sqlite_take_arena(struct sqlite_store *store)
{
	struct arena *arena = store->spare;

	store->spare = NULL;
	return arena != NULL ? arena : arena_new();
}

void sqlite_give_arena(struct sqlite_store *store, struct arena *arena)
{
	if (store->spare != NULL) {
		arena_free(arena);
		return;
	}
	arena_reset(arena);
	store->spare = arena;
}

void sqlite_end_reading(struct sqlite_store *store)
{
	if (store->is_reading) {
		(void)sqlite3_step(store->data[DATA_COMMIT]);
		(void)sqlite3_reset(store->data[DATA_COMMIT]);
	}
	store->is_reading = false;
}

int sqlite_meta(struct sqlite_store *store, uint64_t *version_out, struct str *identity_out,
		struct arena *arena)
{
	sqlite3_stmt *statement = store->data[DATA_META];
	int error = sqlite3_step(statement);

	if (error == SQLITE_ROW) {
		*version_out = (uint64_t)sqlite3_column_int64(statement, 0);
		*identity_out = arena_copy_str(arena, sqlite_column(statement, 1));
		error = SQLITE_OK;
	} else if (error == SQLITE_DONE) {
		error = SQLITE_CORRUPT; /* there must be one row */
	}
	(void)sqlite3_reset(statement);
	return error;
}

void sqlite_unwatch(struct sqlite_store *store)
{
	os_timer_stop(store->soon);
	os_file_watch_free(store->watch);
	store->watch = NULL;
	os_file_watch_free(store->place_watch);
	store->place_watch = NULL;
}
