// SPDX-License-Identifier: ISC
#include "deliver/mailbox/turns.h"
#include "base/panic.h"
#include "deliver/mailbox/open.h"
#include "deliver/mailbox/worker.h"
#include "filing/doubt.h"
#include "log/event.h"
#include "os/clock.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static const int64_t RETRY_US = SECOND_US / 20; /* for a lock that another one has */
static const int64_t SENT_RETRY_US = SECOND_US;
/* The sender's copy: longer than an attempt that was lost can take effect. */
static const int64_t SENT_PATIENCE_US = 10 * MINUTE_US;

enum { THREADS_MAX = 64 };

/* A thread and the group that it has. */
struct thread {
	struct mailbox_worker *worker;
	unsigned generation; /* of the configuration that it was made by */
	struct mailbox_entry *entries[MAILBOX_GROUP_MAX];
	size_t count; /* 0: idle */
};

struct mailbox_turns {
	struct os_loop *loop;
	const struct config *config;
	const struct config_service *service;
	unsigned generation;
	struct os_wakeup *wakeup;
	struct os_timer *retry;
	struct os_task start;
	struct mailbox_entry *waiting; /* for a thread */
	struct mailbox_entry *held;    /* until the timer: for a lock, or what is lost */
	struct filing_doubt doubt;
	struct thread threads[THREADS_MAX];
	size_t place_count;
};

/* --- held --- */

/* Whether another one has the lock of the Message-ID. */
static bool is_held_message_id(const struct mailbox_turns *turns, struct str id)
{
	const struct mailbox_entry *entry;

	DL_FOREACH (turns->held, entry)
		if (entry->message.is_busy && !entry->is_at_sent &&
		    str_equal(entry->identity.id, id))
			return true;
	return false;
}

static uint32_t concurrency_of_turns(const struct mailbox_turns *turns)
{
	return config_transport_find(turns->config, str_from(turns->service->name))->concurrency;
}

/* All that are held may have half of the transport's places. */
static bool has_room_to_hold(const struct mailbox_turns *turns)
{
	const struct mailbox_entry *entry;
	uint32_t count = 0;

	DL_FOREACH (turns->held, entry)
		count++;
	return count < (concurrency_of_turns(turns) + 1) / 2;
}

static void log_wait(const struct mailbox_entry *entry)
{
	const struct filing_message *message = &entry->message;
	const char *what = "another process has the lock of its Message-ID";

	for (size_t i = 0; !message->is_busy && i < message->copy_count; i++)
		if (message->copies[i].verdict.class == MAIL_WAIT)
			what = message->copies[i].verdict.text;
	log_event(EVENT_FILING_WAITS, log_id(entry->job->id),
		  log_str(message_id, entry->identity.id), log_string(text, what));
}

/* Whether ENTRY is held, and tried again RETRY_US from now. */
static bool may_hold(struct mailbox_turns *turns, struct mailbox_entry *entry, int64_t patience_us,
		     int64_t retry_us)
{
	int64_t now_us = os_clock_monotonic_us();

	if (entry->until_us == 0) {
		entry->until_us = now_us + patience_us;
		log_wait(entry);
	}
	if (now_us >= entry->until_us || !has_room_to_hold(turns))
		return false;
	entry->retry_us = now_us + retry_us;
	DL_APPEND2(turns->held, entry, previous, next);
	if (!os_timer_is_running(turns->retry))
		os_timer_start(turns->retry, RETRY_US);
	return true;
}

/* Another process has the lock of its Message-ID, or a lost attempt may still file it for a
 * recipient. */
static void hold_mailbox_entry(struct mailbox_turns *turns, struct mailbox_entry *entry)
{
	int64_t patience_us = turns->config->record.lock_timeout * SECOND_US;
	struct mail_verdict why;

	if (entry->is_last)
		mailbox_entry_give_up(entry, NULL); /* and it is tried again */
	else if (may_hold(turns, entry, patience_us, RETRY_US))
		return;
	else if (!entry->message.is_busy)
		mailbox_entry_finish(entry);
	else {
		mail_verdict_set(&why, "4.4.5",
				 "Another delivery of this message is still under way");
		mailbox_entry_give_up(entry, &why);
	}
}

/* Only the sender's copy is left: the others are reported at last, however that ends, but not
 * before, so that a crash meanwhile does not end its attempts. */
static void hold_sent(struct mailbox_turns *turns, struct mailbox_entry *entry)
{
	if (!entry->is_at_sent)
		entry->until_us = 0;
	entry->is_at_sent = true;
	if (entry->is_last)
		mailbox_entry_give_up(entry, NULL);
	else if (!may_hold(turns, entry, SENT_PATIENCE_US, SENT_RETRY_US))
		mailbox_entry_finish(entry);
}

