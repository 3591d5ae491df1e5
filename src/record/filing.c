// SPDX-License-Identifier: ISC
/* Rows of message and mailbox, and the attempts noted at them. */
#include "record/internal.h"
#include <errno.h>

/* Columns of RECORD_FILING_FIND and RECORD_FILING_LOOK. */
enum { NUMBER, STATE, COPY, FILED_US, TOKEN, BEGAN_US, MAILBOX };

struct look {
	struct record_sql *sql;
	const struct record_token *token;
	struct record_filing filing; /* number 0: there is none */
	int64_t mailbox;             /* likewise */
};

static void take_attempt(struct look *look, const struct record_value *values)
{
	if (values[TOKEN].kind == RECORD_NULL)
		return;
	if (str_equal(values[TOKEN].bytes,
		      str_slice((const char *)look->token->bytes, sizeof look->token->bytes))) {
		look->filing.is_ours = true;
		return;
	}
	look->filing.others++;
	if (values[BEGAN_US].number > look->filing.last_us)
		look->filing.last_us = values[BEGAN_US].number;
}

static void take_look(void *context, const struct record_value *values, size_t count)
{
	struct look *look = context;
	struct record_filing *filing = &look->filing;

	(void)count;
	look->mailbox = values[MAILBOX].number;
	if (values[NUMBER].kind == RECORD_NULL)
		return;
	if (filing->number == 0) {
		filing->number = values[NUMBER].number;
		filing->state = record_state_of(&values[STATE]);
		filing->copy = record_keep(look->sql, &values[COPY]);
		filing->filed_us = values[FILED_US].number;
	}
	take_attempt(look, values);
}

static struct record_value token_value(const struct record_token *token)
{
	return record_bytes(token->bytes, sizeof token->bytes);
}

static int find(struct look *look, int64_t message, const struct record_place *place)
{
	const struct record_value values[] = {record_number(message),
					      {.kind = RECORD_TEXT, .bytes = place->user},
					      {.kind = RECORD_TEXT, .bytes = place->folder}};
	struct record_call call = RECORD_CALL(RECORD_FILING_FIND, values);

	look->filing = (struct record_filing){0};
	call.row = take_look;
	call.context = look;
	return record_run(look->sql, &call);
}

static void take_number(void *context, const struct record_value *values, size_t count)
{
	(void)count;
	*(int64_t *)context = values[0].number;
}

/* Mailboxes are nobody's: another message's transaction may make the same one. */
static int make_mailbox(struct record_sql *sql, const struct record_place *place,
			int64_t *number_out)
{
	const struct record_value values[] = {{.kind = RECORD_TEXT, .bytes = place->user},
					      {.kind = RECORD_TEXT, .bytes = place->folder}};
	struct record_call insert = RECORD_CALL(RECORD_MAILBOX_INSERT, values);
	struct record_call again = RECORD_CALL(RECORD_MAILBOX_FIND, values);
	int error = record_run(sql, &insert);

	*number_out = insert.inserted;
	if (error < 0 || insert.inserted != 0)
		return error;
	again.row = take_number;
	again.context = number_out;
	error = record_run(sql, &again);
	if (error == 0 && *number_out == 0)
		return record_sql_fail(sql, -EDEADLK, "a mailbox was neither there nor new");
	return error;
}

static int make_row(struct look *look, int64_t message, const struct record_place *place,
		    int64_t now_us)
{
	int error = look->mailbox != 0 ? 0 : make_mailbox(look->sql, place, &look->mailbox);
	const struct record_value values[] = {record_number(message), record_number(look->mailbox),
					      record_number(now_us)};
	struct record_call call = RECORD_CALL(RECORD_FILING_INSERT, values);

	if (error == 0)
		error = record_run(look->sql, &call);
	if (error < 0)
		return error;
	if (call.inserted == 0) { /* without the lock another one may have been faster */
		error = find(look, message, place);
		if (error == 0 && look->filing.number == 0)
			return record_sql_fail(look->sql, -EDEADLK,
					       "a filing was neither there nor new");
		return error;
	}
	look->filing = (struct record_filing){.number = call.inserted, .is_new = true};
	return 0;
}

