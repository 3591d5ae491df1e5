// SPDX-License-Identifier: ISC
#include "deliver/mailbox.h"
#include "base/panic.h"
#include "deliver/mailbox_entry.h"
#include "deliver/mailbox_hand.h"
#include "deliver/mailbox_open.h"
#include "deliver/mailbox_reader.h"
#include "filing/doubt.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/process.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static const int64_t RETRY_US = SECOND_US / 20; /* for a lock that another one has */

/* Longer than its client waits for an answer about one message (decode/client.h): who comes here
 * waits behind others, or there is no decoder. */
static const int64_t DECODE_PATIENCE_US = 75 * SECOND_US;

enum { PLACES_MAX = 64 };

/* A thread and the group that it has. */
struct place {
	struct mailbox_hand *hand;
	unsigned generation; /* of the configuration that it was made by */
	struct mailbox_entry *entries[MAILBOX_GROUP_MAX];
	size_t count; /* 0: idle */
};

struct deliver_mailbox {
	struct deliver_mailbox_peers peers;
	const struct config *config;
	const struct config_service *service;
	unsigned generation;
	struct os_wakeup *wakeup;
	struct os_timer *retry;
	struct os_timer *patience; /* with the decoder; runs while some are prepared */
	struct mailbox_reader *reader;
	struct os_task start;
	struct mailbox_entry *preparing; /* being decoded, or the sender is looked up */
	struct mailbox_entry *waiting;   /* for a thread */
	struct mailbox_entry *held;      /* for a lock, until the timer */
	struct filing_doubt doubt;
	struct place places[PLACES_MAX];
	size_t place_count;
};

/* --- before a thread: decoding, and whose sent mail it is --- */

static void make_ready(struct mailbox_entry *entry)
{
	struct deliver_mailbox *mailbox = entry->owner;

	DL_DELETE2(mailbox->preparing, entry, previous, next);
	DL_APPEND2(mailbox->waiting, entry, previous, next);
	os_loop_defer(mailbox->peers.loop, &mailbox->start);
}

static void drop_preparing(struct mailbox_entry *entry, const struct mail_verdict *why)
{
	struct deliver_mailbox *mailbox = entry->owner;

	DL_DELETE2(mailbox->preparing, entry, previous, next);
	mailbox_entry_give_up(entry, why);
}

/* The mailbox of this service to which mail for the sender would go, also by an alias; who has
 * several has none. */
static void on_sender(void *context, const struct directory_result *result)
{
	struct mailbox_entry *entry = context;
	struct deliver_mailbox *mailbox = entry->owner;
	const struct directory_target *target = result->targets;

	if (result->answer == DIRECTORY_UNKNOWN) {
		drop_preparing(entry, &result->verdict);
		return;
	}
	if (result->answer == DIRECTORY_FOUND && result->target_count == 1 &&
	    target->kind == DIRECTORY_TARGET_LOCAL &&
	    str_equal(target->service, str_from(mailbox->service->name)))
		mailbox_entry_add_sent(entry, mailbox->service, target->address);
	make_ready(entry);
}

static void find_sender(struct mailbox_entry *entry)
{
	struct deliver_mailbox *mailbox = entry->owner;
	struct str sender = mailbox_entry_sender(entry, mailbox->service);

	if (sender.length == 0) {
		make_ready(entry);
	} else if (mailbox->service->sent == CONFIG_SENT_ALL) {
		mailbox_entry_add_sent(entry, mailbox->service, sender);
		make_ready(entry);
	} else {
		directory_lookup(mailbox->peers.directory, sender, on_sender, entry,
				 &entry->request);
	}
}

static void on_decoded(void *context, const struct decode_message *message)
{
	struct mailbox_entry *entry = context;

	entry->question = NULL;
	if (message->problem.length > 0)
		log_event(EVENT_MESSAGE_UNDECODED, log_str("message_id", entry->identity.id),
			  log_str("text", message->problem));
	mailbox_entry_decoded(entry, message);
	find_sender(entry);
}

/* The oldest is the first. */
static void on_patience(void *context)
{
	struct deliver_mailbox *mailbox = context;
	int64_t now_us = os_clock_monotonic_us();
	struct mailbox_entry *entry = mailbox->preparing;
	struct mailbox_entry *after;
	struct mail_verdict why;

	mail_verdict_set(&why, "4.3.0", "The decoder of messages does not answer");
	for (; entry != NULL && entry->decode_until_us <= now_us; entry = after) {
		after = entry->next;
		if (entry->question == NULL)
			continue; /* the directory is asked, which has its own limit */
		decode_client_cancel(entry->question);
		drop_preparing(entry, &why);
	}
	if (mailbox->preparing != NULL)
		os_timer_start(mailbox->patience, SECOND_US);
}