/* ENTRY was filed, as far as that went. */
static void continue_filed_entry(struct mailbox_turns *turns, struct mailbox_entry *entry)
{
	bool is_busy = entry->message.is_busy;
	bool is_early;
	bool wants_sent;

	mailbox_entry_settle(entry);
	is_early = is_busy || mailbox_entry_is_early(entry);
	wants_sent = mailbox_entry_wants_sent(entry);
	if (entry->is_at_sent ? is_busy || wants_sent : wants_sent && !is_early)
		hold_sent(turns, entry);
	else if (is_early)
		hold_mailbox_entry(turns, entry);
	else
		mailbox_entry_finish(entry);
}

/* --- in a thread --- */

/* Whether they are one message, not only of one Message-ID. */
static bool is_same_message(const struct mailbox_entry *a, const struct mailbox_entry *b)
{
	return str_equal(a->identity.id, b->identity.id) &&
	       memcmp(a->identity.digest, b->identity.digest, sizeof a->identity.digest) == 0;
}

/* Whether ENTRY has to wait for what is in a thread: in OWN for the same message, in others for its
 * lock, too. */
static bool must_wait_for_threads(const struct mailbox_turns *turns, const struct thread *own,
				  const struct mailbox_entry *entry)
{
	for (size_t i = 0; i < turns->place_count; i++) {
		const struct thread *thread = &turns->threads[i];

		for (size_t j = 0; j < thread->count; j++) {
			const struct mailbox_entry *other = thread->entries[j];

			if (thread == own ? is_same_message(other, entry)
					  : str_equal(other->identity.id, entry->identity.id))
				return true;
		}
	}
	return false;
}

static size_t count_with(const struct thread *thread, struct str id)
{
	size_t count = 0;

	for (size_t i = 0; i < thread->count; i++)
		count += str_equal(thread->entries[i]->identity.id, id);
	return count;
}

static void take_waiting_entry(struct mailbox_turns *turns, struct thread *thread,
			       struct mailbox_entry *entry)
{
	if (must_wait_for_threads(turns, thread, entry))
		return;
	DL_DELETE2(turns->waiting, entry, previous, next);
	if (!is_held_message_id(turns, entry->identity.id)) {
		thread->entries[thread->count++] = entry;
		return;
	}
	entry->message.is_busy =
		true; /* it would not get the lock, either: nothing is decided of it */
	hold_mailbox_entry(turns, entry);
}

/* Moves what waits into THREAD's group: of each message one. Those that only have a Message-ID in
 * common, which anybody can write, share its lock there, and so do not wait for each other one by
 * one. If there are very many, half of the group are the last ones: a genuine message among them
 * waits neither for all that came before nor for all that come after it. */
static void gather_filing_group(struct mailbox_turns *turns, struct thread *thread)
{
	struct mailbox_entry *entry;
	struct mailbox_entry *after;

	for (entry = turns->waiting; entry != NULL && thread->count < MAILBOX_GROUP_MAX;
	     entry = after) {
		after = entry->next;
		if (count_with(thread, entry->identity.id) < MAILBOX_GROUP_MAX / 2)
			take_waiting_entry(turns, thread, entry);
	}
	entry = turns->waiting != NULL ? turns->waiting->previous : NULL;
	for (; entry != NULL && thread->count < MAILBOX_GROUP_MAX; entry = after) {
		after = entry != turns->waiting ? entry->previous : NULL;
		take_waiting_entry(turns, thread, entry);
	}
}

static void give_filing_group(struct thread *thread)
{
	struct filing_message *messages[MAILBOX_GROUP_MAX];

	for (size_t i = 0; i < thread->count; i++)
		messages[i] = &thread->entries[i]->message;
	mailbox_worker_give(thread->worker, messages, thread->count);
}

/* Makes the thread of THREAD, by the present configuration. */
static int open_place(struct mailbox_turns *turns, struct thread *thread)
{
	struct mailstore *store;
	int error;

	mailbox_worker_free(thread->worker);
	thread->worker = NULL;
	error = mailbox_store_new(turns->config, turns->service, &store);
	if (error != 0)
		return error;
	thread->generation = turns->generation;
	return mailbox_worker_new(turns->wakeup, mailbox_record_new(turns->config), store,
				  &thread->worker);
}

static void give_up_waiting_entries(struct mailbox_turns *turns, const struct mail_verdict *why)
{
	struct mailbox_entry *entry;

	while ((entry = turns->waiting) != NULL) {
		DL_DELETE2(turns->waiting, entry, previous, next);
		entry->message.is_away = why != NULL;
		mailbox_entry_give_up(entry, why);
	}
}

static struct thread *idle_place(struct mailbox_turns *turns)
{
	size_t most = turns->config->record.connections;

	for (size_t i = 0; i < turns->place_count && i < most; i++)
		if (turns->threads[i].count == 0)
			return &turns->threads[i];
	if (turns->place_count >= most || turns->place_count == THREADS_MAX)
		return NULL;
	return &turns->threads[turns->place_count++];
}

static bool prepare_filing_thread(struct mailbox_turns *turns, struct thread *thread)
{
	struct mail_verdict why;
	int error = 0;

	if (thread->worker == NULL || thread->generation != turns->generation)
		error = open_place(turns, thread);
	if (error == 0)
		return true;
	mail_verdict_set(&why, "4.3.0", "The mailboxes cannot be reached: %s", strerror(-error));
	give_up_waiting_entries(turns, &why);
	return false;
}

