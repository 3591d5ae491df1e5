// SPDX-License-Identifier: ISC
/* The two transactions of a group, and the lock of each message in them. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "filing/internal.h"
#include "os/clock.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes the locks of all messages that are not busy. */
static int take_message_locks(const struct filing *filing, struct filing_item *items, size_t count)
{
	struct record_turn *turns = memory_alloc_zero(count, sizeof *turns);
	size_t used = 0;
	int error;

	for (size_t i = 0; i < count; i++)
		if (!items[i].message->is_busy)
			turns[used++].name = &items[i].lock;
	error = record_lock_all(filing->record, turns, used);
	used = 0;
	for (size_t i = 0; i < count; i++)
		items[i].has_lock = !items[i].message->is_busy && turns[used++].is_taken;
	free(turns);
	return error;
}

/* --- the first: the message is recorded, the attempts are noted --- */

static struct record_message record_of_message(const struct filing_message *message, int64_t now_us)
{
	struct record_message record = {
		.id = message->identity->id,
		.is_derived = message->identity->is_derived,
		.size = message->content.size,
		.recorded_us = now_us,
		.sender = message->sender,
		.decoded = message->decoded,
	};

	memcpy(record.digest, message->identity->digest, sizeof record.digest);
	return record;
}

static void take_record_entry(struct filing_item *item, const struct record_entry *entry)
{
	item->is_new = entry->is_new;
	item->different = entry->different;
	for (size_t i = 0; i < item->message->copy_count; i++) {
		item->works[i].attempt.message = entry->number;
		item->works[i].attempt.is_new = entry->is_new;
	}
}

/* Messages of the Message-ID of ITEMS[I] that are new with it, and before it in the group. */
static unsigned count_before(const struct filing_item *items, size_t i)
{
	unsigned count = 0;

	for (size_t j = 0; j < i; j++)
		count += items[j].has_lock && items[j].is_new &&
			 str_equal(items[j].message->identity->id, items[i].message->identity->id);
	return count;
}

static int put_messages_into_record(const struct filing *filing, struct filing_item *items,
				    size_t count)
{
	struct record_message *messages = memory_alloc_zero(count, sizeof *messages);
	struct record_entry *entries = memory_alloc_zero(count, sizeof *entries);
	int64_t now_us = os_clock_wall_us();
	size_t used = 0;
	int error;

	for (size_t i = 0; i < count; i++) {
		if (!items[i].has_lock)
			continue;
		messages[used] = record_of_message(items[i].message, now_us);
		entries[used].message = &messages[used];
		used++;
	}
	error = record_put_all(filing->record, entries, used);
	used = 0;
	for (size_t i = 0; error == 0 && i < count; i++)
		if (items[i].has_lock)
			take_record_entry(&items[i], &entries[used++]);
	for (size_t i = 0; error == 0 && i < count; i++)
		items[i].different += count_before(items, i);
	free(entries);
	free(messages);
	return error;
}

static bool is_any_attempt(const struct filing_work *work)
{
	(void)work;
	return true;
}

static int open_copies(const struct filing *filing, struct filing_item *items, size_t count)
{
	struct filing_subset subset CLEANUP(filing_subset_clear);
	int error;

	filing_subset_choose(&subset, items, count, is_any_attempt);
	error = record_open_all(filing->record, subset.attempts, subset.count, os_clock_wall_us());
	for (size_t i = 0; error == 0 && i < subset.count; i++)
		filing_copy_opened(subset.works[i]);
	return error;
}

static int open_items(const struct filing *filing, struct filing_item *items, size_t count)
{
	int error = take_message_locks(filing, items, count);

	for (size_t i = 0; error == 0 && i < count; i++)
		items[i].message->is_busy = !items[i].has_lock;
	if (error == 0)
		error = put_messages_into_record(filing, items, count);
	if (error == 0)
		error = filing_decide(filing, items, count);
	return error == 0 ? open_copies(filing, items, count) : error;
}

