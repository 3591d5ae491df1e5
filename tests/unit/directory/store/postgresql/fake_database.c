// SPDX-License-Identifier: ISC
#include "fake_database.h"
#include "base/panic.h"
#include "fake_rows.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATEMENTS_MAX = 80, PENDING_MAX = 8, TASKS_MAX = 8 };

struct pending {
	struct postgresql_request *request;
	struct fake_statement statements[STATEMENTS_MAX];
	size_t count;
};

struct postgresql_link {
	struct postgresql_link_handler handler;
	void *context;
	bool is_there, is_accepted;
	struct pending writing;
	struct pending pending[PENDING_MAX];
	size_t pending_count;
	struct postgresql_setup *setup;
};

static struct {
	unsigned refusals;
	struct postgresql_link links[FAKE_LINKS];
	const struct postgresql_follow_handler *follow;
	struct os_task *tasks[TASKS_MAX];
} database;

/* --- tasks --- */

void os_loop_defer(struct os_loop *loop, struct os_task *task)
{
	size_t i = 0;

	(void)loop;
	while (i < TASKS_MAX && database.tasks[i] != NULL && database.tasks[i] != task)
		i++;
	assert_true(i < TASKS_MAX);
	database.tasks[i] = task;
}

void os_task_cancel(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	for (size_t i = 0; i < TASKS_MAX; i++)
		if (database.tasks[i] == task)
			database.tasks[i] = NULL;
}

void fake_database_end_turn(void)
{
	for (size_t i = 0; i < TASKS_MAX; i++) {
		struct os_task *task = database.tasks[i];

		database.tasks[i] = NULL;
		if (task != NULL)
			task->call(task->context);
	}
}

/* --- links --- */

struct postgresql_link *postgresql_link_new(struct os_loop *loop,
					    const struct postgresql_databases *databases,
					    const char *name, int64_t may_wait_us,
					    const struct postgresql_link_handler *handler,
					    void *context)
{
	struct postgresql_link *link =
		&database.links[strcmp(name, "read") == 0 ? FAKE_READ : FAKE_CHANGE];

	(void)loop, (void)databases;
	assert_true(may_wait_us > 0);
	link->handler = *handler;
	link->context = context;
	return link;
}

static void clear_statements(struct pending *pending)
{
	for (size_t i = 0; i < pending->count; i++) {
		for (size_t k = 0; k < pending->statements[i].count; k++)
			free(pending->statements[i].parameters[k].data);
		free(pending->statements[i].text);
	}
	pending->count = 0;
}

static struct postgresql_request *take_first(struct postgresql_link *link)
{
	struct postgresql_request *request = link->pending[0].request;

	assert_true(link->pending_count > 0);
	clear_statements(&link->pending[0]);
	link->pending_count--;
	memmove(&link->pending[0], &link->pending[1],
		link->pending_count * sizeof link->pending[0]);
	return request;
}

static void fail_first(struct postgresql_link *link, int error, bool is_lost, const char *state)
{
	struct postgresql_request *request = take_first(link);
	struct postgresql_failure failure = {.error = error, .is_lost = is_lost, .text = "reason"};

	snprintf(failure.state, sizeof failure.state, "%s", state);
	request->failure = failure;
	request->done(request, &failure);
}

void fake_database_lose(enum fake_link link)
{
	struct postgresql_link *lost = &database.links[link];

	lost->is_there = lost->is_accepted = false;
	while (lost->pending_count > 0)
		fail_first(lost, -ENOTCONN, true, "");
	lost->handler.lost(lost->context);
}

void postgresql_link_free(struct postgresql_link *link)
{
	while (link->pending_count > 0)
		fail_first(link, -ENOTCONN, true, "");
}

static void add_statement(struct postgresql_link *link, const char *text,
			  const struct postgresql_parameter *parameters, size_t count)
{
	struct fake_statement *statement = &link->writing.statements[link->writing.count++];

	assert_true(link->is_there && link->writing.count <= STATEMENTS_MAX);
	assert_true(count <= FAKE_PARAMETERS_MAX);
	statement->text = fake_copy_text(text, strlen(text));
	statement->count = count;
	for (size_t i = 0; i < count; i++) {
		struct str value = parameters[i].text != NULL ? str_from(parameters[i].text)
							      : parameters[i].value;

		statement->parameters[i] = (struct fake_parameter){
			fake_copy_text(value.data, value.length), value.length};
	}
}

void postgresql_link_query(struct postgresql_link *link, const char *sql,
			   const struct postgresql_parameter *parameters, size_t count)
{
	add_statement(link, sql, parameters, count);
}

