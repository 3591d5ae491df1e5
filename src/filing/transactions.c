// SPDX-License-Identifier: ISC
/* The two transactions of a group, and the lock of each message in them. */
#include "base/timestamp.h"
#include "filing/internal.h"
#include "os/clock.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- the first: the message is recorded, the attempts are noted --- */

static int put(const struct filing *filing, struct filing_item *item)
{
	const struct filing_message *message = item->message;
	struct record_message record = {
		.id = message->identity->id,
		.is_derived = message->identity->is_derived,
		.size = message->content.size,
		.recorded_us = os_clock_wall_us(),
		.sender = message->sender,
		.decoded = message->decoded,
	};

	memcpy(record.digest, message->identity->digest, sizeof record.digest);
	return record_put(filing->record, &record, &item->number, &item->is_new, &item->different);
}

static int open_copy(const struct filing *filing, const struct filing_item *item,
		     struct filing_work *work)
{
	struct record_filing row;
	int error = record_open(filing->record, item->number, &work->copy->place, &work->token,
				os_clock_wall_us(), &row);

	if (error != 0)
		return error;
	filing_copy_opened(work, &row);
	return 0;
}

static int open_item(const struct filing *filing, struct filing_item *item)
{
	int error = record_lock(filing->record, &item->lock);

	item->message->is_busy = error == -EAGAIN;
	if (error != 0)
		return item->message->is_busy ? 0 : error;
	error = put(filing, item);
	for (size_t i = 0; error == 0 && i < item->message->copy_count; i++)
		error = open_copy(filing, item, &item->works[i]);
	return error;
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
		if (item->works[i].step == FILING_STEP_DONE)
			filing_tell(filing, FILING_KNOWN, &item->works[i], NULL);
}

int filing_open(const struct filing *filing, struct filing_item *items, size_t count)
{
	int error = record_begin(filing->record);

	for (size_t i = 0; error == 0 && i < count; i++)
		error = open_item(filing, &items[i]);
	error = end_transaction(filing, error);
	for (size_t i = 0; error == 0 && i < count; i++)
		tell_of_message(filing, &items[i]);
	return error;
}

/* --- the second: the copies are appended, and marked as filed --- */

static bool needs_end(const struct filing_work *work)
{
	return work->step != FILING_STEP_DONE;
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
static int withdraw(const struct filing *filing, const struct filing_item *item)
{
	int error = 0;

	for (size_t i = 0; error == 0 && i < item->message->copy_count; i++)
		if (needs_end(&item->works[i]))
			error = record_end(filing->record, item->works[i].row,
					   &item->works[i].token);
	return error;
}

static int look_copy(const struct filing *filing, struct filing_work *work)
{
	struct record_filing row;
	int error = record_look(filing->record, work->row, &work->token, &row);

	if (error != 0)
		return error;
	filing_copy_looked(work, &row);
	return 0;
}

/* Whether nothing can be done for it now. */
static bool must_begin_anew(const struct filing *filing, const struct filing_item *item)
{
	bool must = false;

	for (size_t i = 0; i < item->message->copy_count; i++) {
		struct filing_work *work = &item->works[i];

		must |= filing_copy_is_early(work, os_clock_wall_us(),
					     filing->store->append_max_us) ||
			work->step == FILING_STEP_OPENING;
	}
	return must;
}

static int look_item(const struct filing *filing, struct filing_item *item)
{
	int error;

	item->has_lock = false;
	if (item->message->is_busy)
		return 0;
	error = record_lock(filing->record, &item->lock);
	if (error != 0)
		return error == -EAGAIN ? withdraw(filing, item) : error;
	item->has_lock = true;
	for (size_t i = 0; error == 0 && i < item->message->copy_count; i++)
		if (needs_end(&item->works[i]))
			error = look_copy(filing, &item->works[i]);
	if (error != 0 || !must_begin_anew(filing, item))
		return error;
	item->has_lock = false; /* nothing more is done under it */
	return withdraw(filing, item);
}

/* Writes how the copy ended. */
static int mark_copy(const struct filing *filing, struct filing_work *work)
{
	int error = 0;

	if (work->step == FILING_STEP_DONE || work->step == FILING_STEP_LOST)
		return 0;
	if (work->step == FILING_STEP_MARK && !work->was_filed)
		error = record_filed(filing->record, work->row, &work->token, str_from(work->kept),
				     os_clock_wall_us());
	else
		error = record_end(filing->record, work->row, &work->token);
	if (error == 0 && work->was_searched)
		error = record_settle(filing->record, work->row,
				      os_clock_wall_us() - filing->store->append_max_us - DAY_US);
	return error;
}

static int mark_item(const struct filing *filing, const struct filing_item *item)
{
	int error = 0;

	for (size_t i = 0; error == 0 && i < item->message->copy_count; i++)
		error = mark_copy(filing, &item->works[i]);
	return error;
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

/* Between look and mark: the store. */
static int fill_store(const struct filing *filing, struct filing_item *items, size_t count,
		      bool *has_appended_out)
{
	int error;

	filing_search(filing, items, count);
	error = record_check(filing->record);
	if (error != 0)
		return error;
	*has_appended_out = true;
	filing_append(filing, items, count);
	return 0;
}

int filing_close(const struct filing *filing, struct filing_item *items, size_t count,
		 bool *has_appended_out)
{
	int error = record_begin(filing->record);

	for (size_t i = 0; error == 0 && i < count; i++)
		error = look_item(filing, &items[i]);
	if (error == 0)
		error = fill_store(filing, items, count, has_appended_out);
	for (size_t i = 0; error == 0 && i < count; i++)
		if (items[i].has_lock)
			error = mark_item(filing, &items[i]);
	error = end_transaction(filing, error);
	for (size_t i = 0; error == 0 && i < count; i++)
		set_done(filing, &items[i]);
	return error;
}
