// SPDX-License-Identifier: ISC
/* What happens in the store under the lock. */
#include "base/panic.h"
#include "filing/internal.h"
#include "os/clock.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct mailstore_location mailbox_of_filing(const struct filing_work *work)
{
	return (struct mailstore_location){
		.user = work->copy->mailbox.user,
		.folder = work->copy->mailbox.folder,
		.id = work->message->identity->id,
		.digest = work->message->identity->digest,
	};
}

static void set_failed(const struct filing *filing, struct filing_work *work, const char *detail)
{
	work->message->is_away |= filing->store->is_away;
	filing_defer(filing, work, "The mailbox cannot be read now", detail);
	work->step = FILING_STEP_FAILED;
	work->was_searched = false;
}

/* Removes all copies but the one that is kept. A failure cannot be removed leaves the doubt. */
static void remove_surplus_found(const struct filing *filing, struct filing_work *work,
				 const struct mailstore_found *found, size_t count)
{
	const struct mailstore_location location = mailbox_of_filing(work);

	for (size_t i = 0; i < count; i++) {
		int error;

		if (strcmp(found[i].copy, work->kept) == 0)
			continue;
		/* without the lock another one may remove what is kept here */
		if (record_check(filing->record) != 0) {
			set_failed(filing, work, record_error(filing->record));
			return;
		}
		error = mailstore_remove(filing->store, &location, found[i].copy);
		if (error == 0)
			filing_tell(filing, FILING_SURPLUS, work, found[i].copy);
		else if (error != -ENOENT) {
			set_failed(filing, work, filing->store->error);
			return;
		}
	}
}

static void search_copy(const struct filing *filing, struct filing_work *work)
{
	struct mailstore_location location = mailbox_of_filing(work);
	unsigned char encoded[DECODE_DIGEST_SIZE];
	struct arena *arena = arena_new();
	struct mailstore_found *found;
	size_t count;
	int error = mailstore_fence(filing->store, &location);

	if (work->message->is_binary &&
	    mailstore_encoded_digest(&work->message->content, encoded) == 0)
		location.encoded_digest = encoded;
	if (error == 0)
		error = mailstore_find(filing->store, &location, arena, &found, &count);
	if (error != 0) {
		set_failed(filing, work, filing->store->error);
	} else {
		work->was_searched = true;
		filing_copy_searched(work, found, count);
		filing_tell(filing, count > 0 ? FILING_FOUND : FILING_MISSING, work, NULL);
		remove_surplus_found(filing, work, found, count);
	}
	arena_free(arena);
}

static size_t for_each(const struct filing *filing, struct filing_item *items, size_t count,
		       enum filing_step step,
		       void (*call)(const struct filing *filing, struct filing_work *work))
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < items[i].message->copy_count; j++) {
			struct filing_work *work = &items[i].works[j];

			if (!items[i].has_lock || work->step != step)
				continue;
			found++;
			if (call != NULL)
				call(filing, work);
		}
	}
	return found;
}

void filing_search(const struct filing *filing, struct filing_item *items, size_t count)
{
	for_each(filing, items, count, FILING_STEP_DOUBT, search_copy);
}

static struct mailstore_append append_of(const struct filing_work *work)
{
	return (struct mailstore_append){
		.location = mailbox_of_filing(work),
		.content = work->message->content,
		.is_binary = work->message->is_binary,
		.sender = work->message->sender,
		.recipient = work->copy->recipient,
		.flags = work->copy->decision.flags,
		.quota = work->copy->quota,
		.refuses_over_quota = work->copy->refuses_over_quota,
		.date_us = os_clock_wall_us(),
	};
}

/* The last thing before a copy can be seen. Whoever has lost the turn by then appends nothing; of
 * whoever loses it later, the next one who has it removes what is not in the mailbox yet. */
struct gate {
	const struct filing *filing;
	int error;
	bool is_passed; /* at least once */
};

static int pass_filing_gate(void *context)
{
	struct gate *gate = context;

	if (gate->error != 0) /* the transaction is over */
		return gate->error;
	gate->error = record_check(gate->filing->record);
	gate->is_passed = gate->is_passed || gate->error == 0;
	return gate->error;
}

int filing_append(const struct filing *filing, struct filing_item *items, size_t count,
		  bool *has_appended_out)
{
	struct gate gate = {.filing = filing};
	const struct mailstore_gate store_gate = {pass_filing_gate, &gate};

	size_t most = for_each(filing, items, count, FILING_STEP_APPEND, NULL);
	struct mailstore_append *appends = memory_alloc_zero(most + 1, sizeof *appends);
	struct filing_work **works = memory_alloc_zero(most + 1, sizeof *works);
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; items[i].has_lock && j < items[i].message->copy_count; j++)
			if (items[i].works[j].step == FILING_STEP_APPEND)
				works[found++] = &items[i].works[j];
	for (size_t i = 0; i < found; i++)
		appends[i] = append_of(works[i]);
	if (found > 0)
		mailstore_append(filing->store, appends, found, &store_gate);
	*has_appended_out = gate.is_passed;
	for (size_t i = 0; i < found && gate.error == 0; i++) {
		works[i]->was_appended = true;
		works[i]->message->is_away |= appends[i].is_away;
		filing_copy_appended(works[i], &appends[i]);
	}
	free(works);
	free(appends);
	return gate.error;
}
