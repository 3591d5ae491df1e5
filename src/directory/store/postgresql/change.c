// SPDX-License-Identifier: ISC
/*
 * One transaction at a time. Changes that are asked for meanwhile are gathered, and become the
 * next transaction: so many small ones share a commit. If it fails, each is tried alone. All
 * statements are sent at once, COMMIT included; the first one waits until nobody else changes the
 * data (directory_before() in the schema).
 */
#include "base/panic.h"
#include "directory/store/postgresql/batch.h"
#include "log/event.h"
#include "os/clock.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { FAILURES_MAX = 3 }; /* of one transaction, due to concurrent changes */

static const int64_t UNSEEN_US = SECOND_US;
static const int64_t STANDBY_BEAT_US = SECOND_US / 4; /* while a standby is compared with it */

static void edit_free(struct postgresql_edit *edit)
{
	arena_free(edit->arena); /* holds EDIT, too */
}

static void answer_edit(struct postgresql_edit *edit, int error)
{
	edit->changed(edit->context, error, error == 0 ? edit->existed : NULL, edit->version);
	edit_free(edit);
}

/* ---- results ---- */

/* The changes are durable, and are answered when the reader has seen them. */
static void batch_succeeded(struct postgresql_batch *batch)
{
	struct postgresql_store *store = batch->store;
	int64_t now = os_clock_monotonic_us();

	postgresql_batch_set_existed(batch);
	while (batch->edits != NULL) {
		struct postgresql_edit *edit = batch->edits;

		DL_DELETE(batch->edits, edit);
		edit->since_us = now;
		DL_APPEND(store->writer.unseen, edit);
	}
	store->writer.failures = 0;
	store->writer.has_failed = false;
	if (batch->version > store->writer.version)
		store->writer.version = batch->version;
	postgresql_writer_seen(store);
}

static void put_back(struct postgresql_batch *batch)
{
	struct postgresql_writer *writer = &batch->store->writer;

	DL_CONCAT(batch->edits, writer->waiting);
	writer->waiting = batch->edits;
	batch->edits = NULL;
}

static int error_told_of_change(const struct postgresql_failure *failure)
{
	switch (failure->error) {
	case -EROFS:
	case -EPERM:
	case -ENOSPC:
	case -ENOTCONN:
		return failure->error;
	default:
		return -EIO;
	}
}

/* Logs a failure once, and again if it is a different one, or a change has succeeded meanwhile. */
static void log_failed_change(struct postgresql_writer *writer,
			      const struct postgresql_failure *failure)
{
	if (writer->has_failed && strcmp(writer->failed_state, failure->state) == 0)
		return;
	writer->has_failed = true;
	snprintf(writer->failed_state, sizeof writer->failed_state, "%s", failure->state);
	log_event(EVENT_STORE_ERROR, log_string(role, "change"), log_string(state, failure->state),
		  log_string(reason, failure->text));
}

static void batch_failed(struct postgresql_batch *batch, const struct postgresql_failure *failure)
{
	struct postgresql_writer *writer = &batch->store->writer;
	bool is_several = batch->edits->next != NULL;
	bool is_standby = strcmp(failure->state, "25006") == 0;

	if (writer->is_stopping) {
		put_back(batch);
		return;
	}
	if (!failure->is_lost &&
	    (is_several || is_standby ||
	     (failure->error == -EAGAIN && ++writer->failures <= FAILURES_MAX))) {
		writer->alone = is_several ? DIRECTORY_BATCH_MAX : writer->alone;
		put_back(batch);
		if (is_standby)
			postgresql_link_refuse(writer->link, failure->text);
		return;
	}
	writer->failures = 0;
	if (postgresql_batch_is_stale(batch, failure)) {
		struct postgresql_edit *edit = batch->edits;

		batch->edits = NULL;
		answer_edit(edit, -ESTALE);
		return;
	}
	log_failed_change(writer, failure);
	while (batch->edits != NULL) {
		struct postgresql_edit *edit = batch->edits;

		DL_DELETE(batch->edits, edit);
		answer_edit(edit, error_told_of_change(failure));
	}
}

