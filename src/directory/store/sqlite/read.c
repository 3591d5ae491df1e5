// SPDX-License-Identifier: ISC
/* Reading: many questions in one transaction, and lists page by page. */
#include "directory/record/key.h"
#include "directory/store/sqlite/internal.h"
#include <errno.h>
#include <string.h>

void sqlite_begin(struct directory_store *base)
{
	CONTAINER_OF(base, struct sqlite_store, base)->is_batch = true;
}

void sqlite_end(struct directory_store *base)
{
	struct sqlite_store *store = CONTAINER_OF(base, struct sqlite_store, base);

	store->is_batch = false;
	sqlite_end_reading(store);
}

/* All that is read between begin and end is of one state. Changes by others up to that state are
 * reported first, so that answers never mix with older cached ones; while they cannot be, nothing
 * is answered: nobody has looked whether what is gone was meant to go (directory/store/guard). */
static int begin_reading(struct sqlite_store *store)
{
	int error;

	if (!store->is_batch || store->is_reading || store->database == NULL)
		return SQLITE_OK;
	error = sqlite_run(store->data[DATA_BEGIN]);
	store->is_reading = error == SQLITE_OK;
	if (error == SQLITE_OK)
		error = sqlite_notice(store);
	if (error != SQLITE_OK)
		sqlite_end_reading(store);
	return error;
}

/* What is not there must have no checksum. */
static int check_absence(struct sqlite_store *store, const struct directory_key *key,
			 bool *is_bad_out)
{
	struct sqlite_columns columns = sqlite_columns_of(store, key);
	const char *damage = NULL;
	int error = sqlite_sum_check(store, &columns, NULL, &damage);

	if (error != SQLITE_OK || damage == NULL)
		return error;
	sqlite_sum_tell(store, key, damage);
	*is_bad_out = true;
	return SQLITE_OK;
}

/* *IS_BAD_OUT: there is a row, but it is malformed or damaged, or there was one. */
static int get_one(struct sqlite_store *store, const struct directory_key *key, struct arena *arena,
		   const struct directory_record **record_out, bool *is_bad_out)
{
	sqlite3_stmt *statement = store->rows[key->table][SQLITE_STATEMENT_GET];
	int error;

	(void)sqlite_bind_key(statement, 1, key);
	error = sqlite3_step(statement);
	if (error == SQLITE_ROW) {
		error = sqlite_row(store, statement, key, arena, record_out);
		*is_bad_out |= *record_out == NULL;
	} else if (error == SQLITE_DONE) {
		error = check_absence(store, key, is_bad_out);
	}
	(void)sqlite3_reset(statement);
	return error;
}

void sqlite_get(struct directory_store *base, const struct directory_key *keys, size_t count,
		directory_got *got, void *context)
{
	struct sqlite_store *store = CONTAINER_OF(base, struct sqlite_store, base);
	const struct directory_record **records;
	struct arena *arena;
	bool is_bad = false;
	int error;

	if (store->database == NULL) {
		got(context, -ENOTCONN, NULL, base->version);
		return;
	}
	arena = sqlite_take_arena(store);
	records = arena_alloc(arena, count * sizeof(void *));
	error = begin_reading(store);
	for (size_t i = 0; i < count && error == SQLITE_OK; i++)
		error = get_one(store, &keys[i], arena, &records[i], &is_bad);
	if (error != SQLITE_OK) {
		got(context, sqlite_failed(store, error, "get"), NULL, base->version);
	} else {
		store->has_failed_read = false;
		got(context, is_bad ? -EBADMSG : 0, is_bad ? NULL : records, base->version);
	}
	sqlite_give_arena(store, arena);
}

/* The least text greater than all texts that begin with PREFIX; false: there is none. */
static bool end_of(struct arena *arena, struct str prefix, struct str *end_out)
{
	char *end;

	while (prefix.length > 0 && (unsigned char)prefix.data[prefix.length - 1] == 0xff)
		prefix.length--;
	if (prefix.length == 0)
		return false;
	end = arena_copy(arena, prefix);
	end[prefix.length - 1]++;
	*end_out = str_slice(end, prefix.length);
	return true;
}

/* The least text greater than TEXT. */
static struct str after_of(struct arena *arena, struct str text)
{
	return str_slice(arena_copy(arena, text), text.length + 1); /* includes the NUL */
}

static bool is_less(struct str a, struct str b)
{
	size_t shorter = a.length < b.length ? a.length : b.length;
	int order = shorter > 0 ? memcmp(a.data, b.data, shorter) : 0;

	return order < 0 || (order == 0 && a.length < b.length);
}

/* Binds the upper end of PREFIX; if there is none, a blob, which is greater than all texts. */
static void bind_end(sqlite3_stmt *statement, int place, struct arena *arena, struct str prefix)
{
	struct str end;

	if (end_of(arena, prefix, &end))
		sqlite_bind(statement, place, end);
	else
		(void)sqlite3_bind_zeroblob(statement, place, 0);
}

