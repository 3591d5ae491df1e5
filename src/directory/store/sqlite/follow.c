// SPDX-License-Identifier: ISC
/* Finds changes by the table "change" of the data: our own, and those that others made by plain
 * SQL.
 *
 * A writer first writes to the log (WAL), which inotify reports; the commit follows a moment later,
 * after the writer's sync, and is not reported: so the file is polled for a while, and four times a
 * second until no writer can be in the midst of it. That the file is replaced, emptied or removed
 * is reported, too. So polls of a quiet file are for what inotify does not see: a directory further
 * up that gets another name, a writer who stood still for long. Without inotify the file is polled
 * four times a second always. */
#include "base/timestamp.h"
#include "directory/store/sqlite/internal.h"
#include "os/clock.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	POLL_US = 250000,
	MORE_US = 5000,
	SOON_FIRST_US = 1000,  /* first poll after a write, */
	SOON_MOST_US = 16000,  /* doubled up to this, */
	SOON_FOR_US = 2000000, /* for so long */
	PAGE = 1000,           /* changes reported at a time */
	BEHIND_MAX = 100000,   /* changes: more of them are a reset */
	PRUNE_EACH = 1000,     /* versions between two prunings of the table */
	UNKNOWN = -1,          /* the file's data version, which SQLite counts from 1 */
};

static const int64_t QUIET_POLL_US = 5 * SECOND_US;
static const int64_t COMMIT_MOST_US = 5 * MINUTE_US; /* after its last write */

struct page {
	struct directory_key keys[PAGE];
	uint64_t versions[PAGE];
	size_t count;
};

/* Reads the keys that changed after VERSION, at most LIMIT, into ARENA. */
static int read_changes(struct sqlite_store *store, uint64_t version, size_t limit,
			struct arena *arena, struct directory_key *keys, uint64_t *versions,
			size_t *count_out)
{
	sqlite3_stmt *statement = store->data[DATA_CHANGES];
	size_t count = 0;
	int error;

	(void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)version);
	(void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)limit);
	while ((error = sqlite3_step(statement)) == SQLITE_ROW && count < limit) {
		keys[count] =
			(struct directory_key){directory_table_find(sqlite_column(statement, 1)),
					       arena_copy_str(arena, sqlite_column(statement, 2))};
		versions[count++] = (uint64_t)sqlite3_column_int64(statement, 0);
	}
	(void)sqlite3_reset(statement);
	*count_out = count;
	return error == SQLITE_DONE || error == SQLITE_ROW ? SQLITE_OK : error;
}

void sqlite_missed(struct directory_store *base, uint64_t version, size_t limit,
		   directory_missed *missed, void *context)
{
	struct sqlite_store *store = CONTAINER_OF(base, struct sqlite_store, base);
	struct arena *arena = sqlite_take_arena(store);
	struct directory_key *keys;
	uint64_t *versions;
	size_t count = 0;
	int error = SQLITE_OK;

	if (store->database == NULL || version > base->version || base->version - version > limit) {
		missed(context, -ESTALE, NULL, NULL, 0);
		sqlite_give_arena(store, arena);
		return;
	}
	/* changes not reported yet will come by changed() */
	limit = (size_t)(base->version - version);
	keys = arena_alloc(arena, limit * sizeof *keys);
	versions = arena_alloc(arena, limit * sizeof *versions);
	if (limit > 0)
		error = read_changes(store, version, limit, arena, keys, versions, &count);
	if (error != SQLITE_OK)
		missed(context, sqlite_failed(store, error, "since"), NULL, NULL, 0);
	else if (count < limit) /* the table was pruned */
		missed(context, -ESTALE, NULL, NULL, 0);
	else
		missed(context, 0, keys, versions, count);
	sqlite_give_arena(store, arena);
}