/* After a failure the transaction is still open, but aborted. */
static void free_writer_request(struct postgresql_request *request,
				const struct postgresql_failure *failure)
{
	(void)failure;
	free(request);
}

static void roll_back(struct postgresql_writer *writer)
{
	struct postgresql_request *request = memory_alloc_zero(1, sizeof *request);

	request->done = free_writer_request;
	postgresql_link_query(writer->link, "ROLLBACK", NULL, 0);
	postgresql_link_end(writer->link, request);
}

static void batch_done(struct postgresql_request *request, const struct postgresql_failure *failure)
{
	struct postgresql_batch *batch = request->context;
	struct postgresql_writer *writer = &batch->store->writer;

	writer->batch = NULL;
	os_loop_defer(batch->store->loop, &writer->pump);
	if (failure == NULL)
		batch_succeeded(batch);
	else {
		if (!failure->is_lost)
			roll_back(writer);
		batch_failed(batch, failure);
	}
	postgresql_batch_free(batch);
}

static void send_waiting_changes(void *context)
{
	struct postgresql_store *store = context;
	struct postgresql_writer *writer = &store->writer;
	struct postgresql_batch *batch;
	size_t count = 0;

	if (!writer->is_ready || writer->batch != NULL || writer->waiting == NULL)
		return;
	batch = memory_alloc_zero(1, sizeof *batch);
	batch->store = store;
	batch->arena = arena_new();
	batch->request.done = batch_done;
	batch->request.context = batch;
	while (writer->waiting != NULL &&
	       (count == 0 ||
		(writer->alone == 0 && count + writer->waiting->count <= DIRECTORY_BATCH_MAX &&
		 postgresql_batch_may_add(batch, writer->waiting)))) {
		struct postgresql_edit *edit = writer->waiting;

		DL_DELETE(writer->waiting, edit);
		DL_APPEND(batch->edits, edit);
		postgresql_batch_add(batch, edit);
		count += edit->count;
	}
	if (writer->alone > 0)
		writer->alone--;
	postgresql_batch_send(batch);
}

void postgresql_change(struct directory_store *base, const struct directory_change *changes,
		       size_t count, directory_changed *changed, void *context)
{
	struct postgresql_store *store = CONTAINER_OF(base, struct postgresql_store, base);
	struct arena *arena = arena_new();
	struct postgresql_edit *edit = arena_alloc(arena, sizeof *edit);

	edit->arena = arena;
	edit->count = count;
	edit->changes = arena_alloc(arena, (count + 1) * sizeof *edit->changes);
	edit->existed = arena_alloc(arena, (count + 1) * sizeof *edit->existed);
	for (size_t i = 0; i < count; i++) {
		edit->changes[i] = changes[i];
		edit->changes[i].record = directory_record_copy(arena, &changes[i].record);
	}
	edit->changed = changed;
	edit->context = context;
	edit->since_us = os_clock_monotonic_us();
	DL_APPEND(store->writer.waiting, edit);
	postgresql_link_hurry(store->writer.link);
	os_loop_defer(store->loop, &store->writer.pump);
	os_timer_start(store->writer.timer, SECOND_US / 10);
}

/* ---- time ---- */

void postgresql_writer_seen(struct postgresql_store *store)
{
	struct postgresql_writer *writer = &store->writer;
	int64_t since = os_clock_monotonic_us() - UNSEEN_US;

	while (writer->unseen != NULL &&
	       (writer->unseen->version <= store->base.version ||
		writer->unseen->since_us <= since || !store->base.is_up)) {
		struct postgresql_edit *edit = writer->unseen;

		DL_DELETE(writer->unseen, edit);
		answer_edit(edit, 0);
	}
}

static void beat_result(struct postgresql_request *request, unsigned statement,
			const PGresult *result)
{
	struct postgresql_store *store = request->context;

	(void)statement;
	if (PQntuples(result) != 1)
		return;
	store->writer.version = strtoull(postgresql_link_value(result, 0, 0), NULL, 10);
	store->writer.asked_us = store->writer.beat_us;
}

