// SPDX-License-Identifier: ISC
#include "memory_store.h"
#include "base/panic.h"
#include "memory_table.h"
#include "record_text.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

struct waiting {
	void (*answer)(struct memory_store *store, struct waiting *waiting);
	struct arena *arena; /* of all that was asked; NULL: it is answered at once */
	const struct directory_key *keys;
	const struct directory_change *changes;
	size_t count; /* or the limit */
	enum directory_table table;
	struct str prefix, after;
	uint64_t version;
	directory_got *got;
	directory_listed *listed;
	directory_changed *changed;
	directory_missed *missed;
	directory_counted *counted;
	void *context;
	struct waiting *prev, *next;
};

struct memory_store_private {
	struct os_loop *loop;
	struct os_task task;
	struct memory_table data;
	struct waiting *queue;
};

/* Tells of all that was logged from FIRST on. */
static void tell(struct memory_store *store, size_t first)
{
	struct memory_table *data = &store->private->data;

	if (store->base.handler == NULL)
		return;
	for (size_t i = first; i < data->log_count; i++) {
		struct memory_log_entry entry = data->log[i];

		store->base.handler->changed(store->base.context, &entry.key, &entry.version, 1);
	}
}

static void answer_get(struct memory_store *store, struct waiting *waiting)
{
	const struct directory_record **records =
		memory_alloc_zero(waiting->count + 1, sizeof *records);
	bool is_there;

	for (size_t i = 0; i < waiting->count; i++) {
		size_t at = memory_table_find(&store->private->data, &waiting->keys[i], &is_there);

		if (is_there)
			records[i] = &store->private->data.entries[at].record;
	}
	waiting->got(waiting->context, store->error, store->error != 0 ? NULL : records,
		     store->base.version);
	free(records);
}

static void answer_list(struct memory_store *store, struct waiting *waiting)
{
	struct memory_table *data = &store->private->data;
	struct directory_record *records = memory_alloc_zero(waiting->count + 1, sizeof *records);
	bool is_after = waiting->after.length > 0;
	struct directory_key from = {waiting->table, is_after ? waiting->after : waiting->prefix};
	size_t count = 0;
	bool is_there;

	for (size_t i = memory_table_find(data, &from, &is_there);
	     i < data->count && count < waiting->count; i++) {
		const struct directory_record *record = &data->entries[i].record;

		if (record->key.table != waiting->table)
			break;
		if (str_starts_with(record->key.name, waiting->prefix) &&
		    (!is_after || memory_key_compare(&record->key, &from) > 0))
			records[count++] = *record;
	}
	store->listed += count;
	waiting->listed(waiting->context, store->error,
			store->error != 0 ? &(struct directory_page){0}
					  : &(struct directory_page){records, count, NULL, 0},
			store->base.version);
	free(records);
}

static void answer_change(struct memory_store *store, struct waiting *waiting)
{
	bool *existed = memory_alloc_zero(waiting->count + 1, sizeof *existed);
	size_t first = store->private->data.log_count;
	int error = store->error;

	if (error == 0 && memory_table_is_stale(&store->private->data, &waiting->changes[0]))
		error = -ESTALE;
	for (size_t i = 0; error == 0 && i < waiting->count; i++)
		existed[i] = memory_table_apply(&store->private->data, &waiting->changes[i],
						&store->base.version);
	tell(store, first);
	waiting->changed(waiting->context, error, error != 0 ? NULL : existed, store->base.version);
	free(existed);
}

static void answer_missed(struct memory_store *store, struct waiting *waiting)
{
	struct memory_table *data = &store->private->data;
	struct directory_key *keys = memory_alloc_zero(data->log_count + 1, sizeof *keys);
	uint64_t *versions = memory_alloc_zero(data->log_count + 1, sizeof *versions);
	int error = store->error;
	size_t count = 0;

	for (size_t i = 0; i < data->log_count; i++) {
		if (data->log[i].version <= waiting->version)
			continue;
		keys[count] = data->log[i].key;
		versions[count++] = data->log[i].version;
	}
	if (error == 0 && (count > waiting->count || waiting->version > store->base.version))
		error = -ESTALE;
	waiting->missed(waiting->context, error, keys, versions, error != 0 ? 0 : count);
	free(keys);
	free(versions);
}

static void answer_count(struct memory_store *store, struct waiting *waiting)
{
	const struct memory_table *data = &store->private->data;
	uint64_t count = 0;

	for (size_t i = 0; i < data->count; i++)
		count += data->entries[i].record.key.table == DIRECTORY_DOMAIN ||
			 data->entries[i].record.key.table == DIRECTORY_ADDRESS;
	waiting->counted(waiting->context, store->error, count);
}

bool memory_store_answer(struct memory_store *store)
{
	struct waiting *waiting = store->private->queue;

	if (waiting == NULL)
		return false;
	DL_DELETE(store->private->queue, waiting);
	waiting->answer(store, waiting);
	arena_free(waiting->arena);
	return true;
}

size_t memory_store_answer_all(struct memory_store *store)
{
	size_t count = 0;

	while (memory_store_answer(store))
		count++;
	return count;
}

static void on_turn_end(void *context)
{
	(void)memory_store_answer_all(context);
}

