// SPDX-License-Identifier: ISC
#include "filing/record/record.h"
#include <errno.h>

int record_begin(struct record *record)
{
	return record->operations->begin(record);
}

int record_lock_all(struct record *record, struct record_turn *turns, size_t count)
{
	return count > 0 ? record->operations->lock(record, turns, count) : 0;
}

int record_lock(struct record *record, const struct lock_name *name)
{
	struct record_turn turn = {.name = name};
	int error = record_lock_all(record, &turn, 1);

	return error == 0 && !turn.is_taken ? -EAGAIN : error;
}

int record_put_all(struct record *record, struct record_entry *entries, size_t count)
{
	return count > 0 ? record->operations->put(record, entries, count) : 0;
}

int record_put(struct record *record, const struct record_message *message, int64_t *number_out,
	       bool *is_new_out, unsigned *different_out)
{
	struct record_entry entry = {.message = message};
	int error = record_put_all(record, &entry, 1);

	if (error != 0)
		return error;
	*number_out = entry.number;
	*is_new_out = entry.is_new;
	*different_out = entry.different;
	return 0;
}

int record_decide_all(struct record *record, struct record_attempt **attempts, size_t count)
{
	return count > 0 ? record->operations->decide(record, attempts, count) : 0;
}

int record_move_all(struct record *record, struct record_attempt **attempts, size_t count)
{
	return count > 0 ? record->operations->move(record, attempts, count) : 0;
}

int record_new_folders(struct record *record, const struct record_mailbox *mailbox,
		       int64_t since_us, unsigned *count_out)
{
	return record->operations->new_folders(record, mailbox, since_us, count_out);
}

int record_open_all(struct record *record, struct record_attempt **attempts, size_t count,
		    int64_t now_us)
{
	return count > 0 ? record->operations->open(record, attempts, count, now_us) : 0;
}

int record_open(struct record *record, int64_t message, const struct record_mailbox *mailbox,
		const struct record_token *token, int64_t now_us, struct record_filing *out)
{
	struct record_attempt attempt = {.message = message, .mailbox = *mailbox, .token = *token};
	struct record_attempt *one = &attempt;
	int error = record_open_all(record, &one, 1, now_us);

	if (error == 0)
		*out = attempt.row;
	return error;
}

int record_look_all(struct record *record, struct record_attempt **attempts, size_t count)
{
	return count > 0 ? record->operations->look(record, attempts, count) : 0;
}

int record_look(struct record *record, int64_t filing, const struct record_token *token,
		struct record_filing *out)
{
	struct record_attempt attempt = {.row.number = filing, .token = *token};
	struct record_attempt *one = &attempt;
	int error = record_look_all(record, &one, 1);

	if (error == 0)
		*out = attempt.row;
	return error;
}

int record_filed_all(struct record *record, struct record_attempt **attempts, size_t count,
		     int64_t now_us)
{
	return count > 0 ? record->operations->filed(record, attempts, count, now_us) : 0;
}

int record_filed(struct record *record, int64_t filing, const struct record_token *token,
		 struct str copy, int64_t now_us)
{
	struct record_attempt attempt = {.row.number = filing, .token = *token, .copy = copy};
	struct record_attempt *one = &attempt;

	return record_filed_all(record, &one, 1, now_us);
}

int record_end_all(struct record *record, struct record_attempt **attempts, size_t count)
{
	return count > 0 ? record->operations->end(record, attempts, count) : 0;
}

int record_end(struct record *record, int64_t filing, const struct record_token *token)
{
	struct record_attempt attempt = {.row.number = filing, .token = *token};
	struct record_attempt *one = &attempt;

	return record_end_all(record, &one, 1);
}

int record_settle(struct record *record, int64_t filing, int64_t before_us)
{
	return record->operations->settle(record, filing, before_us);
}

int record_check(struct record *record)
{
	return record->operations->check(record);
}

int record_commit(struct record *record)
{
	return record->operations->commit(record);
}

void record_rollback(struct record *record)
{
	record->operations->rollback(record);
}

int record_holder(struct record *record, const struct lock_name *name, struct arena *arena,
		  struct str *holder_out)
{
	return record->operations->holder(record, name, arena, holder_out);
}

int record_list(struct record *record, const struct record_query *query, record_listed_one *one,
		void *context)
{
	return record->operations->list(record, query, one, context);
}

int record_unfile(struct record *record, int64_t filing)
{
	return record->operations->unfile(record, filing);
}

int record_prune(struct record *record, int64_t before_us, unsigned limit, unsigned *count_out)
{
	return record->operations->prune(record, before_us, limit, count_out);
}

const char *record_error(const struct record *record)
{
	return record->error;
}

void record_free(struct record *record)
{
	if (record != NULL)
		record->operations->free(record);
}