static int note(struct look *look, int64_t now_us)
{
	const struct record_value values[] = {record_number(look->filing.number),
					      token_value(look->token), record_number(now_us)};
	struct record_call call = RECORD_CALL(RECORD_ATTEMPT_INSERT, values);
	int error = record_run(look->sql, &call);

	look->filing.is_ours = true;
	return error;
}

static bool is_settled(const struct record_filing *filing)
{
	return filing->state == RECORD_FILED && filing->others == 0;
}

int record_sql_open(struct record *record, int64_t message, const struct record_place *place,
		    const struct record_token *token, int64_t now_us, struct record_filing *out)
{
	struct look look = {.sql = record_sql_of(record), .token = token};
	int error = record_sql_check(look.sql);

	arena_reset(look.sql->arena);
	if (error == 0 && (!record_text_is_valid(place->user, RECORD_ADDRESS_MAX) ||
			   !record_text_is_valid(place->folder, RECORD_FOLDER_MAX)))
		return -EINVAL;
	if (error == 0)
		error = find(&look, message, place);
	if (error == 0 && look.filing.number == 0)
		error = make_row(&look, message, place, now_us);
	if (error == 0 && !look.filing.is_ours && !is_settled(&look.filing))
		error = note(&look, now_us);
	if (error == 0)
		*out = look.filing;
	return error;
}

int record_sql_look(struct record *record, int64_t filing, const struct record_token *token,
		    struct record_filing *out)
{
	struct look look = {.sql = record_sql_of(record), .token = token};
	const struct record_value values[] = {record_number(filing)};
	struct record_call call = RECORD_CALL(RECORD_FILING_LOOK, values);
	int error = record_sql_check(look.sql);

	arena_reset(look.sql->arena);
	call.row = take_look;
	call.context = &look;
	if (error == 0)
		error = record_run(look.sql, &call);
	if (error == 0 && look.filing.number == 0)
		return -ENOENT;
	if (error == 0)
		*out = look.filing;
	return error;
}

int record_sql_end(struct record *record, int64_t filing, const struct record_token *token)
{
	struct record_sql *sql = record_sql_of(record);
	const struct record_value values[] = {record_number(filing), token_value(token)};
	struct record_call call = RECORD_CALL(RECORD_ATTEMPT_REMOVE, values);
	int error = record_sql_check(sql);

	return error == 0 ? record_run(sql, &call) : error;
}

int record_sql_filed(struct record *record, int64_t filing, const struct record_token *token,
		     struct str copy, int64_t now_us)
{
	struct record_sql *sql = record_sql_of(record);
	const struct record_value values[] = {record_number(filing),
					      record_text(copy, RECORD_COPY_MAX, sql->arena),
					      record_number(now_us)};
	struct record_call call = RECORD_CALL(RECORD_FILING_FILED, values);
	int error = record_sql_check(sql);

	if (error == 0)
		error = record_run(sql, &call);
	if (error == 0 && call.changed == 0)
		return -ENOENT;
	return error == 0 ? record_sql_end(record, filing, token) : error;
}

int record_sql_settle(struct record *record, int64_t filing, int64_t before_us)
{
	struct record_sql *sql = record_sql_of(record);
	const struct record_value values[] = {record_number(filing), record_number(before_us)};
	struct record_call call = RECORD_CALL(RECORD_ATTEMPT_SETTLE, values);
	int error = record_sql_check(sql);

	return error == 0 ? record_run(sql, &call) : error;
}

int record_sql_unfile(struct record *record, int64_t filing)
{
	struct record_sql *sql = record_sql_of(record);
	const struct record_value values[] = {record_number(filing)};
	struct record_call call = RECORD_CALL(RECORD_FILING_REMOVE, values);
	int error = record_sql_check(sql);

	return error == 0 ? record_run(sql, &call) : error;
}