static void reset_to_version(struct sqlite_store *store, uint64_t version, struct str identity)
{
	snprintf(store->base.identity, sizeof store->base.identity, STR_FORMAT,
		 STR_ARGUMENTS(identity));
	store->base.version = version;
	if (store->base.handler != NULL)
		store->base.handler->reset(store->base.context);
}

/* Reports the next changes, at most PAGE. */
static int tell_page(struct sqlite_store *store, size_t *count_out)
{
	struct arena *arena = sqlite_take_arena(store);
	struct page *page = arena_alloc(arena, sizeof *page);
	int error = read_changes(store, store->base.version, PAGE, arena, page->keys,
				 page->versions, &page->count);

	*count_out = error == SQLITE_OK ? page->count : 0;
	if (*count_out > 0) {
		store->base.version = page->versions[page->count - 1];
		if (store->base.handler != NULL)
			store->base.handler->changed(store->base.context, page->keys,
						     page->versions, page->count);
	}
	sqlite_give_arena(store, arena);
	return error;
}

static int read_oldest_version(struct sqlite_store *store, uint64_t *version_out)
{
	sqlite3_stmt *statement = store->data[DATA_OLDEST];
	int error = sqlite3_step(statement);

	if (error == SQLITE_ROW)
		*version_out = (uint64_t)sqlite3_column_int64(statement, 0);
	(void)sqlite3_reset(statement);
	return error == SQLITE_ROW ? SQLITE_OK : error;
}

/* Prunes the table, if nobody else is writing. */
static void prune_log_of_changes(struct sqlite_store *store)
{
	sqlite3_stmt *statement = store->data[DATA_PRUNE];
	int error;

	if (store->base.version - store->pruned_version < PRUNE_EACH)
		return;
	error = sqlite_begin_write(store);
	if (error != SQLITE_OK)
		return;
	(void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)store->base.version);
	error = sqlite_run(statement);
	if (error == SQLITE_OK)
		error = sqlite_run(store->data[DATA_COMMIT]);
	if (error != SQLITE_OK)
		sqlite_roll_back(store);
	store->pruned_version = store->base.version;
}

/* Must run in the read transaction, if there is one. */
static int follow_changes_by_others(struct sqlite_store *store, struct arena *arena)
{
	struct str identity;
	uint64_t version;
	uint64_t first = 0;
	size_t count;
	int error = sqlite_meta(store, &version, &identity, arena);

	if (error != SQLITE_OK ||
	    (version == store->base.version && str_equal(identity, str_from(store->base.identity))))
		return error;
	error = read_oldest_version(store, &first);
	if (error != SQLITE_OK)
		return error;
	if (version < store->base.version || version - store->base.version > BEHIND_MAX ||
	    first > store->base.version + 1 ||
	    !str_equal(identity, str_from(store->base.identity))) {
		reset_to_version(store, version, identity);
		return SQLITE_OK;
	}
	do
		error = tell_page(store, &count);
	while (error == SQLITE_OK && count == PAGE);
	if (error == SQLITE_OK && store->base.version < version)
		reset_to_version(store, version, identity); /* the table was emptied by somebody */
	return error;
}

/* Whether inotify reports all that may come. */
static bool is_quiet(const struct sqlite_store *store)
{
	return store->watch != NULL && (store->place_watch != NULL || !store->is_followed) &&
	       store->data_version != UNKNOWN &&
	       os_clock_monotonic_us() - store->written_us >= COMMIT_MOST_US;
}

static void poll_often(struct sqlite_store *store)
{
	if (is_quiet(store))
		os_timer_start(store->poll, POLL_US);
}

/* Somebody writes: his commit will come, or another's. */
static void expect_commit(struct sqlite_store *store)
{
	poll_often(store);
	store->written_us = os_clock_monotonic_us();
}

static int follow_or_say(struct sqlite_store *store)
{
	struct arena *arena = sqlite_take_arena(store);
	int error = follow_changes_by_others(store, arena);

	if (error != SQLITE_OK)
		(void)sqlite_failed(store, error, "follow");
	sqlite_give_arena(store, arena);
	return error;
}