static int end_transaction(const struct filing *filing, int error)
{
	if (error == 0)
		error = record_commit(filing->record);
	if (error != 0)
		record_rollback(filing->record);
	return error;
}

static void tell_of_message(const struct filing *filing, const struct filing_item *item)
{
	const struct filing_work about = {.message = item->message};
	char text[64];

	if (item->message->is_busy)
		return;
	if (item->is_new)
		filing_tell(filing, FILING_RECORDED, &about, NULL);
	if (item->is_new && item->different > 0) {
		snprintf(text, sizeof text, "%u with other contents", item->different);
		filing_tell(filing, FILING_DIFFERENT, &about, text);
	}
	for (size_t i = 0; i < item->message->copy_count; i++)
		if (!item->works[i].is_settled && item->works[i].duplicate == NULL &&
		    item->works[i].step == FILING_STEP_DONE)
			filing_tell(filing, FILING_KNOWN, &item->works[i], NULL);
}

int filing_open(const struct filing *filing, struct filing_item *items, size_t count)
{
	int error;

	for (size_t i = 0; i < count; i++)
		items[i].message->is_busy = false;
	error = record_begin(filing->record);
	if (error == 0)
		error = open_items(filing, items, count);
	error = end_transaction(filing, error);
	for (size_t i = 0; error == 0 && i < count; i++)
		tell_of_message(filing, &items[i]);
	return error;
}

/* --- the second: the copies are appended, and marked as filed --- */

static bool needs_end(const struct filing_work *work)
{
	return !work->is_settled && work->duplicate == NULL && work->step != FILING_STEP_DONE;
}

bool filing_is_open(const struct filing_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; !items[i].message->is_busy && j < items[i].message->copy_count;
		     j++)
			if (needs_end(&items[i].works[j]))
				return true;
	return false;
}

/* What we noted is taken back, as nothing was appended. */
static int withdraw_attempts(const struct filing *filing, const struct filing_item *item)
{
	int error = 0;

	for (size_t i = 0; error == 0 && i < item->message->copy_count; i++)
		if (needs_end(&item->works[i]))
			error = record_end(filing->record, item->works[i].attempt.row.number,
					   &item->works[i].attempt.token);
	return error;
}

static bool is_early_attempt(const struct filing_work *work)
{
	return work->step == FILING_STEP_EARLY;
}

/* For people: what is waited for, and how long at most. */
static void set_early(const struct filing *filing, struct filing_work *work)
{
	int64_t left_us = work->last_us + filing->store->append_max_us - os_clock_wall_us();
	int64_t most_us = filing->store->append_max_us;

	if (left_us < 0 || left_us > most_us)
		left_us = most_us;
	mail_verdict_set(&work->copy->verdict, "4.4.5",
			 "The connection of an attempt to file it was lost, and the server may "
			 "still take that into effect, for %lld seconds at most",
			 (long long)(left_us / SECOND_US) + 1);
	work->copy->is_early = true;
	work->is_told = true;
}

/* Copies for which nothing can be done now: others of their messages are not concerned. */
static int put_off_attempts(const struct filing *filing, struct filing_item *items, size_t count)
{
	struct filing_subset subset CLEANUP(filing_subset_clear);
	int error;

	filing_subset_choose(&subset, items, count, needs_end);
	for (size_t i = 0; i < subset.count; i++)
		(void)filing_copy_is_early(subset.works[i], os_clock_wall_us(),
					   filing->store->append_max_us);
	filing_subset_clear(&subset);
	filing_subset_choose(&subset, items, count, is_early_attempt);
	for (size_t i = 0; i < subset.count; i++)
		set_early(filing, subset.works[i]);
	error = record_end_all(filing->record, subset.attempts, subset.count);
	return error;
}

static int look_up_attempts(const struct filing *filing, struct filing_item *items, size_t count)
{
	struct filing_subset subset CLEANUP(filing_subset_clear);
	int error;

	filing_subset_choose(&subset, items, count, needs_end);
	error = record_look_all(filing->record, subset.attempts, subset.count);
	for (size_t i = 0; error == 0 && i < subset.count; i++)
		filing_copy_looked(subset.works[i]);
	return error;
}

