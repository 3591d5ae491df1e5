// SPDX-License-Identifier: ISC
/* tests/unit/directory/store/postgresql/store_scene.h - the PostgreSQL store on a database in
 * memory, beside a plain model of its records. */
#ifndef TESTS_UNIT_POSTGRESQL_STORE_SCENE_H
#define TESTS_UNIT_POSTGRESQL_STORE_SCENE_H

#include "fake_database.h"
#include "fake_loop.h"
#include "test.h"
#include "unit/directory/bulk/random_record.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_MAX = 3000, CHANGES_MAX = 12, CALLS_MAX = 40 };

/* --- a model: the records that there are --- */

struct known {
	struct directory_key key;
	struct directory_record record; /* of no fields: there is none */
	bool exists;
};

static struct known known[KEYS_MAX];
static size_t known_count;
static struct arena *arena; /* of the model, and of all that it is asked */
static struct directory_store *store;
static struct postgresql_store *all;

static inline struct known *find_known(const struct directory_key *key)
{
	for (size_t i = 0; i < known_count; i++)
		if (known[i].key.table == key->table && str_equal(known[i].key.name, key->name))
			return &known[i];
	assert_true(known_count < KEYS_MAX);
	known[known_count] = (struct known){.key = {key->table, arena_copy_str(arena, key->name)}};
	return &known[known_count++];
}

/* The fields that may be repeated are in their order, the others in that of the rules. */
static inline bool is_same_record(const struct directory_record *one,
				  const struct directory_record *other)
{
	if (one->key.table != other->key.table || !str_equal(one->key.name, other->key.name) ||
	    one->field_count != other->field_count)
		return false;
	for (size_t i = 0; i < one->field_count; i++) {
		size_t k = 0, same_before = 0, same_found = 0;

		for (size_t before = 0; before < i; before++)
			same_before += str_equal(one->fields[before].name, one->fields[i].name);
		for (; k < other->field_count; k++)
			if (str_equal(other->fields[k].name, one->fields[i].name) &&
			    same_found++ == same_before)
				break;
		if (k == other->field_count ||
		    !str_equal(other->fields[k].value, one->fields[i].value))
			return false;
	}
	return true;
}

/* --- what is asked --- */

struct call {
	bool is_open;
	struct directory_change changes[CHANGES_MAX];
	struct directory_key keys[CHANGES_MAX];
	size_t count;
};

static struct call calls[CALLS_MAX];
static unsigned open_changes, open_gets, answered, stale;

static inline struct call *free_call(void)
{
	size_t i = 0;

	while (i < CALLS_MAX && calls[i].is_open)
		i++;
	assert_true(i < CALLS_MAX);
	calls[i] = (struct call){.is_open = true};
	return &calls[i];
}

static inline void on_changed(void *context, int error, const bool *existed, uint64_t version)
{
	struct call *call = context;

	assert_true(call->is_open);
	call->is_open = false;
	open_changes--;
	answered++;
	if (error != 0) {
		assert_null(existed);
		assert_true(error != -ESTALE ||
			    (call->changes[0].is_conditional &&
			     fake_database_has_changed(&call->changes[0].record.key,
						       call->changes[0].since)));
		stale += error == -ESTALE;
		return;
	}
	assert_true(version <= fake_database_version());
	for (size_t i = 0; i < call->count; i++) {
		const struct directory_change *change = &call->changes[i];
		struct known *one = find_known(&change->record.key);

		assert_int_equal(existed[i], one->exists);
		one->exists = !change->is_removal;
		one->record = change->record;
	}
}

static inline void change_something(void)
{
	struct call *call = free_call();
	bool is_conditional = random_pick(4) == 0;
	size_t most = is_conditional ? 1 : 1 + random_pick(CHANGES_MAX);

	while (call->count < most) {
		struct directory_change *change = &call->changes[call->count];
		struct directory_record record;

		if (!random_record(arena, &record))
			continue;
		*change = (struct directory_change){.record = record};
		if (random_pick(3) == 0) {
			change->is_removal = true;
			change->record.field_count = 0;
		}
		call->count++;
	}
	if (is_conditional) {
		call->changes[0].is_conditional = true;
		call->changes[0].since = fake_database_version() -
					 (fake_database_version() > 30 ? random_pick(30) : 0);
	}
	open_changes++;
	postgresql_change(store, call->changes, call->count, on_changed, call);
}

