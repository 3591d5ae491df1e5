// SPDX-License-Identifier: ISC
#include "deliver/mailbox_entry.h"
#include "filing/place.h"
#include "os/clock.h"
#include <string.h>

static const size_t NONE = SIZE_MAX;

static unsigned flags_of(const struct config_service *service)
{
	static const struct {
		const char *name;
		unsigned flag;
	} known[] = {{"seen", MAILSTORE_SEEN},
		     {"flagged", MAILSTORE_FLAGGED},
		     {"draft", MAILSTORE_DRAFT}};
	unsigned flags = 0;

	for (size_t i = 0; i < service->flag_count; i++)
		for (size_t j = 0; j < COUNT_OF(known); j++)
			if (strcmp(service->flags[i], known[j].name) == 0)
				flags |= known[j].flag;
	return flags;
}

static bool is_same_place(const struct record_place *a, const struct record_place *b)
{
	return str_equal(a->user, b->user) && str_equal(a->folder, b->folder);
}

/* The copy for PLACE, which two recipients may have in common. */
static size_t copy_for(struct filing_message *message, const struct record_place *place,
		       unsigned flags, struct str recipient)
{
	size_t i = 0;

	while (i < message->copy_count && !is_same_place(&message->copies[i].place, place))
		i++;
	if (i == message->copy_count)
		message->copies[message->copy_count++] = (struct filing_copy){
			.place = *place, .flags = flags, .recipient = recipient};
	return i;
}

static void add_recipient(struct mailbox_entry *entry, const struct config_service *service,
			  size_t index)
{
	struct deliver_helper_job *job = entry->job;
	struct str address = job->recipients[index].address;
	struct record_place place;
	struct mail_verdict why;

	entry->copy_of[index] = NONE;
	if (filing_place(address, service->folder, service->detail_folders, job->arena, &place) ==
	    0) {
		entry->copy_of[index] =
			copy_for(&entry->message, &place, flags_of(service), address);
		return;
	}
	mail_verdict_set(&why, "5.1.3", "No mailbox can have such a name");
	deliver_helper_report(job, index, &why, NULL);
}

int mailbox_entry_new(struct deliver_helper_job *job, const struct config_service *service,
		      struct mailbox_entry **entry_out)
{
	struct mailbox_entry *entry = arena_alloc(job->arena, sizeof *entry);
	size_t count = job->recipient_count;

	*entry = (struct mailbox_entry){.job = job, .sent = NONE};
	entry->message = (struct filing_message){
		.identity = &entry->identity,
		.decoded = &entry->decoded,
		.content = job->content,
		.sender = job->sender,
		.copies = arena_alloc(job->arena, (count + 1) * sizeof *entry->message.copies),
	};
	entry->copy_of = arena_alloc(job->arena, count * sizeof *entry->copy_of);
	for (size_t i = 0; i < count; i++)
		add_recipient(entry, service, i);
	*entry_out = entry;
	return decode_identify(&job->content, job->arena, &entry->identity);
}

void mailbox_entry_decoded(struct mailbox_entry *entry, const struct decode_message *decoded)
{
	decode_message_copy(decoded, entry->job->arena, &entry->decoded);
}

struct str mailbox_entry_sender(const struct mailbox_entry *entry,
				const struct config_service *service)
{
	bool is_kept = service->sent != CONFIG_SENT_NONE && entry->job->sender.length > 0 &&
		       !entry->identity.is_automatic;

	return is_kept ? entry->identity.from : STR("");
}

void mailbox_entry_add_sent(struct mailbox_entry *entry, const struct config_service *service,
			    struct str address)
{
	struct record_place place;

	if (filing_place(address, service->sent_folder, false, entry->job->arena, &place) == 0)
		entry->sent = copy_for(&entry->message, &place, MAILSTORE_SEEN, STR(""));
}

static const struct mail_verdict *verdict_of(const struct mailbox_entry *entry, size_t recipient)
{
	const struct filing_copy *copies = entry->message.copies;
	const struct mail_verdict *own = &copies[entry->copy_of[recipient]].verdict;
	const struct mail_verdict *sent = entry->sent != NONE ? &copies[entry->sent].verdict : NULL;

	return own->class == MAIL_OK && sent != NULL && sent->class == MAIL_WAIT ? sent : own;
}

void mailbox_entry_finish(struct mailbox_entry *entry)
{
	struct deliver_helper_job *job = entry->job;

	for (size_t i = 0; !entry->is_lost && i < job->recipient_count; i++)
		if (entry->copy_of[i] != NONE)
			deliver_helper_report(job, i, verdict_of(entry, i), NULL);
	deliver_helper_finish(job);
}

void mailbox_entry_give_up(struct mailbox_entry *entry, const struct mail_verdict *why)
{
	if (why != NULL && !entry->is_lost)
		deliver_helper_report_rest(entry->job, why, NULL);
	deliver_helper_finish(entry->job);
}
