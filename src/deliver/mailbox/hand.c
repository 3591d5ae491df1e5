// SPDX-License-Identifier: ISC
#include "deliver/mailbox/hand.h"
#include "base/arena.h"
#include "base/panic.h"
#include "deliver/mailbox/log.h"
#include "os/worker.h"
#include <stdlib.h>

/* Only the loop's thread writes the log. */
struct kept {
	struct mailbox_note note;
	struct kept *next;
};

struct mailbox_hand {
	struct record *record;
	struct mailstore *store;
	struct filing *filing;
	struct os_worker *worker;
	struct filing_message messages[MAILBOX_GROUP_MAX]; /* filed as one array */
	struct filing_message *origins[MAILBOX_GROUP_MAX];
	size_t count;
	struct arena *arena; /* of what is kept */
	struct kept *first;
	struct kept **last;
};

static void keep_filing_event(void *context, const struct filing_event *event)
{
	struct mailbox_hand *hand = context;
	struct kept *kept = arena_alloc(hand->arena, sizeof *kept);
	struct mailbox_note *note = &kept->note;

	*kept = (struct kept){.note = mailbox_note_of(event)};
	note->id = arena_copy_str(hand->arena, note->id);
	note->user = arena_copy_str(hand->arena, note->user);
	note->folder = arena_copy_str(hand->arena, note->folder);
	note->rule = arena_copy_str(hand->arena, note->rule);
	note->text = arena_copy_str(hand->arena, note->text);
	*hand->last = kept;
	hand->last = &kept->next;
}

static void file_group_in_thread(void *context)
{
	struct mailbox_hand *hand = context;

	filing_group(hand->filing, hand->messages, hand->count);
}

static void destroy_filing_thread(struct mailbox_hand *hand)
{
	filing_free(hand->filing);
	record_free(hand->record);
	mailstore_free(hand->store);
	arena_free(hand->arena);
	free(hand);
}

int mailbox_hand_new(struct os_wakeup *wakeup, struct record *record, struct mailstore *store,
		     struct mailbox_hand **hand_out)
{
	struct mailbox_hand *hand = memory_alloc_zero(1, sizeof *hand);
	int error;

	hand->record = record;
	hand->store = store;
	hand->filing = filing_new(record, store, keep_filing_event, hand);
	hand->arena = arena_new();
	hand->last = &hand->first;
	error = os_worker_new(file_group_in_thread, hand, wakeup, &hand->worker);
	if (error == 0)
		*hand_out = hand;
	else
		destroy_filing_thread(hand);
	return error;
}

void mailbox_hand_free(struct mailbox_hand *hand)
{
	if (hand == NULL)
		return;
	os_worker_free(hand->worker);
	destroy_filing_thread(hand);
}

void mailbox_hand_give(struct mailbox_hand *hand, struct filing_message **messages, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		hand->messages[i] = *messages[i];
		hand->origins[i] = messages[i];
	}
	hand->count = count;
	os_worker_start(hand->worker);
}

bool mailbox_hand_is_busy(struct mailbox_hand *hand)
{
	return os_worker_is_busy(hand->worker);
}

void mailbox_hand_wait(struct mailbox_hand *hand)
{
	(void)!os_worker_wait(hand->worker, INT64_MAX);
}

void mailbox_hand_log(struct mailbox_hand *hand)
{
	for (size_t i = 0; i < hand->count; i++) {
		hand->origins[i]->is_busy = hand->messages[i].is_busy;
		hand->origins[i]->is_lost = hand->messages[i].is_lost;
		hand->origins[i]->is_away = hand->messages[i].is_away;
	}
	for (const struct kept *kept = hand->first; kept != NULL; kept = kept->next)
		mailbox_note_log(&kept->note);
	arena_reset(hand->arena);
	hand->first = NULL;
	hand->last = &hand->first;
	hand->count = 0;
}
