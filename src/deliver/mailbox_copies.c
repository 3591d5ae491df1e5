// SPDX-License-Identifier: ISC
#include "deliver/mailbox_copies.h"
#include "filing/place.h"
#include <string.h>

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

void mailbox_copies_begin(struct filing_message *message, size_t recipients, struct arena *arena)
{
	message->copies = arena_alloc(arena, (recipients + 1) * sizeof *message->copies);
	message->copy_count = 0;
}

size_t mailbox_copies_add(struct filing_message *message, const struct config_service *service,
			  struct str address, struct arena *arena)
{
	struct record_place place;

	if (filing_place(address, service->folder, service->detail_folders, arena, &place) != 0)
		return MAILBOX_NO_COPY;
	return copy_for(message, &place, flags_of(service), address);
}

size_t mailbox_copies_add_sent(struct filing_message *message, const struct config_service *service,
			       struct str address, struct arena *arena)
{
	struct record_place place;

	if (filing_place(address, service->sent_folder, false, arena, &place) != 0)
		return MAILBOX_NO_COPY;
	return copy_for(message, &place, MAILSTORE_SEEN, STR(""));
}

struct str mailbox_copies_sender(const struct decode_identity *identity,
				 const struct config_service *service)
{
	bool is_kept = service->sent != CONFIG_SENT_NONE && !identity->is_automatic;

	return is_kept ? identity->from : STR("");
}

const struct mail_verdict *mailbox_copies_verdict(const struct filing_message *message, size_t own,
						  size_t sent)
{
	const struct mail_verdict *verdict = &message->copies[own].verdict;
	bool must_wait = verdict->class == MAIL_OK && sent != MAILBOX_NO_COPY &&
			 message->copies[sent].verdict.class == MAIL_WAIT;

	return must_wait ? &message->copies[sent].verdict : verdict;
}
