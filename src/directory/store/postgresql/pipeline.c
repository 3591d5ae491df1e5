// SPDX-License-Identifier: ISC
/*
 * Requests on a connection, in libpq's pipeline mode: each is sent without waiting for the results
 * of earlier ones, and ends with a Sync, so that a failure does not affect the next ones.
 */
#include "base/panic.h"
#include "directory/store/postgresql/link.h"
#include "directory/store/store.h"
#include "directory/wire/frame.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
	OID_TEXT_ARRAY = 1009,
	PARAMETERS_MAX = DIRECTORY_COLUMNS_MAX + 2,
	/* bytes; libpq buffers all rows of a statement */
	ANSWER_MAX = 127 << 20,
	ANSWER_RATE = 16 * 1024, /* minimum, in bytes a second, if it takes longer than ANSWER_US */
};

static const int64_t ANSWER_US = 30 * SECOND_US; /* for an answer at any rate */

static void want_answer(struct postgresql_link *link)
{
	int left = PQflush(link->connection);

	if (left < 0) {
		link->is_broken = true;
		os_loop_defer(link->loop, &link->losing);
	}
	os_watch_set(link->watch, left > 0 ? OS_WATCH_READ | OS_WATCH_WRITE : OS_WATCH_READ);
	if (link->requests == NULL)
		os_timer_stop(link->timer);
	else if (!os_timer_is_running(link->timer))
		os_timer_start(link->timer, STORE_POSTGRESQL_PATIENCE_US);
}

static int error_of_failed_state(const char *state)
{
	static const struct {
		const char *state; /* or only its class */
		int error;
	} rows[] = {
		{"53100", -ENOSPC}, {"57014", -ETIMEDOUT}, {"55P03", -ETIMEDOUT},
		{"25006", -EROFS},  {"42501", -EPERM},     {"40", -EAGAIN},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (strncmp(state, rows[i].state, strlen(rows[i].state)) == 0)
			return rows[i].error;
	return -EIO;
}

static void note_failure(struct postgresql_request *request, const PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	struct postgresql_failure *failure = &request->failure;

	if (failure->error != 0)
		return;
	if (text == NULL)
		text = PQresultErrorMessage(result);
	snprintf(failure->state, sizeof failure->state, "%s", state != NULL ? state : "");
	snprintf(failure->text, sizeof failure->text, STR_FORMAT,
		 STR_ARGUMENTS(str_trim(str_from(text))));
	failure->error = error_of_failed_state(failure->state);
	/* no state: libpq itself failed; 57P: the server is shutting down */
	failure->is_lost = state == NULL || strncmp(state, "57P", 3) == 0;
	if (failure->is_lost)
		failure->error = -ENOTCONN;
}

void postgresql_link_doubt(struct postgresql_request *request, const char *text)
{
	struct postgresql_failure *failure = &request->failure;

	if (failure->error != 0)
		return;
	failure->error = -EIO;
	snprintf(failure->text, sizeof failure->text, "%s", text);
}

/* Resets the limits of time and size for the next answer. */
static void begin_answer(struct postgresql_link *link)
{
	link->since_us = os_clock_monotonic_us();
	link->received = os_socket_received(PQsocket(link->connection));
}

/* A long answer over a slow line is allowed, but not one that trickles. */
static const char *complaint_about_answer(struct postgresql_link *link)
{
	uint64_t all = os_socket_received(PQsocket(link->connection));
	uint64_t received = all > link->received ? all - link->received : 0;
	int64_t may_take_us = ANSWER_US + (int64_t)(received / ANSWER_RATE) * SECOND_US;

	if (received > ANSWER_MAX)
		return "an answer of more than 127 MiB";
	if (link->requests != NULL && os_clock_monotonic_us() - link->since_us > may_take_us)
		return "an answer that is not complete after 30 seconds, and comes too slowly";
	return NULL;
}

static void take_result_of_request(struct postgresql_link *link, PGresult *result)
{
	struct postgresql_request *request = link->requests;

	switch (PQresultStatus(result)) {
	case PGRES_PIPELINE_SYNC:
		DL_DELETE(link->requests, request);
		begin_answer(link);
		request->done(request, request->failure.error != 0 ? &request->failure : NULL);
		break;
	case PGRES_PIPELINE_ABORTED:
		break;
	case PGRES_COMMAND_OK:
	case PGRES_TUPLES_OK:
		if (request->result != NULL && request->failure.error == 0)
			request->result(request, request->statement, result);
		request->statement++;
		if (request->statement < request->statements)
			begin_answer(link);
		break;
	default:
		note_failure(request, result);
		break;
	}
	PQclear(result);
}

static bool has_value(const PGresult *result, int row, int column)
{
	return row >= 0 && row < PQntuples(result) && column >= 0 && column < PQnfields(result);
}

const char *postgresql_link_value(const PGresult *result, int row, int column)
{
	return has_value(result, row, column) ? PQgetvalue(result, row, column) : "";
}

size_t postgresql_link_length(const PGresult *result, int row, int column)
{
	return has_value(result, row, column) ? (size_t)PQgetlength(result, row, column) : 0;
}

static bool take_notifications(struct postgresql_link *link)
{
	PGnotify *notification;
	bool is_any = false;

	while ((notification = PQnotifies(link->connection)) != NULL) {
		is_any = true;
		PQfreemem(notification);
	}
	return is_any;
}

/* COPY was not requested, and libpq would return such a result again and again. */
static bool is_copy_of(const PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);

	return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}

