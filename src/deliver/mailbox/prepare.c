// SPDX-License-Identifier: ISC
#include "deliver/mailbox/prepare.h"
#include "base/panic.h"
#include "deliver/mailbox/reader.h"
#include "log/event.h"
#include "os/file/reason.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct mailbox_prepare {
	struct deliver_mailbox_peers peers;
	const struct config *config;
	const struct config_service *service;
	unsigned generation; /* of the configuration */
	void (*ready)(void *context, struct mailbox_entry *entry);
	void *context;
	struct mailbox_reader *reader;
	struct deliver_quotas *quotas;
	struct mailbox_entry *entries; /* being decoded, or the sender is looked up */
};

/* All is known but for the quotas. */
static void find_quotas(struct mailbox_entry *entry)
{
	struct mailbox_prepare *prepare = entry->owner;

	DL_DELETE2(prepare->entries, entry, previous, next);
	mailbox_entry_want_quotas(entry);
	deliver_quotas_find(prepare->quotas, prepare->peers.directory, prepare->service,
			    &entry->wanted);
}

static void on_quotas(void *context, void *owner)
{
	struct mailbox_prepare *prepare = context;

	mailbox_entry_take_quotas(owner);
	prepare->ready(prepare->context, owner);
}

static void on_quotas_given_up(void *context, void *owner)
{
	(void)context;
	mailbox_entry_give_up(owner, NULL);
}

static void drop_mailbox_entry(struct mailbox_entry *entry, const struct mail_verdict *why)
{
	struct mailbox_prepare *prepare = entry->owner;

	DL_DELETE2(prepare->entries, entry, previous, next);
	mailbox_entry_give_up(entry, why);
}

/* The mailbox of this service to which mail for the sender would go, also by an alias; who has
 * several has none. */
static void on_sender(void *context, const struct directory_result *result)
{
	struct mailbox_entry *entry = context;
	struct mailbox_prepare *prepare = entry->owner;
	const struct directory_target *target = result->targets;

	if (result->answer == DIRECTORY_UNKNOWN) {
		drop_mailbox_entry(entry, &result->verdict);
		return;
	}
	if (result->answer == DIRECTORY_FOUND && result->target_count == 1 &&
	    target->kind == DIRECTORY_TARGET_LOCAL &&
	    str_equal(target->service, str_from(prepare->service->name)))
		mailbox_entry_add_sent(entry, target->address);
	find_quotas(entry);
}

static void add_sender_copy(struct mailbox_entry *entry)
{
	struct mailbox_prepare *prepare = entry->owner;
	struct str sender = mailbox_entry_sender(entry);

	if (sender.length == 0) {
		find_quotas(entry);
	} else if (prepare->service->sent == CONFIG_SENT_ALL) {
		mailbox_entry_add_sent(entry, sender);
		find_quotas(entry);
	} else {
		directory_lookup(prepare->peers.directory, sender, on_sender, entry,
				 &entry->request);
	}
}

/* By the configuration that said which fields of the header count: if it has changed since, all
 * begins anew. */
static void decide_mailbox_entry(struct mailbox_entry *entry)
{
	struct mailbox_prepare *prepare = entry->owner;

	if (entry->generation != prepare->generation) {
		DL_DELETE2(prepare->entries, entry, previous, next);
		mailbox_prepare_start(prepare, entry);
		return;
	}
	mailbox_entry_decide(entry, prepare->config, prepare->service);
	if (entry->message.copy_count == 0)
		drop_mailbox_entry(entry, NULL); /* all are reported */
	else
		add_sender_copy(entry);
}

static void on_decoded(void *context, const struct decode_message *message)
{
	struct mailbox_entry *entry = context;

	entry->question = NULL;
	if (message->problem.length > 0)
		log_event(EVENT_MESSAGE_UNDECODED, log_str(message_id, entry->identity.id),
			  log_str(text, message->problem));
	mailbox_entry_decoded(entry, message);
	decide_mailbox_entry(entry);
}

/* ENTRY was identified, or could not be. */
static void on_identified(struct mailbox_entry *entry, int error)
{
	struct mailbox_prepare *prepare = entry->owner;
	struct mail_verdict why;

	if (error != 0) {
		mail_verdict_set(&why, "4.3.0", "The message cannot be read: %s",
				 os_file_reason(error));
		mailbox_entry_give_up(entry, &why);
		return;
	}
	DL_APPEND2(prepare->entries, entry, previous, next);
	entry->question =
		decode_client_ask(prepare->peers.decoder, &entry->job->content, on_decoded, entry);
}

void mailbox_prepare_start(struct mailbox_prepare *prepare, struct mailbox_entry *entry)
{
	int error;

	entry->owner = prepare;
	entry->generation = prepare->generation;
	mailbox_rules_fields(prepare->config, entry->job->arena, &entry->fields);
	if (entry->job->content.size < MAILBOX_READER_FROM) {
		on_identified(entry, mailbox_entry_identify(entry));
		return;
	}
	error = mailbox_reader_give(prepare->reader, entry);
	if (error != 0)
		on_identified(entry, error);
}

void mailbox_prepare_drop(struct mailbox_prepare *prepare)
{
	struct mailbox_entry *entry;

	mailbox_reader_drop(prepare->reader);
	deliver_quotas_give_up(prepare->quotas);
	while ((entry = prepare->entries) != NULL) {
		if (entry->question != NULL)
			decode_client_cancel(entry->question);
		directory_request_cancel(&entry->request);
		drop_mailbox_entry(entry, NULL);
	}
}

struct mailbox_prepare *
mailbox_prepare_new(const struct deliver_mailbox_peers *peers,
		    void (*ready)(void *context, struct mailbox_entry *entry), void *context)
{
	struct mailbox_prepare *prepare = memory_alloc_zero(1, sizeof *prepare);

	*prepare = (struct mailbox_prepare){.peers = *peers, .ready = ready, .context = context};
	prepare->reader = mailbox_reader_new(peers->loop, on_identified);
	prepare->quotas = deliver_quotas_new(on_quotas, on_quotas_given_up, prepare);
	return prepare;
}

void mailbox_prepare_configure(struct mailbox_prepare *prepare, const struct config *config,
			       const struct config_service *service)
{
	prepare->config = config;
	prepare->service = service;
	prepare->generation++;
}

void mailbox_prepare_free(struct mailbox_prepare *prepare)
{
	if (prepare == NULL)
		return;
	mailbox_reader_free(prepare->reader);
	deliver_quotas_free(prepare->quotas);
	free(prepare);
}
