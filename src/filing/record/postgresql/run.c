// SPDX-License-Identifier: ISC
/*
 * Statements go out together with what has to come before them (BEGIN, PREPARE), in libpq's
 * pipeline mode: a call is one round trip, however many rows it inserts.
 */
#include "base/panic.h"
#include "filing/record/postgresql/internal.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <stdio.h>

enum { OID_BIGINT = 20, NUMBER_SIZE = 8 };

void record_postgresql_start(struct record_postgresql *postgresql)
{
	postgresql->until_us = os_clock_monotonic_us() + (int64_t)postgresql->call_ms * 1000;
}

int record_postgresql_wait(struct record_postgresql *postgresql, bool for_writing)
{
	int64_t left_us = postgresql->until_us - os_clock_monotonic_us();

	return os_socket_wait(PQsocket(postgresql->connection), for_writing,
			      left_us > 0 ? left_us : 0);
}

/* ---- parameters ---- */

struct parameters {
	const char *values[RECORD_VALUES_MAX];
	int lengths[RECORD_VALUES_MAX];
	int formats[RECORD_VALUES_MAX];
	char numbers[RECORD_VALUES_MAX][NUMBER_SIZE];
	int count;
};

static void write_number(char to[NUMBER_SIZE], int64_t number)
{
	for (int i = NUMBER_SIZE - 1; i >= 0; i--, number >>= 8)
		to[i] = (char)(number & 0xff);
}

/* Binary: a text is its bytes, a number eight of them. */
static void set_parameters(struct parameters *to, const struct record_value *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct record_value *value = &values[i];

		to->formats[i] = 1;
		to->lengths[i] = (int)value->bytes.length;
		to->values[i] = value->bytes.length > 0 ? value->bytes.data : "";
		if (value->kind == RECORD_NULL)
			to->values[i] = NULL;
		if (value->kind == RECORD_NUMBER) {
			write_number(to->numbers[i], value->number);
			to->values[i] = to->numbers[i];
			to->lengths[i] = NUMBER_SIZE;
		}
	}
	to->count = (int)count;
}

/* ---- results ---- */

static int64_t read_number(const char *data)
{
	uint64_t number = 0;

	for (int i = 0; i < NUMBER_SIZE; i++)
		number = number << 8 | (unsigned char)data[i];
	return (int64_t)number;
}

static void read_postgresql_row(const PGresult *result, int row, struct record_value *values,
				int count)
{
	for (int i = 0; i < count; i++) {
		const char *data = PQgetvalue(result, row, i);
		size_t length = (size_t)PQgetlength(result, row, i);

		values[i] = (struct record_value){.kind = RECORD_NULL};
		if (PQgetisnull(result, row, i) == 1)
			continue;
		if (PQftype(result, i) == OID_BIGINT && length == NUMBER_SIZE)
			values[i] = record_number(read_number(data));
		else
			values[i] = record_bytes(data, length);
	}
}

static void take_rows(const PGresult *result, struct record_call *call)
{
	struct record_value values[RECORD_VALUES_MAX];
	int columns = PQnfields(result) < RECORD_VALUES_MAX ? PQnfields(result) : RECORD_VALUES_MAX;
	struct record_outcome outcome = {0};
	uint64_t changed = 0;

	(void)str_to_u64(str_from(PQcmdTuples((PGresult *)result)), &changed);
	outcome.changed = (int64_t)changed;
	for (int row = 0; row < PQntuples(result); row++) {
		read_postgresql_row(result, row, values, columns);
		if (call->row != NULL)
			call->row(call->context, values, (size_t)columns);
		else if (columns == 1)
			outcome.inserted = values[0].number;
	}
	if (call->outcomes != NULL)
		call->outcomes[call->at] = outcome;
}

/* ---- sending ---- */

/* What was sent, in order: BEGIN, PREPARE, and the statement for each row. */
struct batch {
	struct record_postgresql *postgresql;
	struct record_call *call;
	char name[16];
	bool has_begin, has_prepare;
	size_t statement; /* of the next result */
};

static bool send_once(PGconn *connection, const char *text, const struct parameters *parameters)
{
	return PQsendQueryParams(connection, text, parameters->count, NULL, parameters->values,
				 parameters->lengths, parameters->formats, 1) == 1;
}

static bool send_statement(struct batch *batch, const char *text, const struct record_value *values)
{
	struct parameters parameters;
	PGconn *connection = batch->postgresql->connection;

	set_parameters(&parameters, values, batch->call->columns);
	if (batch->call->statement == RECORD_STATEMENTS)
		return send_once(connection, text, &parameters);
	return PQsendQueryPrepared(connection, batch->name, parameters.count, parameters.values,
				   parameters.lengths, parameters.formats, 1) == 1;
}