static void beat_done(struct postgresql_request *request, const struct postgresql_failure *failure)
{
	struct postgresql_store *store = request->context;

	store->writer.is_beating = false;
	if (failure != NULL && !failure->is_lost)
		postgresql_link_refuse(store->writer.link, failure->text);
}

/* A heartbeat: shows whether the connection is alive, and the primary's version. */
static void send_database_heartbeat(struct postgresql_store *store)
{
	struct postgresql_writer *writer = &store->writer;

	if (!writer->is_ready || writer->is_beating || writer->batch != NULL)
		return;
	writer->is_beating = true;
	writer->beat_us = os_clock_monotonic_us();
	writer->beat = (struct postgresql_request){
		.result = beat_result, .done = beat_done, .context = store};
	postgresql_link_query(writer->link, "SELECT version FROM meta", NULL, 0);
	postgresql_link_end(writer->link, &writer->beat);
}

static void give_up_late_edits(struct postgresql_store *store)
{
	struct postgresql_writer *writer = &store->writer;
	int64_t since = os_clock_monotonic_us() - STORE_POSTGRESQL_PATIENCE_US;

	while (!writer->is_ready && writer->waiting != NULL && writer->waiting->since_us <= since) {
		struct postgresql_edit *edit = writer->waiting;

		DL_DELETE(writer->waiting, edit);
		answer_edit(edit, -ENOTCONN);
	}
}

static void on_writer_time(void *context)
{
	struct postgresql_store *store = context;
	struct postgresql_writer *writer = &store->writer;

	give_up_late_edits(store);
	postgresql_writer_seen(store);
	send_database_heartbeat(store);
	os_timer_start(writer->timer, writer->waiting != NULL || writer->unseen != NULL
					      ? SECOND_US / 10
				      : store->follower.is_standby ? STANDBY_BEAT_US
								   : SECOND_US);
}

/* ---- the connection ---- */

static void on_writer_ready(void *context, const struct postgresql_about *about)
{
	struct postgresql_store *store = context;

	if (postgresql_setup_refuses_older(&store->writer.setup, store, about))
		return;
	store->writer.version = about->version;
	store->writer.is_ready = true;
	postgresql_link_accept(store->writer.link);
	os_loop_defer(store->loop, &store->writer.pump);
}

static void on_writer_connected(void *context)
{
	struct postgresql_store *store = context;

	postgresql_setup_begin(&store->writer.setup, store->writer.link, store, 0);
}

static void on_writer_lost(void *context)
{
	struct postgresql_store *store = context;

	store->writer.is_ready = false;
	store->writer.asked_us = 0;
}

void postgresql_writer_start(struct postgresql_store *store)
{
	static const struct postgresql_link_handler handler = {on_writer_connected, on_writer_lost,
							       NULL};
	struct postgresql_writer *writer = &store->writer;

	writer->pump = (struct os_task){.call = send_waiting_changes, .context = store};
	writer->timer = os_timer_new(store->loop, on_writer_time, store);
	writer->setup.may_change = true;
	writer->setup.ready = on_writer_ready;
	writer->setup.context = store;
	os_timer_start(writer->timer, SECOND_US);
	writer->link = postgresql_link_new(store->loop, &store->databases, "change", 5 * SECOND_US,
					   &handler, store);
}

void postgresql_writer_stop(struct postgresql_store *store)
{
	struct postgresql_writer *writer = &store->writer;
	struct postgresql_edit *edit, *next;

	writer->is_stopping = true;
	postgresql_link_free(writer->link);
	os_task_cancel(store->loop, &writer->pump);
	os_timer_free(writer->timer);
	DL_FOREACH_SAFE (writer->waiting, edit, next)
		edit_free(edit);
	DL_FOREACH_SAFE (writer->unseen, edit, next)
		edit_free(edit);
}