/* Pairs with the same first address: PREFIX is "FIRST " and more. */
static sqlite3_stmt *bind_pairs(struct sqlite_store *store, enum directory_table table,
				struct arena *arena, struct str prefix, struct str from,
				size_t limit)
{
	sqlite3_stmt *statement =
		store->data[table == DIRECTORY_MEMBER ? DATA_LIST_MEMBERS : DATA_LIST_MEMBERSHIPS];
	struct str first;
	struct str second;

	directory_key_member(prefix, &first, &second);
	sqlite_bind(statement, 1, first);
	sqlite_bind(statement, 2, str_skip(from, first.length + 1));
	bind_end(statement, 3, arena, second);
	(void)sqlite3_bind_int64(statement, 4, (sqlite3_int64)limit);
	return statement;
}

/* Whether PREFIX begins with the whole first address of pairs. */
static bool is_of_one(enum directory_table table, struct str prefix)
{
	struct str first;
	struct str second;

	if (!directory_table_has_pairs(table))
		return false;
	directory_key_member(prefix, &first, &second);
	return first.length < prefix.length;
}

/* A statement that lists what begins with PREFIX from FROM on, inclusive. */
static sqlite3_stmt *bind_list(struct sqlite_store *store, enum directory_table table,
			       struct arena *arena, struct str prefix, struct str from,
			       size_t limit)
{
	sqlite3_stmt *statement = store->rows[table][SQLITE_STATEMENT_LIST];
	struct directory_key key = {table, from};
	int place;

	if (is_of_one(table, prefix))
		return bind_pairs(store, table, arena, prefix, from, limit);
	place = sqlite_bind_key(statement, 1, &key);
	bind_end(statement, place, arena, prefix);
	(void)sqlite3_bind_int64(statement, place + 1, (sqlite3_int64)limit);
	return statement;
}

struct listing {
	struct directory_record *records;
	size_t count;
	struct directory_malformed *malformed;
	size_t malformed_count;
	size_t limit; /* of records and malformed ones each */
	size_t rows;  /* read last */
	struct str last;
};

static void add_malformed_to_listing(struct listing *listing,
				     const struct directory_malformed *found)
{
	struct directory_malformed *malformed = &listing->malformed[listing->malformed_count];

	if (listing->malformed_count == listing->limit)
		return;
	*malformed = *found;
	if (malformed->key.length > DIRECTORY_KEY_MAX)
		malformed->key.length = DIRECTORY_KEY_MAX;
	listing->malformed_count++;
}

static int read_rows_of_listing(struct sqlite_store *store, sqlite3_stmt *statement,
				enum directory_table table, struct arena *arena,
				struct listing *listing)
{
	int error;

	listing->rows = 0;
	while ((error = sqlite3_step(statement)) == SQLITE_ROW) {
		const struct directory_record *record = NULL;
		struct directory_malformed found;

		error = sqlite_listed_row(store, statement, table, arena, &record, &found);
		if (error != SQLITE_OK)
			break;
		listing->rows++;
		listing->last = found.key;
		if (record != NULL)
			listing->records[listing->count++] = *record;
		else
			add_malformed_to_listing(listing, &found);
	}
	(void)sqlite3_reset(statement);
	return error == SQLITE_DONE ? SQLITE_OK : error;
}

static int read_page_of_listing(struct sqlite_store *store, enum directory_table table,
				struct arena *arena, struct str prefix, struct str from,
				struct listing *listing, bool *is_end_out)
{
	size_t wanted = listing->limit;
	int error = begin_reading(store);

	*is_end_out = false;
	/* a short page would mean the end, so the place of malformed rows is filled */
	while (wanted > 0 && error == SQLITE_OK) {
		error = read_rows_of_listing(store,
					     bind_list(store, table, arena, prefix, from, wanted),
					     table, arena, listing);
		*is_end_out = listing->rows < wanted;
		if (*is_end_out)
			break;
		from = after_of(arena, listing->last);
		wanted = listing->limit - listing->count;
	}
	return error;
}

/* ---- what should be listed, and is lost ---- */

static void split_key(enum directory_table table, struct str key, struct str *first_out,
		      struct str *second_out)
{
	*first_out = key;
	*second_out = STR("");
	if (directory_table_has_pairs(table))
		directory_key_member(key, first_out, second_out);
}

/* Binds the end of what was listed: after LAST, or, if that is empty, of PREFIX. */
static void bind_listed_end(sqlite3_stmt *statement, enum directory_table table,
			    struct arena *arena, struct str prefix, struct str last)
{
	struct str first;
	struct str second;

