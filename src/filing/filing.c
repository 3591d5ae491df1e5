// SPDX-License-Identifier: ISC
#include "filing/filing.h"
#include "base/panic.h"
#include "filing/internal.h"
#include "os/clock.h"
#include "os/random.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 5 }; /* of a transaction that met another one (-EDEADLK) */

struct filing *filing_new(struct record *record, struct mailstore *store,
			  void (*event)(void *context, const struct filing_event *event),
			  void *context)
{
	struct filing *filing = memory_alloc_zero(1, sizeof *filing);

	*filing = (struct filing){record, store, event, context};
	return filing;
}

void filing_free(struct filing *filing)
{
	free(filing);
}

static void make_record_token(struct record_token *token)
{
	for (size_t i = 0; i < RECORD_TOKEN_SIZE; i += sizeof(uint64_t)) {
		uint64_t random = os_random_u64();

		memcpy(token->bytes + i, &random, sizeof random);
	}
}

static void begin_item(struct filing_item *item, struct filing_message *message)
{
	message->is_busy = false;
	message->is_lost = false;
	message->is_away = false;
	item->message = message;
	item->works = memory_alloc_zero(message->copy_count + 1, sizeof *item->works);
	lock_name_make(message->identity->id, &item->lock);
	for (size_t i = 0; i < message->copy_count; i++) {
		item->works[i] =
			(struct filing_work){.message = message,
					     .copy = &message->copies[i],
					     .attempt.mailbox = message->copies[i].mailbox,
					     .attempt.decision = message->copies[i].decision,
					     .is_settled = message->copies[i].is_settled};
		message->copies[i].is_early = false;
		make_record_token(&item->works[i].attempt.token);
	}
}

static struct filing_item *begin_items(struct filing_message *messages, size_t count)
{
	struct filing_item *items = memory_alloc_zero(count + 1, sizeof *items);

	for (size_t i = 0; i < count; i++)
		begin_item(&items[i], &messages[i]);
	return items;
}

static bool concerns_all(int error)
{
	return error == -ENOTCONN || error == -EUSERS || error == -EROFS || error == -ENOSPC ||
	       error == -EPROTO || error == -EACCES || error == -ETIMEDOUT;
}

/* Whether the record takes nothing now, from anybody. One connection that was lost, or one answer
 * that was late, says nothing of the next one. */
static bool is_record_away(const struct filing *filing, int error)
{
	bool is_there;

	if (error != -ENOTCONN && error != -ETIMEDOUT)
		return concerns_all(error);
	is_there = record_begin(filing->record) == 0;
	record_rollback(filing->record);
	return !is_there;
}

/* A copy whose second transaction did not hold. */
static void lose_filing_work(const struct filing *filing, struct filing_work *work)
{
	if (work->step == FILING_STEP_FAILED || work->step == FILING_STEP_EARLY)
		return; /* it left nothing, and it is known why */
	filing_defer(filing, work, "The record of messages cannot be written now",
		     record_error(filing->record));
	work->step = FILING_STEP_LOST;
}

static void lose_item(const struct filing *filing, struct filing_item *item)
{
	for (size_t i = 0; i < item->message->copy_count; i++)
		if (!item->works[i].is_settled && item->works[i].duplicate == NULL &&
		    item->works[i].step != FILING_STEP_DONE)
			lose_filing_work(filing, &item->works[i]);
}

/* Because of ERROR. Whether the record is away. */
static bool lose_all(const struct filing *filing, struct filing_item *items, size_t count,
		     int error)
{
	bool was_away;

	for (size_t i = 0; i < count; i++)
		if (!items[i].message->is_busy)
			lose_item(filing, &items[i]);
	was_away = is_record_away(filing, error);
	for (size_t i = 0; i < count; i++)
		items[i].message->is_away |= was_away && !items[i].message->is_busy;
	return was_away;
}

static bool may_repeat(int error, unsigned tries)
{
	return error == -EDEADLK && tries < TRIES;
}

/* Both transactions; -errno if one of them does not hold, and nothing was appended. */
static int file_once(const struct filing *filing, struct filing_item *items, size_t count)
{
	bool has_appended = false;
	unsigned tries = 0;
	int error;

	do
		error = filing_open(filing, items, count);
	while (may_repeat(error, ++tries));
	if (error != 0 || !filing_is_open(items, count))
		return error;
	tries = 0;
	do
		error = filing_close(filing, items, count, &has_appended);
	while (!has_appended && may_repeat(error, ++tries));
	if (error == 0 || !has_appended)
		return error;
	(void)lose_all(filing, items, count, error);
	return 0;
}

/* Likewise, and once more for copies whose folder the store refuses. */
static int file_together(const struct filing *filing, struct filing_item *items, size_t count)
{
	struct filing_item *again = memory_alloc_zero(count + 1, sizeof *again);
	int error = file_once(filing, items, count);
	size_t moved = error == 0 ? filing_moved(filing, items, count, again) : 0;

	if (moved > 0) {
		int second = file_once(filing, again, moved);

		if (second != 0)
			(void)lose_all(filing, again, moved, second);
	}
	free(again);
	return error;
}

/* One message that the record cannot take must not hold up the others, nor do they all wait for a
 * record that is away. */
static void file_apart(const struct filing *filing, struct filing_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int error = file_together(filing, &items[i], 1);

		if (error != 0 && lose_all(filing, &items[i], 1, error)) {
			(void)lose_all(filing, items + i + 1, count - i - 1, error);
			return;
		}
	}
}

static void tell_of_end(const struct filing *filing, const struct filing_work *work)
{
	if (work->copy->is_settled)
		return;
	if (work->duplicate != NULL) {
		work->copy->verdict = work->duplicate->copy->verdict;
		work->copy->is_early = work->duplicate->copy->is_early;
		return;
	}
	if (work->step == FILING_STEP_DONE) {
		mail_verdict_set(&work->copy->verdict, "2.0.0", "Filed");
		return;
	}
	work->message->is_lost |= work->step == FILING_STEP_LOST;
	if (!work->is_told)
		filing_tell(filing, FILING_FAILED, work, work->copy->verdict.text);
}

static void end_items(const struct filing *filing, struct filing_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < items[i].message->copy_count; j++)
			if (!items[i].message->is_busy)
				tell_of_end(filing, &items[i].works[j]);
		free(items[i].works);
	}
	free(items);
}

void filing_group(struct filing *filing, struct filing_message *messages, size_t count)
{
	struct filing_item *items = begin_items(messages, count);
	int error = file_together(filing, items, count);

	if (error != 0 && count > 1 && !concerns_all(error))
		file_apart(filing, items, count);
	else if (error != 0)
		(void)lose_all(filing, items, count, error);
	end_items(filing, items, count);
}