static inline void on_got(void *context, int error, const struct directory_record *const *records,
			  uint64_t version)
{
	struct call *call = context;

	(void)version;
	assert_true(call->is_open);
	call->is_open = false;
	open_gets--;
	answered++;
	if (error != 0) {
		assert_null(records);
		assert_true(error == -ETIMEDOUT || error == -EIO || error == -EACCES);
		return;
	}
	assert_int_equal(store->read_version, fake_database_version());
	for (size_t i = 0; i < call->count; i++) {
		const struct known *one = find_known(&call->keys[i]);

		if ((records[i] != NULL) != one->exists ||
		    (one->exists && !is_same_record(records[i], &one->record)))
			fail_msg("%s " STR_FORMAT, directory_table_name(one->key.table),
				 STR_ARGUMENTS(one->key.name));
	}
}

/* Known keys, and unknown ones, perhaps several times. */
static inline void get_something(void)
{
	struct call *call = free_call();

	call->count = 1 + random_pick(CHANGES_MAX);
	for (size_t i = 0; i < call->count; i++)
		call->keys[i] = known_count > 0 && random_pick(5) > 0
					? known[random_pick(known_count)].key
					: (struct directory_key){DIRECTORY_USER, STR("nobody")};
	open_gets++;
	postgresql_get(store, call->keys, call->count, on_got, call);
}

/* --- what becomes of it --- */

/* Answers of changes hang on what others see. */
static inline void answer_changes(bool may_fail)
{
	static const struct {
		int error;
		const char *state;
	} failures[] = {{-EAGAIN, "40001"},
			{-ENOSPC, "53100"},
			{-EROFS, "25006"},
			{-EIO, "XX000"},
			{-EPERM, "42501"}};
	size_t which = random_pick(may_fail ? 12 : 1000000);

	if (which < COUNT_OF(failures))
		fake_database_fail(FAKE_CHANGE, failures[which].error, failures[which].state);
	else
		fake_database_answer(FAKE_CHANGE);
	fake_database_follow(store);
}

static inline void settle(void)
{
	fake_database_end_turn();
	while (fake_database_is_asked(FAKE_CHANGE) || fake_database_is_asked(FAKE_READ)) {
		if (fake_database_is_asked(FAKE_CHANGE))
			answer_changes(true);
		if (fake_database_is_asked(FAKE_READ))
			fake_database_answer(FAKE_READ);
		fake_database_end_turn();
	}
	assert_int_equal(open_changes + open_gets, 0);
}

static inline void open_store(void)
{
	fake_begin(1);
	fake_advance(10 * SECOND_US);
	fake_database_begin();
	arena = arena_new();
	known_count = 0;
	memset(calls, 0, sizeof calls);
	open_changes = open_gets = answered = stale = 0;
	all = calloc(1, sizeof *all);
	assert_non_null(all);
	store = &all->base;
	for (unsigned table = DIRECTORY_NO_TABLE + 1; table < DIRECTORY_LISTED_TABLES; table++)
		all->schemas[table] = directory_schema_of(table);
	postgresql_reader_start(all);
	postgresql_writer_start(all);
	fake_database_return(FAKE_READ);
	fake_database_return(FAKE_CHANGE);
	assert_true(store->is_up);
}

static inline int close_store(void **state)
{
	(void)state;
	postgresql_writer_stop(all);
	postgresql_reader_stop(all);
	fake_database_end_turn();
	fake_database_end();
	free(all);
	arena_free(arena);
	return fake_timers() > 0 ? -1 : 0;
}

static inline int open_model(void **state)
{
	(void)state;
	open_store();
	return 0;
}

static int got_error;

static inline void note_error(void *context, int error,
			      const struct directory_record *const *records, uint64_t version)
{
	(void)context, (void)records, (void)version;
	got_error = error;
	answered++;
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, open_model, close_store)

#endif
