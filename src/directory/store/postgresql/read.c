// SPDX-License-Identifier: ISC
/*
 * Questions are gathered until the end of the turn, and while ROUNDS_MAX rounds are pending; then
 * many gets become one round, with a statement for each table. Questions are answered in order.
 */
#include "base/panic.h"
#include "directory/store/postgresql/round.h"
#include "log/event.h"
#include "os/clock.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { ROUNDS_MAX = 3 };

/* Converts an error to those of store.h. */
static int error_told_of_read(int error)
{
	if (error == -EROFS || error == -EPERM)
		return -EACCES;
	return error == -EAGAIN ? -ETIMEDOUT : error;
}

static void round_done(struct postgresql_request *request, const struct postgresql_failure *failure)
{
	struct postgresql_round *round = request->context;
	struct postgresql_reader *reader = &round->store->reader;
	struct postgresql_read *read, *next;

	reader->under_way--;
	if (failure != NULL && failure->is_lost) {
		DL_CONCAT(reader->again, round->reads);
		postgresql_round_free(round);
		return;
	}
	if (failure != NULL) {
		if (!reader->has_failed)
			log_event(EVENT_STORE_ERROR, log_string(role, "read"),
				  log_string(state, failure->state),
				  log_string(reason, failure->text));
		round->request.failure.error = error_told_of_read(failure->error);
		if (round->is_replaced)
			postgresql_link_refuse(reader->link, failure->text);
	}
	reader->has_failed = failure != NULL;
	os_loop_defer(round->store->loop, &reader->pump);
	if (failure == NULL && round->is_short) {
		DL_CONCAT(round->reads, reader->waiting);
		reader->waiting = round->reads;
		round->reads = NULL;
	}
	DL_FOREACH (round->reads, read)
		postgresql_round_answer(round, read);
	/* the slots refer to the keys of the first reads */
	DL_FOREACH_SAFE (round->reads, read, next)
		postgresql_read_free(read);
	postgresql_round_free(round);
}

/* ---- the queue ---- */

static void send_round(struct postgresql_store *store)
{
	struct postgresql_reader *reader = &store->reader;
	struct postgresql_round *round = memory_alloc_zero(1, sizeof *round);
	struct postgresql_read *first = reader->waiting;

	round->store = store;
	round->arena = arena_new();
	round->request.done = round_done;
	round->request.context = round;
	if (first->kind == POSTGRESQL_READ_GET) {
		postgresql_round_send_gets(round);
	} else {
		DL_DELETE(reader->waiting, first);
		DL_APPEND(round->reads, first);
		if (first->kind == POSTGRESQL_READ_LIST)
			postgresql_round_send_list(round);
		else
			postgresql_round_send_missed(round);
	}
	reader->under_way++;
	postgresql_link_end(reader->link, &round->request);
}

static void send_waiting_reads(void *context)
{
	struct postgresql_store *store = context;
	struct postgresql_reader *reader = &store->reader;

	while (reader->is_ready && reader->waiting != NULL && reader->under_way < ROUNDS_MAX)
		send_round(store);
}

static bool is_down(const struct postgresql_store *store)
{
	return !store->base.is_up && !os_timer_is_running(store->reader.grace);
}

static void ask_for_read(struct postgresql_store *store, struct postgresql_read *read)
{
	if (is_down(store)) {
		postgresql_read_fail(read, -ENOTCONN);
		postgresql_read_free(read);
		return;
	}
	DL_APPEND(store->reader.waiting, read);
	os_loop_defer(store->loop, &store->reader.pump);
}

void postgresql_get(struct directory_store *base, const struct directory_key *keys, size_t count,
		    directory_got *got, void *context)
{
	struct postgresql_store *store = CONTAINER_OF(base, struct postgresql_store, base);
	struct postgresql_read *read;
	size_t size = sizeof *read + count * sizeof *keys;
	size_t text = size;

	for (size_t i = 0; i < count; i++)
		size += keys[i].name.length;
	read = memory_alloc(size);
	*read = (struct postgresql_read){
		.kind = POSTGRESQL_READ_GET, .context = context, .count = count};
	read->answer.got = got;
	for (size_t i = 0; i < count; i++) {
		char *copy = (char *)read + text;

		if (keys[i].name.length > 0)
			memcpy(copy, keys[i].name.data, keys[i].name.length);
		read->keys[i] =
			(struct directory_key){keys[i].table, str_slice(copy, keys[i].name.length)};
		text += keys[i].name.length;
	}
	ask_for_read(store, read);
}

void postgresql_list(struct directory_store *base, enum directory_table table, struct str prefix,
		     struct str after, size_t limit, directory_listed *listed, void *context)
{
	struct postgresql_store *store = CONTAINER_OF(base, struct postgresql_store, base);
	struct postgresql_read *read = memory_alloc(sizeof *read + prefix.length + after.length);
	char *copy = (char *)(read + 1);

