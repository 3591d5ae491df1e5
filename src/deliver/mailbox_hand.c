// SPDX-License-Identifier: ISC
#include "deliver/mailbox_hand.h"
#include "base/arena.h"
#include "base/panic.h"
#include "log/event.h"
#include "os/worker.h"
#include <stdlib.h>

/* An event of the thread, kept for the log. */
struct note {
	enum filing_event_kind kind;
	struct str id;
	struct str user; /* "": about the message */
	struct str folder;
	struct str text;
	struct note *next;
};

struct mailbox_hand {
	struct record *record;
	struct mailstore *store;
	struct filing *filing;
	struct os_worker *worker;
	struct filing_message messages[MAILBOX_GROUP_MAX]; /* filed as one array */
	struct filing_message *origins[MAILBOX_GROUP_MAX];
	size_t count;
	struct arena *arena; /* of the notes */
	struct note *first;
	struct note **last;
};

static void keep_note(void *context, const struct filing_event *event)
{
	struct mailbox_hand *hand = context;
	struct note *note = arena_alloc(hand->arena, sizeof *note);

	*note = (struct note){
		.kind = event->kind,
		.id = arena_copy_str(hand->arena, event->message->identity->id),
		.text = arena_copy_str(hand->arena, str_from(event->text)),
	};
	if (event->copy != NULL) {
		note->user = arena_copy_str(hand->arena, event->copy->place.user);
		note->folder = arena_copy_str(hand->arena, event->copy->place.folder);
	}
	*hand->last = note;
	hand->last = &note->next;
}

static void work(void *context)
{
	struct mailbox_hand *hand = context;

	filing_group(hand->filing, hand->messages, hand->count);
}

static void destroy(struct mailbox_hand *hand)
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
	hand->filing = filing_new(record, store, keep_note, hand);
	hand->arena = arena_new();
	hand->last = &hand->first;
	error = os_worker_new(work, hand, wakeup, &hand->worker);
	if (error == 0)
		*hand_out = hand;
	else
		destroy(hand);
	return error;
}

void mailbox_hand_free(struct mailbox_hand *hand)
{
	if (hand == NULL)
		return;
	os_worker_free(hand->worker);
	destroy(hand);
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

static void log_note(const struct note *note)
{
	static const enum log_name events[FILING_EVENTS] = {
		[FILING_RECORDED] = EVENT_MESSAGE_RECORDED,
		[FILING_DIFFERENT] = EVENT_MESSAGE_ID_SHARED,
		[FILING_FILED] = EVENT_MESSAGE_FILED,
		[FILING_KNOWN] = EVENT_MESSAGE_FILED_BEFORE,
		[FILING_FOUND] = EVENT_FILING_FOUND,
		[FILING_MISSING] = EVENT_FILING_MISSING,
		[FILING_SURPLUS] = EVENT_FILING_SURPLUS,
		[FILING_FAILED] = EVENT_FILING_FAILED,
	};

	if (note->user.length == 0)
		log_event(events[note->kind], log_str("message_id", note->id),
			  log_str("text", note->text));
	else
		log_event(events[note->kind], log_str("message_id", note->id),
			  log_str("mailbox", note->user), log_str("folder", note->folder),
			  log_str("text", note->text));
}

void mailbox_hand_log(struct mailbox_hand *hand)
{
	for (size_t i = 0; i < hand->count; i++) {
		hand->origins[i]->is_busy = hand->messages[i].is_busy;
		hand->origins[i]->is_lost = hand->messages[i].is_lost;
	}
	for (const struct note *note = hand->first; note != NULL; note = note->next)
		log_note(note);
	arena_reset(hand->arena);
	hand->first = NULL;
	hand->last = &hand->first;
	hand->count = 0;
}