static void start_filing(void *context)
{
	struct mailbox_turns *turns = context;
	struct thread *thread;

	while (turns->waiting != NULL && (thread = idle_place(turns)) != NULL) {
		if (!prepare_filing_thread(turns, thread))
			return;
		gather_filing_group(turns, thread);
		if (thread->count == 0)
			return;
		give_filing_group(thread);
	}
}

/* --- after it --- */

static void on_retry_of_held_entries(void *context)
{
	struct mailbox_turns *turns = context;

	int64_t now_us = os_clock_monotonic_us();
	struct mailbox_entry *entry;
	struct mailbox_entry *after;

	for (entry = turns->held; entry != NULL; entry = after) {
		after = entry->next;
		/* those of one Message-ID go together, as one of them asks for all */
		if (entry->is_at_sent && entry->retry_us > now_us)
			continue;
		DL_DELETE2(turns->held, entry, previous, next);
		DL_APPEND2(turns->waiting, entry, previous, next);
	}
	if (turns->held != NULL)
		os_timer_start(turns->retry, RETRY_US);
	start_filing(turns);
}

static void take_back_filing_group(struct mailbox_turns *turns, struct thread *thread)
{
	size_t count = thread->count;

	mailbox_worker_log(thread->worker);
	thread->count = 0;
	for (size_t i = 0; i < count; i++) {
		struct mailbox_entry *entry = thread->entries[i];

		if (entry->message.is_lost)
			filing_doubt_add(&turns->doubt, entry->identity.id);
		continue_filed_entry(turns, entry);
	}
}

static void on_filing_threads_done(void *context)
{
	struct mailbox_turns *turns = context;

	for (size_t i = 0; i < turns->place_count; i++)
		if (turns->threads[i].count > 0 &&
		    !mailbox_worker_is_busy(turns->threads[i].worker))
			take_back_filing_group(turns, &turns->threads[i]);
	start_filing(turns);
}

/* --- its life --- */

struct mailbox_turns *mailbox_turns_new(struct os_loop *loop)
{
	struct mailbox_turns *turns = memory_alloc_zero(1, sizeof *turns);

	turns->loop = loop;
	turns->wakeup = os_wakeup_new(loop, on_filing_threads_done, turns);
	turns->retry = os_timer_new(loop, on_retry_of_held_entries, turns);
	turns->start = (struct os_task){.call = start_filing, .context = turns};
	return turns;
}

void mailbox_turns_configure(struct mailbox_turns *turns, const struct config *config,
			     const struct config_service *service)
{
	turns->config = config;
	turns->service = service;
	turns->generation++;
}

/* Whether what waits for others of the same message has half of the transport's places. */
static bool is_crowded(const struct mailbox_turns *turns, const struct mailbox_entry *entry)
{
	const struct mailbox_entry *other;
	uint32_t count = 0;

	DL_FOREACH (turns->waiting, other)
		count += is_same_message(other, entry);
	return count >= (concurrency_of_turns(turns) + 1) / 2;
}

void mailbox_turns_add(struct mailbox_turns *turns, struct mailbox_entry *entry)
{
	struct mail_verdict why;

	if (is_crowded(turns, entry)) {
		mail_verdict_set(&why, "4.4.5", "Many deliveries of this message are under way");
		mailbox_entry_give_up(entry, &why);
		return;
	}
	entry->message.is_in_doubt = filing_doubt_has(&turns->doubt, entry->identity.id);
	DL_APPEND2(turns->waiting, entry, previous, next);
	os_loop_defer(turns->loop, &turns->start);
}

/* A configuration that is gone says nothing any more of those in a thread. */
void mailbox_turns_drain(struct mailbox_turns *turns)
{
	for (size_t i = 0; i < turns->place_count; i++)
		for (size_t j = 0; j < turns->threads[i].count; j++)
			turns->threads[i].entries[j]->is_last = true;
	DL_CONCAT2(turns->waiting, turns->held, previous, next);
	turns->held = NULL;
	give_up_waiting_entries(turns, NULL);
}

void mailbox_turns_lose(struct mailbox_turns *turns)
{
	for (size_t i = 0; i < turns->place_count; i++)
		for (size_t j = 0; j < turns->threads[i].count; j++)
			turns->threads[i].entries[j]->is_lost = true;
	mailbox_turns_drain(turns);
}

void mailbox_turns_free(struct mailbox_turns *turns)
{
	if (turns == NULL)
		return;
	os_task_cancel(turns->loop, &turns->start);
	for (size_t i = 0; i < turns->place_count; i++) {
		struct thread *thread = &turns->threads[i];

		if (thread->count > 0)
			mailbox_worker_wait(thread->worker);
		if (thread->count > 0)
			take_back_filing_group(turns, thread);
		mailbox_worker_free(thread->worker);
	}
	mailbox_turns_drain(turns);
	os_timer_free(turns->retry);
	os_wakeup_free(turns->wakeup);
	free(turns);
}
