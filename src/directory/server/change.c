// SPDX-License-Identifier: ISC
/* All changes that arrive in one turn of the loop are committed together, with one sync. */
#include "base/panic.h"
#include "directory/server/internal.h"
#include "log/event.h"
#include <errno.h>
#include <stdlib.h>

struct change_batch {
	struct directory_server *server;
	struct arena *arena;
	struct directory_change *changes;
	struct question **questions;
	size_t count;
};

static size_t batch_max(const struct directory_server *server)
{
	size_t max = server->store->change_max;

	return max > 0 && max < DIRECTORY_BATCH_MAX ? max : DIRECTORY_BATCH_MAX;
}

static struct change_batch *batch_of(struct directory_server *server)
{
	struct change_batch *batch = server->batch;
	struct arena *arena;

	if (batch != NULL)
		return batch;
	arena = arena_new();
	batch = arena_alloc(arena, sizeof *batch);
	batch->server = server;
	batch->arena = arena;
	batch->changes = arena_alloc(arena, batch_max(server) * sizeof *batch->changes);
	batch->questions = arena_alloc(arena, batch_max(server) * sizeof(struct question *));
	server->batch = batch;
	os_loop_defer(server->loop, &server->batch_task);
	return batch;
}

struct arena *change_arena(struct directory_server *server)
{
	return batch_of(server)->arena;
}

void change_begin_alone(struct directory_server *server)
{
	if (server->batch != NULL && server->batch->count > 0)
		change_commit(server);
}

void change_add(struct question *question, const struct directory_change *change)
{
	struct directory_server *server = question->server;
	struct change_batch *batch = batch_of(server);

	batch->changes[batch->count] = *change;
	batch->questions[batch->count] = question;
	batch->count++;
	if (batch->count == batch_max(server) || change->is_conditional)
		change_commit(server);
}

static void answer_failure(struct question *question, int error)
{
	static const struct {
		int error;
		enum directory_error code;
		const char *text;
	} failures[] = {
		{-ENOTCONN, DIRECTORY_ERROR_LATER,
		 "The data cannot be reached now; whether this was changed is not known"},
		{-ETIMEDOUT, DIRECTORY_ERROR_LATER,
		 "No answer in time; whether this was changed is not known"},
		{-EOPNOTSUPP, DIRECTORY_ERROR_STORAGE,
		 "These data are kept in LDAP, and changed there"},
		{-EROFS, DIRECTORY_ERROR_STORAGE, "The data are read-only here"},
		{-EBUSY, DIRECTORY_ERROR_STORAGE,
		 "These data are not those that were seen before: restore them, or accept them "
		 "(stagepost directory accept)"},
		{-EPERM, DIRECTORY_ERROR_STORAGE, "The database denies this server that change"},
		{-ENOSPC, DIRECTORY_ERROR_STORAGE, "The disk is full"},
		{-ESTALE, DIRECTORY_ERROR_CHANGED, "The record has changed since that version"},
		{-EACCES, DIRECTORY_ERROR_DENIED, "This server may not change that itself"},
	};
	struct str id = str_slice(question->id, question->id_length);

	question->server->counts.errors++;
	for (size_t i = 0; i < COUNT_OF(failures); i++) {
		if (failures[i].error == error) {
			session_error(question->session, id, failures[i].code, failures[i].text);
			return;
		}
	}
	session_error(question->session, id, DIRECTORY_ERROR_STORAGE,
		      "The change could not be made durable");
}

static void answer_change(struct question *question, int error, bool existed, uint64_t version)
{
	struct directory_frame frame;
	bool is_none = question->is_removal && !existed;

	if (question->session == NULL)
		return;
	if (error != 0) {
		answer_failure(question, error);
		return;
	}
	directory_frame_begin(&frame, session_output(question->session), is_none ? "none" : "ok");
	directory_frame_add(&frame, str_slice(question->id, question->id_length));
	if (is_none)
		directory_frame_add(&frame, STR("0"));
	directory_frame_add_number(&frame, version);
	directory_frame_end(&frame);
}

/* What was removed, and was not there, is no change. */
static bool is_change(const struct change_batch *batch, const bool *existed, size_t index)
{
	return !batch->questions[index]->is_removal || existed[index];
}

static size_t count_changes(const struct change_batch *batch, const bool *existed)
{
	size_t count = 0;

	for (size_t i = 0; i < batch->count; i++)
		count += is_change(batch, existed, i);
	return count;
}

static void log_change(const struct change_batch *batch, const bool *existed, size_t count,
		       uint64_t version)
{
	const struct session *from = batch->questions[0]->session;
	size_t first = 0;

	for (size_t i = 1; from != NULL && i < batch->count; i++)
		if (batch->questions[i]->session != from)
			from = NULL;
	while (!is_change(batch, existed, first))
		first++;
	log_event(EVENT_DIRECTORY_CHANGED, log_number(changes, (int64_t)count),
		  log_number(version, (int64_t)version),
		  log_string(table, directory_table_name(batch->changes[first].record.key.table)),
		  log_str(key, batch->changes[first].record.key.name),
		  log_string(peer, from != NULL ? from->peer : ""));
}

static void on_batch_changed(void *context, int error, const bool *existed, uint64_t version)
{
	struct change_batch *batch = context;

	size_t count = error == 0 ? count_changes(batch, existed) : 0;

	if (error == 0) {
		batch->server->counts.changes += count;
		if (count > 0)
			log_change(batch, existed, count, version);
	} else if (error != -ESTALE) { /* which is no failure: the client reads it again */
		log_event(EVENT_DIRECTORY_ERROR, log_string(operation, "change"),
			  log_number(changes, (int64_t)batch->count), log_error(error));
	}
	for (size_t i = 0; i < batch->count; i++) {
		answer_change(batch->questions[i], error, error == 0 && existed[i], version);
		question_free(batch->questions[i]);
	}
	arena_free(batch->arena);
}

void change_commit(void *context)
{
	struct directory_server *server = context;
	struct change_batch *batch = server->batch;

	os_task_cancel(server->loop, &server->batch_task);
	server->batch = NULL;
	if (batch != NULL && batch->count == 0)
		arena_free(batch->arena);
	else if (batch != NULL)
		server->store->operations->change(server->store, batch->changes, batch->count,
						  on_batch_changed, batch);
}
