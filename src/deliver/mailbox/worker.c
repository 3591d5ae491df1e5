// SPDX-License-Identifier: ISC
#include "deliver/mailbox/worker.h"
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

struct mailbox_worker {
	struct record *record;
	struct mailstore *store;
	struct filing *filing;
	struct os_worker *thread;
	struct filing_message messages[MAILBOX_GROUP_MAX]; /* filed as one array */
	struct filing_message *origins[MAILBOX_GROUP_MAX];
	size_t count;
	struct arena *arena; /* of what is kept */
	struct kept *first;
	struct kept **last;
};

static void keep_filing_event(void *context, const struct filing_event *event)
{
	struct mailbox_worker *worker = context;
	struct kept *kept = arena_alloc(worker->arena, sizeof *kept);
	struct mailbox_note *note = &kept->note;

	*kept = (struct kept){.note = mailbox_note_of(event)};
	note->id = arena_copy_str(worker->arena, note->id);
	note->user = arena_copy_str(worker->arena, note->user);
	note->folder = arena_copy_str(worker->arena, note->folder);
	note->rule = arena_copy_str(worker->arena, note->rule);
	note->text = arena_copy_str(worker->arena, note->text);
	*worker->last = kept;
	worker->last = &kept->next;
}

static void file_group_in_thread(void *context)
{
	struct mailbox_worker *worker = context;

	filing_group(worker->filing, worker->messages, worker->count);
}

static void destroy_filing_thread(struct mailbox_worker *worker)
{
	filing_free(worker->filing);
	record_free(worker->record);
	mailstore_free(worker->store);
	arena_free(worker->arena);
	free(worker);
}

int mailbox_worker_new(struct os_wakeup *wakeup, struct record *record, struct mailstore *store,
		       struct mailbox_worker **hand_out)
{
	struct mailbox_worker *worker = memory_alloc_zero(1, sizeof *worker);
	int error;

	worker->record = record;
	worker->store = store;
	worker->filing = filing_new(record, store, keep_filing_event, worker);
	worker->arena = arena_new();
	worker->last = &worker->first;
	error = os_worker_new(file_group_in_thread, worker, wakeup, &worker->thread);
	if (error == 0)
		*hand_out = worker;
	else
		destroy_filing_thread(worker);
	return error;
}

void mailbox_worker_free(struct mailbox_worker *worker)
{
	if (worker == NULL)
		return;
	os_worker_free(worker->thread);
	destroy_filing_thread(worker);
}

void mailbox_worker_give(struct mailbox_worker *worker, struct filing_message **messages,
			 size_t count)
{
	for (size_t i = 0; i < count; i++) {
		worker->messages[i] = *messages[i];
		worker->origins[i] = messages[i];
	}
	worker->count = count;
	os_worker_start(worker->thread);
}

bool mailbox_worker_is_busy(struct mailbox_worker *worker)
{
	return os_worker_is_busy(worker->thread);
}

void mailbox_worker_wait(struct mailbox_worker *worker)
{
	(void)!os_worker_wait(worker->thread, INT64_MAX);
}

void mailbox_worker_log(struct mailbox_worker *worker)
{
	for (size_t i = 0; i < worker->count; i++) {
		worker->origins[i]->is_busy = worker->messages[i].is_busy;
		worker->origins[i]->is_lost = worker->messages[i].is_lost;
		worker->origins[i]->is_away = worker->messages[i].is_away;
	}
	for (const struct kept *kept = worker->first; kept != NULL; kept = kept->next)
		mailbox_note_log(&kept->note);
	arena_reset(worker->arena);
	worker->first = NULL;
	worker->last = &worker->first;
	worker->count = 0;
}
