// SPDX-License-Identifier: ISC
#include "record/record.h"

int record_begin(struct record *record)
{
	return record->operations->begin(record);
}

int record_lock(struct record *record, const struct lock_name *name)
{
	return record->operations->lock(record, name);
}

int record_put(struct record *record, const struct record_message *message, int64_t *number_out,
	       bool *is_new_out, unsigned *different_out)
{
	return record->operations->put(record, message, number_out, is_new_out, different_out);
}

int record_open(struct record *record, int64_t message, const struct record_place *place,
		const struct record_token *token, int64_t now_us, struct record_filing *out)
{
	return record->operations->open(record, message, place, token, now_us, out);
}

int record_look(struct record *record, int64_t filing, const struct record_token *token,
		struct record_filing *out)
{
	return record->operations->look(record, filing, token, out);
}

int record_filed(struct record *record, int64_t filing, const struct record_token *token,
		 struct str copy, int64_t now_us)
{
	return record->operations->filed(record, filing, token, copy, now_us);
}

int record_end(struct record *record, int64_t filing, const struct record_token *token)
{
	return record->operations->end(record, filing, token);
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