/* The results of each statement end with NULL; two in a row mean that the protocol is out of step.
 * */
static void take_results(struct postgresql_link *link)
{
	PGconn *connection = link->connection;
	unsigned nothing = 0;
	bool is_copy = false;

	while (link->connection == connection && link->requests != NULL && nothing < 2 &&
	       !is_copy && PQisBusy(connection) == 0) {
		PGresult *result = PQgetResult(connection);

		nothing = result == NULL ? nothing + 1 : 0;
		is_copy = is_copy_of(result);
		if (is_copy)
			PQclear(result);
		else if (result != NULL)
			take_result_of_request(link, result);
	}
	if ((nothing == 2 || is_copy) && link->connection == connection)
		postgresql_link_lose(link, "an answer that libpq cannot place");
}

/* A handler may lose the connection. */
void postgresql_link_ready(void *context, unsigned events)
{
	struct postgresql_link *link = context;
	PGconn *connection = link->connection;
	const char *why;

	if ((events & OS_WATCH_READ) != 0 && PQconsumeInput(connection) != 1) {
		postgresql_link_lose_broken(link);
		return;
	}
	if ((events & OS_WATCH_READ) != 0)
		os_timer_stop(link->timer); /* the server is alive */
	take_results(link);
	if (link->connection != connection)
		return;
	if (PQstatus(connection) == CONNECTION_BAD) {
		postgresql_link_lose_broken(link);
		return;
	}
	why = complaint_about_answer(link);
	if (why != NULL) {
		postgresql_link_lose(link, why);
		return;
	}
	want_answer(link);
	if (take_notifications(link) && link->handler.notified != NULL)
		link->handler.notified(link->context);
}

static void count_sent_statement(struct postgresql_link *link, int is_taken)
{
	link->statements++;
	if (is_taken == 1)
		return;
	link->is_broken = true;
	os_loop_defer(link->loop, &link->losing);
}

void postgresql_link_prepare(struct postgresql_link *link, struct str name, struct str sql)
{
	struct buffer texts = {0};

	buffer_append_str(&texts, name);
	buffer_append_byte(&texts, '\0');
	buffer_append_str(&texts, sql);
	buffer_append_byte(&texts, '\0');
	count_sent_statement(link, PQsendPrepare(link->connection, buffer_data(&texts),
						 buffer_data(&texts) + name.length + 1, 0, NULL));
	buffer_clear(&texts);
}

/* Parameters as libpq takes them. */
struct values {
	Oid types[PARAMETERS_MAX];
	const char *values[PARAMETERS_MAX];
	int lengths[PARAMETERS_MAX], formats[PARAMETERS_MAX];
	struct buffer texts; /* each ends with a NUL */
};

static void values_fill(struct values *values, const struct postgresql_parameter *parameters,
			size_t count)
{
	size_t offset = 0;

	for (size_t i = 0; i < count; i++) {
		if (parameters[i].is_binary || parameters[i].text != NULL)
			continue;
		buffer_append_str(&values->texts, parameters[i].value);
		buffer_append_byte(&values->texts, '\0');
	}
	for (size_t i = 0; i < count; i++) {
		values->lengths[i] = (int)parameters[i].value.length;
		values->formats[i] = parameters[i].is_binary;
		values->types[i] = parameters[i].is_binary ? OID_TEXT_ARRAY : 0;
		values->values[i] = parameters[i].text;
		if (parameters[i].is_binary)
			values->values[i] = parameters[i].value.data;
		else if (parameters[i].text == NULL) {
			values->values[i] = buffer_data(&values->texts) + offset;
			offset += parameters[i].value.length + 1;
		}
	}
}

void postgresql_link_query(struct postgresql_link *link, const char *sql,
			   const struct postgresql_parameter *parameters, size_t count)
{
	struct values values = {0};

	values_fill(&values, parameters, count);
	count_sent_statement(link,
			     PQsendQueryParams(link->connection, sql, (int)count, values.types,
					       values.values, values.lengths, values.formats, 0));
	buffer_clear(&values.texts);
}

void postgresql_link_execute(struct postgresql_link *link, const char *name,
			     const struct postgresql_parameter *parameters, size_t count)
{
	struct values values = {0};

	values_fill(&values, parameters, count);
	count_sent_statement(link,
			     PQsendQueryPrepared(link->connection, name, (int)count, values.values,
						 values.lengths, values.formats, 0));
	buffer_clear(&values.texts);
}

void postgresql_link_end(struct postgresql_link *link, struct postgresql_request *request)
{
	request->statement = 0;
	request->statements = link->statements;
	request->failure = (struct postgresql_failure){0};
	link->statements = 0;
	if (link->requests == NULL)
		begin_answer(link);
	DL_APPEND(link->requests, request);
	if (PQpipelineSync(link->connection) != 1) {
		link->is_broken = true;
		os_loop_defer(link->loop, &link->losing);
	}
	if (!link->is_broken)
		want_answer(link);
}
