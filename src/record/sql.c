// SPDX-License-Identifier: ISC
/* The course of transactions, and messages. */
#include "record/sql.h"
#include "decode/identity.h"
#include "record/internal.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

void record_sql_init(struct record_sql *sql, const struct record_operations *operations,
		     const struct record_driver *driver)
{
	sql->base.operations = operations;
	sql->driver = driver;
	sql->arena = arena_new();
}

void record_sql_clear(struct record_sql *sql)
{
	arena_free(sql->arena);
}

int record_sql_fail(struct record_sql *sql, int error, const char *format, ...)
{
	va_list arguments;

	if (sql->failed != 0)
		return sql->failed; /* what follows from the first failure says less */
	va_start(arguments, format);
	vsnprintf(sql->base.error, sizeof sql->base.error, format, arguments);
	va_end(arguments);
	for (char *at = sql->base.error; *at != '\0'; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = ' ';
	sql->failed = error;
	return error;
}

int record_sql_begin(struct record_sql *sql)
{
	int error;

	sql->failed = 0;
	sql->is_begun = false;
	error = sql->driver->connect(sql);
	sql->is_begun = true;
	return error;
}

void record_sql_ended(struct record_sql *sql)
{
	sql->is_begun = false;
	sql->failed = 0;
}

int record_sql_check(const struct record_sql *sql)
{
	if (sql->failed != 0)
		return sql->failed;
	return sql->is_begun ? 0 : -EINVAL;
}

int record_run(struct record_sql *sql, struct record_call *call)
{
	return sql->failed != 0 ? sql->failed : sql->driver->run(sql, call);
}

struct str record_keep(struct record_sql *sql, const struct record_value *value)
{
	return arena_copy_str(sql->arena, value->bytes);
}

enum record_state record_state_of(const struct record_value *value)
{
	return str_equal(value->bytes, STR("filed")) ? RECORD_FILED : RECORD_FILING;
}

/* ---- a message ---- */

struct found {
	int64_t count, number;
};

static void take_found(void *context, const struct record_value *values, size_t count)
{
	struct found *found = context;

	(void)count;
	found->count = values[0].number;
	found->number = values[1].number;
}

static int find(struct record_sql *sql, const struct record_message *message, struct found *out)
{
	const struct record_value values[] = {
		{.kind = RECORD_TEXT, .bytes = message->id},
		record_bytes(message->digest, sizeof message->digest),
	};
	struct record_call call = RECORD_CALL(RECORD_MESSAGE_FIND, values);

	*out = (struct found){0};
	call.row = take_found;
	call.context = out;
	return record_run(sql, &call);
}

static int insert_message(struct record_sql *sql, const struct record_message *message,
			  int64_t *number_out)
{
	const struct decode_message *decoded = message->decoded;
	const struct record_value values[] = {
		{.kind = RECORD_TEXT, .bytes = message->id},
		record_number(message->is_derived),
		record_bytes(message->digest, sizeof message->digest),
		record_number((int64_t)message->size),
		record_number(message->recorded_us),
		record_text(message->sender, RECORD_ADDRESS_MAX, sql->arena),
		record_text(decoded->subject, DECODE_TEXT_MAX, sql->arena),
		record_number(decoded->date_us),
		record_text(decoded->problem, DECODE_TEXT_MAX, sql->arena),
	};
	struct record_call call = RECORD_CALL(RECORD_MESSAGE_INSERT, values);
	int error = record_run(sql, &call);

	*number_out = call.inserted;
	return error;
}

/* In batches: a message has up to a thousand. */
enum { BATCH = 50, PARTICIPANT_COLUMNS = 6, PART_COLUMNS = 9 };

static int insert_participants(struct record_sql *sql, int64_t number,
			       const struct decode_message *decoded)
{
	struct record_value values[BATCH * PARTICIPANT_COLUMNS];
	size_t done = 0;
	int error = 0;

	while (done < decoded->participant_count && error == 0) {
		struct record_call call = {.statement = RECORD_PARTICIPANT_INSERT,
					   .values = values,
					   .columns = PARTICIPANT_COLUMNS};
		struct record_value *to = values;

		for (; call.rows < BATCH && done < decoded->participant_count;
		     call.rows++, done++) {
			const struct decode_participant *from = &decoded->participants[done];
			ptrdiff_t at = str_find_last(from->address, '@');

			*to++ = record_number(number);
			*to++ = record_number((int64_t)done);
			*to++ = (struct record_value){
				.kind = RECORD_TEXT,
				.bytes = str_from(decode_role_name(from->role))};
			*to++ = record_text(from->address, RECORD_ADDRESS_MAX, sql->arena);
			*to++ = record_text(str_skip(from->address, (size_t)(at + 1)),
					    RECORD_DOMAIN_MAX, sql->arena);
			*to++ = record_text(from->name, DECODE_TEXT_MAX, sql->arena);
		}
		error = record_run(sql, &call);
	}
	return error;
}

static int insert_parts(struct record_sql *sql, int64_t number,
			const struct decode_message *decoded)
{
	struct record_value values[BATCH * PART_COLUMNS];
	size_t done = 0;
	int error = 0;

	while (done < decoded->part_count && error == 0) {
		struct record_call call = {
			.statement = RECORD_PART_INSERT, .values = values, .columns = PART_COLUMNS};
		struct record_value *to = values;

		for (; call.rows < BATCH && done < decoded->part_count; call.rows++, done++) {
			const struct decode_part *from = &decoded->parts[done];

			*to++ = record_number(number);
			*to++ = record_number((int64_t)done);
			*to++ = record_text(from->number, RECORD_WORD_MAX, sql->arena);
			*to++ = record_text(from->type, RECORD_WORD_MAX, sql->arena);
			*to++ = record_text(from->charset, RECORD_WORD_MAX, sql->arena);
			*to++ = record_text(from->disposition, RECORD_WORD_MAX, sql->arena);
			*to++ = record_text(from->filename, DECODE_TEXT_MAX, sql->arena);
			*to++ = record_number((int64_t)from->size);
			*to++ = record_bytes(from->digest, sizeof from->digest);
		}
		error = record_run(sql, &call);
	}
	return error;
}

static int insert_all(struct record_sql *sql, const struct record_message *message,
		      int64_t *number_out)
{
	int error = insert_message(sql, message, number_out);

	if (error == 0 && *number_out != 0)
		error = insert_participants(sql, *number_out, message->decoded);
	if (error == 0 && *number_out != 0)
		error = insert_parts(sql, *number_out, message->decoded);
	return error;
}

int record_sql_put(struct record *record, const struct record_message *message, int64_t *number_out,
		   bool *is_new_out, unsigned *different_out)
{
	struct record_sql *sql = record_sql_of(record);
	struct found found = {0};
	int64_t number = 0;
	int error = record_sql_check(sql);

	arena_reset(sql->arena);
	if (error == 0 && !record_text_is_valid(message->id, DECODE_ID_MAX))
		return -EINVAL;
	if (error == 0)
		error = find(sql, message, &found);
	if (error == 0 && found.number == 0)
		error = insert_all(sql, message, &number);
	/* without the lock another one may have been faster: then the row is there now */
	if (error == 0 && found.number == 0 && number == 0)
		error = find(sql, message, &found);
	if (error < 0)
		return error;
	if (found.number == 0 && number == 0)
		return record_sql_fail(sql, -EDEADLK, "a message was neither there nor new");
	*number_out = number != 0 ? number : found.number;
	*is_new_out = number != 0;
	*different_out = (unsigned)(found.count - (found.number != 0));
	return 0;
}