/* Answers at once, or keeps a copy of QUESTION, its texts too. */
static void ask(struct memory_store *store, struct waiting *question)
{
	struct arena *arena;
	struct waiting *waiting;
	struct directory_key *keys;
	struct directory_change *changes;

	if (!store->is_late) {
		question->answer(store, question);
		return;
	}
	arena = arena_new();
	waiting = arena_alloc(arena, sizeof *waiting);
	*waiting = *question;
	waiting->arena = arena;
	waiting->prefix = arena_copy_str(arena, question->prefix);
	waiting->after = arena_copy_str(arena, question->after);
	keys = arena_alloc(arena, question->count * sizeof *keys);
	changes = arena_alloc(arena, question->count * sizeof *changes);
	for (size_t i = 0; question->keys != NULL && i < question->count; i++)
		keys[i] = (struct directory_key){question->keys[i].table,
						 arena_copy_str(arena, question->keys[i].name)};
	for (size_t i = 0; question->changes != NULL && i < question->count; i++) {
		changes[i] = question->changes[i];
		changes[i].record = directory_record_copy(arena, &question->changes[i].record);
	}
	waiting->keys = keys;
	waiting->changes = changes;
	DL_APPEND(store->private->queue, waiting);
	if (store->private->loop != NULL)
		os_loop_defer(store->private->loop, &store->private->task);
}

static void on_get(struct directory_store *base, const struct directory_key *keys, size_t count,
		   directory_got *got, void *context)
{
	struct memory_store *store = CONTAINER_OF(base, struct memory_store, base);

	if (count > DIRECTORY_BATCH_MAX)
		panic("%zu keys are asked for at once", count);
	store->gets += count;
	ask(store, &(struct waiting){.answer = answer_get,
				     .keys = keys,
				     .count = count,
				     .got = got,
				     .context = context});
}

static void on_list(struct directory_store *base, enum directory_table table, struct str prefix,
		    struct str after, size_t limit, directory_listed *listed, void *context)
{
	ask(CONTAINER_OF(base, struct memory_store, base), &(struct waiting){.answer = answer_list,
									     .table = table,
									     .prefix = prefix,
									     .after = after,
									     .count = limit,
									     .listed = listed,
									     .context = context});
}

static void on_change(struct directory_store *base, const struct directory_change *changes,
		      size_t count, directory_changed *changed, void *context)
{
	if (count > DIRECTORY_BATCH_MAX)
		panic("%zu changes are made at once", count);
	ask(CONTAINER_OF(base, struct memory_store, base),
	    &(struct waiting){.answer = answer_change,
			      .changes = changes,
			      .count = count,
			      .changed = changed,
			      .context = context});
}

static void on_missed(struct directory_store *base, uint64_t version, size_t limit,
		      directory_missed *missed, void *context)
{
	ask(CONTAINER_OF(base, struct memory_store, base),
	    &(struct waiting){.answer = answer_missed,
			      .version = version,
			      .count = limit,
			      .missed = missed,
			      .context = context});
}

static void on_count(struct directory_store *base, directory_counted *counted, void *context)
{
	ask(CONTAINER_OF(base, struct memory_store, base),
	    &(struct waiting){.answer = answer_count, .counted = counted, .context = context});
}

static void on_begin(struct directory_store *base)
{
	CONTAINER_OF(base, struct memory_store, base)->begins++;
}

static void on_end(struct directory_store *base)
{
	CONTAINER_OF(base, struct memory_store, base)->ends++;
}

static void on_free(struct directory_store *base)
{
	memory_store_free(CONTAINER_OF(base, struct memory_store, base));
}

struct memory_store *memory_store_new(struct os_loop *loop)
{
	static const struct directory_store_operations operations = {
		.get = on_get,
		.list = on_list,
		.change = on_change,
		.missed = on_missed,
		.begin = on_begin,
		.end = on_end,
		.free = on_free,
		.count = on_count,
	};
	struct memory_store *store = memory_alloc_zero(1, sizeof *store);

	store->private = memory_alloc_zero(1, sizeof *store->private);
	store->private->loop = loop;
	store->private->task = (struct os_task){.call = on_turn_end, .context = store};
	store->base.operations = &operations;
	store->base.fresh_us = INT64_MAX;
	store->base.is_up = true;
	snprintf(store->base.identity, sizeof store->base.identity, "memory-1");
	return store;
}

void memory_store_free(struct memory_store *store)
{
	if (store->private->queue != NULL)
		panic("a store is freed while a question waits");
	if (store->private->loop != NULL)
		os_task_cancel(store->private->loop, &store->private->task);
	memory_table_clear(&store->private->data);
	free(store->private);
	free(store);
}

bool memory_store_try_put(struct memory_store *store, const char *text)
{
	struct arena *arena = arena_new();
	struct directory_record input = record_of_text(arena, text);
	struct directory_change change = {.is_removal = false};
	size_t first = store->private->data.log_count;
	const char *reason;
	bool is_good = directory_record_check(&input, arena, &change.record, &reason) == 0;

	if (is_good) {
		(void)memory_table_apply(&store->private->data, &change, &store->base.version);
		tell(store, first);
	}
	arena_free(arena);
	return is_good;
}

void memory_store_put(struct memory_store *store, const char *text)
{
	if (!memory_store_try_put(store, text))
		panic("a bad record: %s", text);
}

void memory_store_remove(struct memory_store *store, const char *text)
{
	struct arena *arena = arena_new();
	struct directory_change change = {true, record_of_text(arena, text)};
	size_t first = store->private->data.log_count;

	if (!memory_table_apply(&store->private->data, &change, &store->base.version))
		panic("there is no %s", text);
	tell(store, first);
	arena_free(arena);
}

void memory_store_replace(struct memory_store *store, const char *identity)
{
	memory_table_empty(&store->private->data);
	store->base.version = 0;
	snprintf(store->base.identity, sizeof store->base.identity, "%s", identity);
	if (store->base.handler != NULL)
		store->base.handler->reset(store->base.context);
}

void memory_store_set_up(struct memory_store *store, bool is_up)
{
	store->base.is_up = is_up;
	store->error = is_up ? 0 : -ENOTCONN;
	if (store->base.handler != NULL)
		store->base.handler->state(store->base.context, is_up);
}