	split_key(table, last.length > 0 ? last : prefix, &first, &second);
	if (last.length > 0 && directory_table_has_pairs(table)) {
		sqlite_bind(statement, 3, first);
		sqlite_bind(statement, 4, after_of(arena, second));
	} else if (is_of_one(table, prefix)) {
		sqlite_bind(statement, 3, first);
		bind_end(statement, 4, arena, second);
	} else {
		if (last.length > 0)
			sqlite_bind(statement, 3, after_of(arena, last));
		else
			bind_end(statement, 3, arena, prefix);
		sqlite_bind(statement, 4, STR(""));
	}
}

static void add_lost_one(struct sqlite_store *store, enum directory_table table,
			 sqlite3_stmt *statement, struct arena *arena, struct listing *listing)
{
	struct buffer name CLEANUP(buffer_clear) = {0};
	struct directory_key key;

	buffer_append_str(&name, sqlite_column(statement, 0));
	if (directory_table_has_pairs(table)) {
		buffer_append_byte(&name, ' ');
		buffer_append_str(&name, sqlite_column(statement, 1));
	}
	key = (struct directory_key){table, arena_copy_str(arena, buffer_view(&name))};
	store->damage_count++;
	sqlite_sum_tell(store, &key, SQLITE_STORE_LOST);
	add_malformed_to_listing(listing,
				 &(struct directory_malformed){key.name, STR(SQLITE_STORE_LOST)});
}

/* Of those from FROM on that have a checksum. IS_END: all that begin with PREFIX were listed. */
static int add_lost(struct sqlite_store *store, enum directory_table table, struct arena *arena,
		    struct str prefix, struct str from, bool is_end, struct listing *listing)
{
	sqlite3_stmt *statement = store->rows[table][SQLITE_STATEMENT_LIST_LOST];
	struct str first;
	struct str second;
	int error;

	split_key(table, from, &first, &second);
	sqlite_bind(statement, 1, first);
	sqlite_bind(statement, 2, second);
	bind_listed_end(statement, table, arena, prefix, is_end ? STR("") : listing->last);
	(void)sqlite3_bind_int64(statement, 5, (sqlite3_int64)listing->limit);
	while ((error = sqlite3_step(statement)) == SQLITE_ROW)
		add_lost_one(store, table, statement, arena, listing);
	(void)sqlite3_reset(statement);
	return error == SQLITE_DONE ? SQLITE_OK : error;
}

/* A list of members with less than all of them would be taken for the whole list. */
static int judge_listing(struct sqlite_store *store, enum directory_table table, struct str prefix,
			 uint64_t damage_before, int error)
{
	if (error != SQLITE_OK)
		return sqlite_failed(store, error, "list");
	return store->damage_count > damage_before && is_of_one(table, prefix) ? -EBADMSG : 0;
}

void sqlite_list(struct directory_store *base, enum directory_table table, struct str prefix,
		 struct str after, size_t limit, directory_listed *listed, void *context)
{
	struct sqlite_store *store = CONTAINER_OF(base, struct sqlite_store, base);
	struct listing listing = {.limit = limit};
	uint64_t damage_before = store->damage_count;
	struct str from;
	struct arena *arena;
	bool is_end;
	int error;

	if (store->database == NULL) {
		directory_list_fail(listed, context, -ENOTCONN, base->version);
		return;
	}
	arena = sqlite_take_arena(store);
	from = after.length > 0 ? after_of(arena, after) : prefix;
	if (is_less(from, prefix))
		from = prefix;
	listing.records = arena_alloc(arena, limit * sizeof *listing.records);
	listing.malformed = arena_alloc(arena, limit * sizeof *listing.malformed);
	error = read_page_of_listing(store, table, arena, prefix, from, &listing, &is_end);
	if (error == SQLITE_OK)
		error = add_lost(store, table, arena, prefix, from, is_end, &listing);
	error = judge_listing(store, table, prefix, damage_before, error);
	if (error != 0)
		directory_list_fail(listed, context, error, base->version);
	else
		listed(context, 0,
		       &(struct directory_page){listing.records, listing.count, listing.malformed,
						listing.malformed_count},
		       base->version);
	sqlite_give_arena(store, arena);
}

void sqlite_count(struct directory_store *base, directory_counted *counted, void *context)
{
	struct sqlite_store *store = CONTAINER_OF(base, struct sqlite_store, base);
	sqlite3_stmt *statement = store->data[DATA_COUNT];
	uint64_t count = 0;
	int error;

	if (store->database == NULL) {
		counted(context, -ENOTCONN, 0);
		return;
	}
	error = sqlite3_step(statement);

	if (error == SQLITE_ROW)
		count = (uint64_t)sqlite3_column_int64(statement, 0);
	(void)sqlite3_reset(statement);
	counted(context, error == SQLITE_ROW ? 0 : sqlite_failed(store, error, "count"), count);
}