static int look_up_attempts_again(const struct filing *filing, struct filing_item *items,
				  size_t count)
{
	int error = take_message_locks(filing, items, count);

	for (size_t i = 0; error == 0 && i < count; i++)
		if (!items[i].message->is_busy && !items[i].has_lock)
			error = withdraw_attempts(filing, &items[i]);
	if (error == 0)
		error = look_up_attempts(filing, items, count);
	return error == 0 ? put_off_attempts(filing, items, count) : error;
}

static bool is_to_be_marked(const struct filing_work *work)
{
	return work->step == FILING_STEP_MARK && !work->was_filed;
}

static bool has_filing_ended(const struct filing_work *work)
{
	return (work->step == FILING_STEP_MARK && work->was_filed) ||
	       work->step == FILING_STEP_FAILED;
}

int64_t filing_settled_before_us(const struct mailstore *store)
{
	return os_clock_wall_us() - store->append_max_us - DAY_US;
}

static bool settles_others(const struct filing_work *work)
{
	/* else an attempt that goes on would not see that it was ended: it will see "filed" */
	return work->was_searched && work->step == FILING_STEP_MARK;
}

static int mark_filed(const struct filing *filing, struct filing_item *items, size_t count)
{
	struct filing_subset subset CLEANUP(filing_subset_clear);

	filing_subset_choose(&subset, items, count, is_to_be_marked);
	for (size_t i = 0; i < subset.count; i++)
		subset.attempts[i]->copy = str_from(subset.works[i]->kept);
	return record_filed_all(filing->record, subset.attempts, subset.count, os_clock_wall_us());
}

static int end_others(const struct filing *filing, struct filing_item *items, size_t count)
{
	struct filing_subset subset CLEANUP(filing_subset_clear);

	filing_subset_choose(&subset, items, count, has_filing_ended);
	return record_end_all(filing->record, subset.attempts, subset.count);
}

static int settle_other_attempts(const struct filing *filing, struct filing_item *items,
				 size_t count)
{
	struct filing_subset subset CLEANUP(filing_subset_clear);
	int64_t before_us = filing_settled_before_us(filing->store);
	int error = 0;

	filing_subset_choose(&subset, items, count, settles_others);
	for (size_t i = 0; error == 0 && i < subset.count; i++)
		error = record_settle(filing->record, subset.attempts[i]->row.number, before_us);
	return error;
}

/* Writes how the copies ended. */
static int mark_ended_copies(const struct filing *filing, struct filing_item *items, size_t count)
{
	int error = mark_filed(filing, items, count);

	if (error == 0)
		error = end_others(filing, items, count);
	if (error == 0)
		error = filing_move(filing, items, count);
	return error == 0 ? settle_other_attempts(filing, items, count) : error;
}

/* Once the transaction holds. */
static void set_done(const struct filing *filing, const struct filing_item *item)
{
	if (!item->has_lock)
		item->message->is_busy = true;
	for (size_t i = 0; i < item->message->copy_count; i++) {
		struct filing_work *work = &item->works[i];

		if (!item->has_lock || work->step != FILING_STEP_MARK)
			continue;
		work->step = FILING_STEP_DONE;
		filing_tell(filing, work->was_appended ? FILING_FILED : FILING_KNOWN, work, NULL);
	}
}

int filing_close(const struct filing *filing, struct filing_item *items, size_t count,
		 bool *has_appended_out)
{
	int error = record_begin(filing->record);

	if (error == 0)
		error = look_up_attempts_again(filing, items, count);
	if (error == 0) {
		filing_search(filing, items, count);
		error = filing_append(filing, items, count, has_appended_out);
	}
	if (error == 0)
		error = mark_ended_copies(filing, items, count);
	error = end_transaction(filing, error);
	for (size_t i = 0; error == 0 && i < count; i++)
		set_done(filing, &items[i]);
	return error;
}