/* ENTRY was identified, or could not be. */
static void on_identified(struct mailbox_entry *entry, int error)
{
	struct deliver_mailbox *mailbox = entry->owner;
	struct mail_verdict why;

	if (error != 0) {
		mail_verdict_set(&why, "4.3.0", "The message cannot be read: %s", strerror(-error));
		mailbox_entry_give_up(entry, &why);
		return;
	}
	entry->message.is_in_doubt = filing_doubt_has(&mailbox->doubt, entry->identity.id);
	entry->decode_until_us = os_clock_monotonic_us() + DECODE_PATIENCE_US;
	DL_APPEND2(mailbox->preparing, entry, previous, next);
	if (!os_timer_is_running(mailbox->patience))
		os_timer_start(mailbox->patience, SECOND_US);
	entry->question =
		decode_client_ask(mailbox->peers.decoder, &entry->job->content, on_decoded, entry);
}

void deliver_mailbox_start(struct deliver_mailbox *mailbox, struct deliver_helper_job *job)
{
	struct mailbox_entry *entry = mailbox_entry_new(job, mailbox->service);
	int error;

	entry->owner = mailbox;
	if (entry->message.copy_count == 0) {
		mailbox_entry_give_up(entry, NULL); /* all are reported */
		return;
	}
	if (job->content.size < MAILBOX_READER_FROM) {
		on_identified(entry, mailbox_entry_identify(entry));
		return;
	}
	error = mailbox_reader_give(mailbox->reader, entry);
	if (error != 0)
		on_identified(entry, error);
}

/* --- in a thread --- */

static bool is_in_a_thread(const struct deliver_mailbox *mailbox, struct str id)
{
	for (size_t i = 0; i < mailbox->place_count; i++)
		for (size_t j = 0; j < mailbox->places[i].count; j++)
			if (str_equal(mailbox->places[i].entries[j]->identity.id, id))
				return true;
	return false;
}

/* Moves what waits into PLACE's group: of each Message-ID one. */
static void gather(struct deliver_mailbox *mailbox, struct place *place)
{
	struct mailbox_entry *entry;
	struct mailbox_entry *after;

	for (entry = mailbox->waiting; entry != NULL && place->count < MAILBOX_GROUP_MAX;
	     entry = after) {
		after = entry->next;
		if (is_in_a_thread(mailbox, entry->identity.id))
			continue;
		DL_DELETE2(mailbox->waiting, entry, previous, next);
		place->entries[place->count++] = entry;
	}
}

static void give(struct place *place)
{
	struct filing_message *messages[MAILBOX_GROUP_MAX];

	for (size_t i = 0; i < place->count; i++)
		messages[i] = &place->entries[i]->message;
	mailbox_hand_give(place->hand, messages, place->count);
}

/* Makes the thread of PLACE, by the present configuration. */
static int open_place(struct deliver_mailbox *mailbox, struct place *place)
{
	struct mailstore *store;
	int error;

	mailbox_hand_free(place->hand);
	place->hand = NULL;
	error = mailbox_store_new(mailbox->config, mailbox->service, &store);
	if (error != 0)
		return error;
	place->generation = mailbox->generation;
	return mailbox_hand_new(mailbox->wakeup, mailbox_record_new(mailbox->config), store,
				&place->hand);
}

static void give_up_waiting(struct deliver_mailbox *mailbox, const struct mail_verdict *why)
{
	struct mailbox_entry *entry;

	while ((entry = mailbox->waiting) != NULL) {
		DL_DELETE2(mailbox->waiting, entry, previous, next);
		entry->message.is_away = true;
		mailbox_entry_give_up(entry, why);
	}
}

static struct place *idle_place(struct deliver_mailbox *mailbox)
{
	size_t most = mailbox->config->record.connections;

	for (size_t i = 0; i < mailbox->place_count && i < most; i++)
		if (mailbox->places[i].count == 0)
			return &mailbox->places[i];
	if (mailbox->place_count >= most || mailbox->place_count == PLACES_MAX)
		return NULL;
	return &mailbox->places[mailbox->place_count++];
}

static bool prepare(struct deliver_mailbox *mailbox, struct place *place)
{
	struct mail_verdict why;
	int error = 0;

	if (place->hand == NULL || place->generation != mailbox->generation)
		error = open_place(mailbox, place);
	if (error == 0)
		return true;
	mail_verdict_set(&why, "4.3.0", "The mailboxes cannot be reached: %s", strerror(-error));
	give_up_waiting(mailbox, &why);
	return false;
}

static void start(void *context)
{
	struct deliver_mailbox *mailbox = context;
	struct place *place;

	while (mailbox->waiting != NULL && (place = idle_place(mailbox)) != NULL) {
		if (!prepare(mailbox, place))
			return;
		gather(mailbox, place);
		if (place->count == 0)
			return;
		give(place);
	}
}

/* --- after it --- */