	*read = (struct postgresql_read){
		.kind = POSTGRESQL_READ_LIST, .context = context, .table = table, .limit = limit};
	read->answer.listed = listed;
	if (prefix.length > 0)
		memcpy(copy, prefix.data, prefix.length);
	if (after.length > 0)
		memcpy(copy + prefix.length, after.data, after.length);
	read->prefix = str_slice(copy, prefix.length);
	read->after = str_slice(copy + prefix.length, after.length);
	ask_for_read(store, read);
}

void postgresql_missed(struct directory_store *base, uint64_t version, size_t limit,
		       directory_missed *missed, void *context)
{
	struct postgresql_store *store = CONTAINER_OF(base, struct postgresql_store, base);
	struct postgresql_read *read = memory_alloc(sizeof *read);

	*read = (struct postgresql_read){.kind = POSTGRESQL_READ_MISSED,
					 .context = context,
					 .version = version,
					 .limit = limit};
	read->answer.missed = missed;
	ask_for_read(store, read);
}

/* ---- the connection ---- */

static void on_reader_ready(void *context, const struct postgresql_about *about)
{
	struct postgresql_store *store = context;

	store->reader.is_older = postgresql_setup_refuses_older(&store->reader.setup, store, about);
	if (store->reader.is_older)
		return;
	postgresql_link_accept(store->reader.link);
	postgresql_follow_start(store, about);
}

static void set_lost(struct postgresql_store *store)
{
	if (store->base.lost_us == 0)
		store->base.lost_us = os_clock_monotonic_us();
}

/* Reports that the store is down, and fails pending questions. */
static void go_down(struct postgresql_store *store)
{
	store->base.is_up = false;
	if (store->reader.is_older && store->base.is_known)
		log_event(EVENT_STORE_HELD, log_string(reason, POSTGRESQL_OLDER),
			  log_number(version, (int64_t)store->base.version));
	if (store->base.handler != NULL)
		store->base.handler->state(store->base.context, false);
	while (store->reader.waiting != NULL) {
		struct postgresql_read *read = store->reader.waiting;

		DL_DELETE(store->reader.waiting, read);
		postgresql_read_fail(read, -ENOTCONN);
		postgresql_read_free(read);
	}
	postgresql_writer_seen(store);
}

static void on_reader_followed(struct postgresql_store *store)
{
	struct postgresql_reader *reader = &store->reader;

	if (reader->is_ready)
		return;
	reader->is_ready = true;
	store->base.lost_us = 0;
	os_timer_stop(reader->grace);
	os_loop_defer(store->loop, &reader->pump);
	if (store->base.is_up)
		return;
	store->base.is_up = true;
	if (store->base.handler != NULL)
		store->base.handler->state(store->base.context, true);
}

static void on_reader_stale(struct postgresql_store *store)
{
	struct postgresql_reader *reader = &store->reader;

	if (reader->is_ready)
		go_down(store);
	reader->is_ready = false;
	set_lost(store);
}

static void on_reader_connected(void *context)
{
	struct postgresql_store *store = context;

	postgresql_setup_begin(&store->reader.setup, store->reader.link, store,
			       store->base.version);
}

static void on_reader_lost(void *context)
{
	struct postgresql_store *store = context;
	struct postgresql_reader *reader = &store->reader;

	DL_CONCAT(reader->again, reader->waiting);
	reader->waiting = reader->again;
	reader->again = NULL;
	postgresql_follow_stop(store);
	if (reader->is_ready)
		os_timer_start(reader->grace, STORE_POSTGRESQL_GRACE_US);
	reader->is_ready = false;
	set_lost(store);
}

static void on_notified(void *context)
{
	postgresql_follow_notified(context);
}

static void on_grace_over(void *context)
{
	go_down(context);
}

void postgresql_reader_start(struct postgresql_store *store)
{
	static const struct postgresql_link_handler handler = {on_reader_connected, on_reader_lost,
							       on_notified};
	static const struct postgresql_follow_handler follow_handler = {on_reader_followed,
									on_reader_stale};
	struct postgresql_reader *reader = &store->reader;

	postgresql_follow_prepare(store, &follow_handler);
	reader->pump = (struct os_task){.call = send_waiting_reads, .context = store};
	reader->grace = os_timer_new(store->loop, on_grace_over, store);
	reader->setup.ready = on_reader_ready;
	reader->setup.context = store;
	os_timer_start(reader->grace, STORE_POSTGRESQL_GRACE_US);
	store->base.lost_us = os_clock_monotonic_us();
	reader->link = postgresql_link_new(store->loop, &store->databases, "read", SECOND_US,
					   &handler, store);
}

void postgresql_reader_stop(struct postgresql_store *store)
{
	struct postgresql_read *read, *next;

	postgresql_link_free(store->reader.link);
	postgresql_follow_stop(store);
	os_timer_free(store->follower.timer);
	os_task_cancel(store->loop, &store->reader.pump);
	os_timer_free(store->reader.grace);
	DL_FOREACH_SAFE (store->reader.waiting, read, next)
		postgresql_read_free(read);
	DL_FOREACH_SAFE (store->reader.again, read, next)
		postgresql_read_free(read);
}