void sqlite_follow(struct sqlite_store *store)
{
	sqlite_end_reading(store); /* it may see an older state */
	expect_commit(store);      /* of who began to write after ours */
	os_file_watch_forget(store->watch);
	if (follow_or_say(store) != SQLITE_OK)
		store->data_version = UNKNOWN; /* the next look tries again */
	prune_log_of_changes(store);
}

static int64_t data_version(struct sqlite_store *store)
{
	sqlite3_stmt *statement = store->data[DATA_VERSION];
	int64_t version = UNKNOWN;

	if (sqlite3_step(statement) == SQLITE_ROW)
		version = sqlite3_column_int64(statement, 0);
	(void)sqlite3_reset(statement);
	return version;
}

int sqlite_notice(struct sqlite_store *store)
{
	int64_t version = data_version(store);
	int error;

	if (version == store->data_version && version != UNKNOWN)
		return SQLITE_OK;
	store->lacks_sums = true;
	error = follow_or_say(store);
	if (error != SQLITE_OK)
		poll_often(store);
	store->data_version = error == SQLITE_OK ? version : UNKNOWN;
	return error;
}

/* Reports changes by others, if any. */
static void look_for_changes_by_others(struct sqlite_store *store)
{
	sqlite_end_reading(store);
	(void)!sqlite_notice(store); /* it was logged; the next poll tries again */
}

void sqlite_look(void *context)
{
	struct sqlite_store *store = context;
	int64_t before = store->data_version;

	if (store->database == NULL)
		return;
	look_for_changes_by_others(store);
	/* an attempt that fails has written to the log, whose change calls this again: only polls
	 * repeat it */
	if (!store->could_not_sum)
		(void)sqlite_sum_add_missing(store); /* the next poll goes on */
	if (store->data_version != before || os_clock_monotonic_us() >= store->soon_until_us)
		return;
	os_timer_start(store->soon, store->soon_us);
	if (store->soon_us < SOON_MOST_US)
		store->soon_us *= 2;
}

static void on_written(void *context)
{
	struct sqlite_store *store = context;

	expect_commit(store);
	store->soon_us = SOON_FIRST_US;
	store->soon_until_us = os_clock_monotonic_us() + SOON_FOR_US;
	sqlite_look(store);
}

static void watch_log(struct sqlite_store *store)
{
	struct buffer path CLEANUP(buffer_clear) = {0};

	if (store->watch != NULL)
		return;
	store->written_us = os_clock_monotonic_us(); /* perhaps: nobody was watching */
	buffer_append_format(&path, "%s-wal%c", store->path, '\0');
	(void)!os_file_watch_new(store->loop, buffer_data(&path), on_written, store, &store->watch);
}

static int64_t until_poll_us(const struct sqlite_store *store, bool has_more)
{
	if (has_more)
		return MORE_US;
	return is_quiet(store) ? timestamp_until_round_us(os_clock_monotonic_us(), QUIET_POLL_US)
			       : POLL_US;
}

void sqlite_poll(void *context)
{
	struct sqlite_store *store = context;
	bool has_more = false; /* records without checksums */

	store->told_count = 0;
	if (store->database != NULL && store->is_followed && store->place_watch == NULL)
		(void)!os_file_watch_place(store->loop, store->path, sqlite_poll, store,
					   &store->place_watch);
	(void)sqlite_file_leave(store);
	if (store->database == NULL) {
		sqlite_file_return(store);
	} else {
		watch_log(store);
		look_for_changes_by_others(store);
		has_more = sqlite_sum_add_missing(store);
		prune_log_of_changes(store);
	}
	os_timer_start(store->poll, until_poll_us(store, has_more));
}

void store_sqlite_follow(struct directory_store *base)
{
	sqlite_follow(CONTAINER_OF(base, struct sqlite_store, base));
}
