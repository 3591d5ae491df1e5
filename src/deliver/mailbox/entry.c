// SPDX-License-Identifier: ISC
#include "deliver/mailbox/entry.h"
#include "log/event.h"

struct mailbox_entry *mailbox_entry_new(struct deliver_helper_job *job)
{
	struct mailbox_entry *entry = arena_alloc(job->arena, sizeof *entry);

	*entry = (struct mailbox_entry){.job = job, .sent = MAILBOX_NO_COPY};
	entry->message = (struct filing_message){
		.identity = &entry->identity,
		.decoded = &entry->decoded,
		.queue_id = job->id,
		.content = job->content,
		.is_binary = job->binary,
		.sender = job->sender,
	};
	return entry;
}

int mailbox_entry_identify(struct mailbox_entry *entry)
{
	return decode_identify_fields(&entry->job->content, entry->job->arena, entry->fields.fields,
				      entry->fields.count, &entry->identity);
}

void mailbox_entry_decoded(struct mailbox_entry *entry, const struct decode_message *decoded)
{
	decode_message_copy(decoded, entry->job->arena, &entry->decoded);
}

static const char *trigger_of_service(const struct config_service *service, struct arena *arena)
{
	struct buffer name CLEANUP(buffer_clear) = {0};

	buffer_append_format(&name, "service.%s", service->name);
	return arena_copy(arena, buffer_view(&name));
}

static void add_recipient_copy(struct mailbox_entry *entry, size_t index)
{
	struct deliver_helper_job *job = entry->job;
	struct mail_verdict why;

	entry->copy_of[index] = mailbox_copies_add(&entry->copies, job->recipients[index].address);
	if (entry->copy_of[index] != MAILBOX_NO_COPY)
		return;
	mail_verdict_set(&why, "5.1.3", "No mailbox can have such a name");
	deliver_helper_report(job, index, &why, NULL);
}

void mailbox_entry_decide(struct mailbox_entry *entry, const struct config *config,
			  const struct config_service *service)
{
	struct deliver_helper_job *job = entry->job;
	size_t count = job->recipient_count;

	entry->trigger = trigger_of_service(service, job->arena);
	mailbox_copies_begin(&entry->copies, &entry->message, count, config, service,
			     &entry->fields, job->arena);
	entry->copy_of = arena_alloc(job->arena, count * sizeof *entry->copy_of);
	for (size_t i = 0; i < count; i++)
		add_recipient_copy(entry, i);
}

struct str mailbox_entry_sender(const struct mailbox_entry *entry)
{
	return entry->job->sender.length > 0 ? mailbox_copies_sender(&entry->copies) : STR("");
}

void mailbox_entry_add_sent(struct mailbox_entry *entry, struct str address)
{
	entry->sent = mailbox_copies_add_sent(&entry->copies, address);
}

void mailbox_entry_want_quotas(struct mailbox_entry *entry)
{
	const struct filing_message *message = &entry->message;
	struct arena *arena = entry->job->arena;
	struct str *addresses = arena_alloc(arena, message->copy_count * sizeof *addresses);

	for (size_t i = 0; i < message->copy_count; i++)
		addresses[i] = message->copies[i].recipient.length > 0
				       ? message->copies[i].recipient
				       : message->copies[i].mailbox.user;
	entry->wanted =
		(struct deliver_quotas_wanted){entry, arena, addresses, message->copy_count, NULL};
}

void mailbox_entry_take_quotas(struct mailbox_entry *entry)
{
	const struct deliver_quotas_wanted *wanted = &entry->wanted;

	for (size_t i = 0; wanted->quotas != NULL && i < wanted->count; i++)
		if (wanted->quotas[i].is_counted)
			mailbox_copies_limit(&entry->copies, i, &wanted->quotas[i].quota);
}

static void report_recipient(struct mailbox_entry *entry, size_t index)
{
	const struct mail_verdict *verdict = &entry->message.copies[entry->copy_of[index]].verdict;
	bool waits = entry->message.is_away && verdict->class == MAIL_WAIT;

	deliver_helper_report(entry->job, index, verdict, waits ? entry->trigger : NULL);
}

/* The recipient I's copy; NULL: there is none. */
static const struct filing_copy *own_copy(const struct mailbox_entry *entry, size_t i)
{
	return entry->copy_of[i] != MAILBOX_NO_COPY ? &entry->message.copies[entry->copy_of[i]]
						    : NULL;
}

static bool has_waiting(const struct mailbox_entry *entry)
{
	for (size_t i = 0; i < entry->job->recipient_count; i++) {
		const struct filing_copy *own = own_copy(entry, i);

		if (own != NULL && own->verdict.class == MAIL_WAIT)
			return true;
	}
	return false;
}

bool mailbox_entry_is_early(const struct mailbox_entry *entry)
{
	for (size_t i = 0; i < entry->job->recipient_count; i++) {
		const struct filing_copy *own = own_copy(entry, i);

		if (own != NULL && own->is_early)
			return true;
	}
	return false;
}

bool mailbox_entry_wants_sent(const struct mailbox_entry *entry)
{
	const struct filing_message *message = &entry->message;

	return entry->sent != MAILBOX_NO_COPY && !has_waiting(entry) &&
	       message->copies[entry->sent].verdict.class == MAIL_WAIT &&
	       (message->is_lost || message->is_away || message->copies[entry->sent].is_early);
}

void mailbox_entry_settle(struct mailbox_entry *entry)
{
	struct filing_message *message = &entry->message;

	for (size_t i = 0; !message->is_busy && i < message->copy_count; i++)
		message->copies[i].is_settled = message->copies[i].verdict.class != MAIL_WAIT;
}

static void log_given_up(const struct mailbox_entry *entry)
{
	const struct filing_copy *sent = &entry->message.copies[entry->sent];

	log_event(EVENT_SENT_GIVEN_UP, log_id(entry->job->id),
		  log_str(message_id, entry->identity.id), log_str(mailbox, sent->mailbox.user),
		  log_str(folder, sent->mailbox.folder), log_string(status, sent->verdict.status),
		  log_string(text, sent->verdict.text));
}

void mailbox_entry_finish(struct mailbox_entry *entry)
{
	struct deliver_helper_job *job = entry->job;

	if (!entry->is_lost && entry->sent != MAILBOX_NO_COPY && !has_waiting(entry) &&
	    entry->message.copies[entry->sent].verdict.class != MAIL_OK)
		log_given_up(entry);
	for (size_t i = 0; !entry->is_lost && i < job->recipient_count; i++)
		if (entry->copy_of[i] != MAILBOX_NO_COPY)
			report_recipient(entry, i);
	deliver_helper_finish(job);
}

void mailbox_entry_give_up(struct mailbox_entry *entry, const struct mail_verdict *why)
{
	for (size_t i = 0; why != NULL && !entry->is_lost && i < entry->job->recipient_count; i++)
		if (entry->copy_of != NULL && own_copy(entry, i) != NULL &&
		    own_copy(entry, i)->is_settled)
			report_recipient(entry, i);
	if (why != NULL && !entry->is_lost)
		deliver_helper_report_rest(entry->job, why,
					   entry->message.is_away ? entry->trigger : NULL);
	deliver_helper_finish(entry->job);
}