static bool send_batch(struct batch *batch, const char *text)
{
	const struct parameters none = {.count = 0};
	struct record_postgresql *postgresql = batch->postgresql;
	const struct record_call *call = batch->call;
	PGconn *connection = postgresql->connection;
	bool is_kept = call->statement < RECORD_STATEMENTS;
	bool is_sent = true;

	batch->has_begin = postgresql->sql.is_begun && !postgresql->is_open;
	batch->has_prepare = is_kept && !postgresql->is_prepared[call->statement];
	snprintf(batch->name, sizeof batch->name, "s%u", (unsigned)call->statement);
	if (batch->has_begin)
		is_sent = send_once(connection, "BEGIN", &none);
	if (is_sent && batch->has_prepare)
		is_sent = PQsendPrepare(connection, batch->name, text, 0, NULL) == 1;
	for (size_t i = 0; i < call->rows && is_sent; i++)
		is_sent = send_statement(batch, text, record_call_values(call, i));
	return is_sent && PQpipelineSync(connection) == 1;
}

/* ---- receiving ---- */

static int flush_postgresql_statements(struct record_postgresql *postgresql)
{
	int left;

	while ((left = PQflush(postgresql->connection)) > 0) {
		int error = record_postgresql_wait(postgresql, true);

		if (error < 0)
			return error;
		if (PQconsumeInput(postgresql->connection) != 1)
			return -ENOTCONN;
	}
	return left < 0 ? -ENOTCONN : 0;
}

/* The next result, NULL between the results of two statements. */
static int next_postgresql_result(struct record_postgresql *postgresql, PGresult **result_out)
{
	while (PQisBusy(postgresql->connection) == 1) {
		int error = record_postgresql_wait(postgresql, false);

		if (error < 0)
			return error;
		if (PQconsumeInput(postgresql->connection) != 1)
			return -ENOTCONN;
	}
	*result_out = PQgetResult(postgresql->connection);
	return 0;
}

static void take_postgresql_rows(struct batch *batch, const PGresult *result)
{
	struct record_postgresql *postgresql = batch->postgresql;
	size_t before = (size_t)batch->has_begin + batch->has_prepare;

	if (batch->has_begin && batch->statement == 0) {
		postgresql->is_open = true;
	} else if (batch->statement < before) {
		postgresql->is_prepared[batch->call->statement] = true;
	} else {
		batch->call->at = batch->statement - before;
		take_rows(result, batch->call);
	}
}

/* 1: the last one; 0: there are more; or an error. */
static int take_postgresql_result(struct batch *batch, PGresult *result)
{
	struct record_postgresql *postgresql = batch->postgresql;
	int done = 0;

	if (result == NULL) {
		batch->statement++;
		return PQstatus(postgresql->connection) == CONNECTION_BAD ? -ENOTCONN : 0;
	}
	switch (PQresultStatus(result)) {
	case PGRES_COMMAND_OK:
	case PGRES_TUPLES_OK:
		if (postgresql->sql.failed == 0)
			take_postgresql_rows(batch, result);
		break;
	case PGRES_PIPELINE_SYNC:
		done = 1;
		break;
	case PGRES_PIPELINE_ABORTED:
		break;
	default: /* and goes on, until all results are read */
		(void)record_postgresql_fail(postgresql, result);
		done = postgresql->connection == NULL;
	}
	PQclear(result);
	return done;
}

static int receive_postgresql_results(struct batch *batch)
{
	int done = 0;

	while (done == 0) {
		PGresult *result;

		done = next_postgresql_result(batch->postgresql, &result);
		if (done == 0)
			done = take_postgresql_result(batch, result);
	}
	return done < 0 ? done : 0;
}

int record_postgresql_run(struct record_sql *sql, struct record_call *call)
{
	struct record_postgresql *postgresql = (struct record_postgresql *)sql;
	struct batch batch = {.postgresql = postgresql, .call = call};
	struct buffer text CLEANUP(buffer_clear) = {0};
	unsigned order[RECORD_PLACEHOLDER_MAX];
	int error;

	(void)record_sql_write(sql->driver->dialect, call->statement, call->text, &text, order);
	record_postgresql_start(postgresql);
	error = send_batch(&batch, buffer_data(&text)) ? flush_postgresql_statements(postgresql)
						       : -ENOTCONN;
	if (error == 0)
		error = receive_postgresql_results(&batch);
	if (error < 0)
		return record_postgresql_lost(postgresql, error);
	return sql->failed;
}

int record_postgresql_text(struct record_postgresql *postgresql, const char *text,
			   const struct record_value *values, size_t count, record_row *row,
			   void *context)
{
	struct record_call call = record_call_of(text, values, count, row, context);

	return record_postgresql_run(&postgresql->sql, &call);
}