/* Another process has the lock of its Message-ID. */
static void hold(struct deliver_mailbox *mailbox, struct mailbox_entry *entry)
{
	int64_t now_us = os_clock_monotonic_us();
	struct mail_verdict why;

	if (entry->is_last) {
		mailbox_entry_give_up(entry, NULL); /* and it is tried again */
		return;
	}
	if (entry->until_us == 0)
		entry->until_us = now_us + mailbox->config->record.lock_timeout * SECOND_US;
	if (now_us < entry->until_us) {
		DL_APPEND2(mailbox->held, entry, previous, next);
		if (!os_timer_is_running(mailbox->retry))
			os_timer_start(mailbox->retry, RETRY_US);
		return;
	}
	mail_verdict_set(&why, "4.4.5", "Another delivery of this message is not over");
	mailbox_entry_give_up(entry, &why);
}

static void on_retry(void *context)
{
	struct deliver_mailbox *mailbox = context;

	DL_CONCAT2(mailbox->waiting, mailbox->held, previous, next);
	mailbox->held = NULL;
	start(mailbox);
}

static void take_back(struct deliver_mailbox *mailbox, struct place *place)
{
	size_t count = place->count;

	mailbox_hand_log(place->hand);
	place->count = 0;
	for (size_t i = 0; i < count; i++) {
		struct mailbox_entry *entry = place->entries[i];

		if (entry->message.is_lost)
			filing_doubt_add(&mailbox->doubt, entry->identity.id);
		if (entry->message.is_busy)
			hold(mailbox, entry);
		else
			mailbox_entry_finish(entry);
	}
}

static void on_wakeup(void *context)
{
	struct deliver_mailbox *mailbox = context;

	for (size_t i = 0; i < mailbox->place_count; i++)
		if (mailbox->places[i].count > 0 && !mailbox_hand_is_busy(mailbox->places[i].hand))
			take_back(mailbox, &mailbox->places[i]);
	start(mailbox);
}

/* --- its life --- */

struct deliver_mailbox *deliver_mailbox_new(const struct deliver_mailbox_peers *peers,
					    const struct config *config,
					    const struct config_service *service)
{
	struct deliver_mailbox *mailbox = memory_alloc_zero(1, sizeof *mailbox);

	os_process_private_mask();
	mailbox->peers = *peers;
	mailbox->wakeup = os_wakeup_new(peers->loop, on_wakeup, mailbox);
	mailbox->retry = os_timer_new(peers->loop, on_retry, mailbox);
	mailbox->patience = os_timer_new(peers->loop, on_patience, mailbox);
	mailbox->reader = mailbox_reader_new(peers->loop, on_identified);
	mailbox->start = (struct os_task){.call = start, .context = mailbox};
	deliver_mailbox_configure(mailbox, config, service);
	return mailbox;
}

void deliver_mailbox_configure(struct deliver_mailbox *mailbox, const struct config *config,
			       const struct config_service *service)
{
	mailbox->config = config;
	mailbox->service = service;
	mailbox->generation++;
}

static void give_up_held(struct deliver_mailbox *mailbox)
{
	DL_CONCAT2(mailbox->waiting, mailbox->held, previous, next);
	mailbox->held = NULL;
	give_up_waiting(mailbox, NULL);
}

/* A configuration that is gone says nothing any more of those in a thread. */
void deliver_mailbox_drain(struct deliver_mailbox *mailbox)
{
	struct mailbox_entry *entry;

	for (size_t i = 0; i < mailbox->place_count; i++)
		for (size_t j = 0; j < mailbox->places[i].count; j++)
			mailbox->places[i].entries[j]->is_last = true;
	give_up_held(mailbox);
	mailbox_reader_drop(mailbox->reader);
	while ((entry = mailbox->preparing) != NULL) {
		if (entry->question != NULL)
			decode_client_cancel(entry->question);
		directory_request_cancel(&entry->request);
		drop_preparing(entry, NULL);
	}
}

void deliver_mailbox_lost(struct deliver_mailbox *mailbox)
{
	for (size_t i = 0; i < mailbox->place_count; i++)
		for (size_t j = 0; j < mailbox->places[i].count; j++)
			mailbox->places[i].entries[j]->is_lost = true;
	deliver_mailbox_drain(mailbox);
}

void deliver_mailbox_free(struct deliver_mailbox *mailbox)
{
	if (mailbox == NULL)
		return;
	os_task_cancel(mailbox->peers.loop, &mailbox->start);
	for (size_t i = 0; i < mailbox->place_count; i++) {
		struct place *place = &mailbox->places[i];

		if (place->count > 0)
			mailbox_hand_wait(place->hand);
		if (place->count > 0)
			take_back(mailbox, place);
		mailbox_hand_free(place->hand);
	}
	deliver_mailbox_drain(mailbox);
	mailbox_reader_free(mailbox->reader);
	os_timer_free(mailbox->retry);
	os_timer_free(mailbox->patience);
	os_wakeup_free(mailbox->wakeup);
	free(mailbox);
}