void postgresql_link_execute(struct postgresql_link *link, const char *name,
			     const struct postgresql_parameter *parameters, size_t count)
{
	add_statement(link, name, parameters, count);
}

void postgresql_link_end(struct postgresql_link *link, struct postgresql_request *request)
{
	assert_true(link->pending_count < PENDING_MAX);
	link->writing.request = request;
	request->statements = (unsigned)link->writing.count;
	link->pending[link->pending_count++] = link->writing;
	memset(&link->writing, 0, sizeof link->writing);
}

void postgresql_link_doubt(struct postgresql_request *request, const char *text)
{
	if (request->failure.error != 0)
		return;
	request->failure.error = -EIO;
	snprintf(request->failure.text, sizeof request->failure.text, "%s", text);
}

static bool has_value(const PGresult *result, int row, int column)
{
	return row >= 0 && row < PQntuples(result) && column < PQnfields(result) &&
	       !PQgetisnull(result, row, column);
}

const char *postgresql_link_value(const PGresult *result, int row, int column)
{
	return has_value(result, row, column) ? PQgetvalue(result, row, column) : "";
}

size_t postgresql_link_length(const PGresult *result, int row, int column)
{
	return has_value(result, row, column) ? (size_t)PQgetlength(result, row, column) : 0;
}

void postgresql_link_accept(struct postgresql_link *link)
{
	link->is_accepted = true;
}

void postgresql_link_refuse(struct postgresql_link *link, const char *reason)
{
	(void)link, (void)reason;
	database.refusals++;
}

void postgresql_link_hurry(struct postgresql_link *link)
{
	(void)link;
}

bool postgresql_link_is_accepted(const struct postgresql_link *link)
{
	return link->is_accepted;
}

const char *postgresql_link_label(const struct postgresql_link *link)
{
	(void)link;
	return "label";
}

void postgresql_setup_begin(struct postgresql_setup *setup, struct postgresql_link *link,
			    const struct postgresql_store *store, uint64_t seen)
{
	(void)store, (void)seen;
	snprintf(setup->shape, sizeof setup->shape, "shape %u", fake_rows_shape());
	link->setup = setup;
}

bool postgresql_setup_refuses_older(struct postgresql_setup *setup,
				    const struct postgresql_store *store,
				    const struct postgresql_about *about)
{
	(void)setup;
	return about->version < store->base.version;
}

void postgresql_follow_prepare(struct postgresql_store *store,
			       const struct postgresql_follow_handler *handler)
{
	(void)store;
	database.follow = handler;
}

void postgresql_follow_start(struct postgresql_store *store, const struct postgresql_about *about)
{
	store->base.version = about->version;
	database.follow->followed(store);
}

void postgresql_follow_stop(struct postgresql_store *store)
{
	(void)store;
}

void postgresql_follow_notified(struct postgresql_store *store)
{
	(void)store;
}

void fake_database_return(enum fake_link link)
{
	struct postgresql_link *back = &database.links[link];
	const struct postgresql_about about = {.version = fake_database_version()};

	back->is_there = true;
	back->handler.connected(back->context);
	back->setup->ready(back->setup->context, &about);
}

/* --- for tests --- */

bool fake_database_is_asked(enum fake_link link)
{
	return database.links[link].pending_count > 0;
}

void fake_database_answer(enum fake_link link)
{
	struct postgresql_link *answering = &database.links[link];
	struct pending *first = &answering->pending[0];
	struct postgresql_request *request = first->request;

	assert_true(answering->pending_count > 0);
	request->failure.error = 0;
	for (size_t i = 0; i < first->count && request->failure.error == 0; i++) {
		PGresult *result = fake_rows_run(&first->statements[i]);

		if (result == NULL) {
			fail_first(answering, -EIO, false, "22012");
			return;
		}
		if (request->result != NULL)
			request->result(request, (unsigned)i, result);
		PQclear(result);
	}
	(void)take_first(answering);
	request->done(request, request->failure.error != 0 ? &request->failure : NULL);
}

void fake_database_fail(enum fake_link link, int error, const char *state)
{
	fail_first(&database.links[link], error, false, state);
}

void fake_database_follow(struct directory_store *base)
{
	struct postgresql_store *store = CONTAINER_OF(base, struct postgresql_store, base);

	base->version = fake_database_version();
	postgresql_writer_seen(store);
}

unsigned fake_database_refusals(void)
{
	return database.refusals;
}

void fake_database_begin(void)
{
	memset(&database, 0, sizeof database);
	fake_rows_begin();
}

void fake_database_end(void)
{
	fake_rows_end();
	for (size_t i = 0; i < TASKS_MAX; i++)
		assert_null(database.tasks[i]);
}
