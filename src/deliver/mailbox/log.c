// SPDX-License-Identifier: ISC
#include "deliver/mailbox/log.h"
#include "log/event.h"

struct mailbox_note mailbox_note_of(const struct filing_event *event)
{
	bool is_of_copy = event->copy != NULL;

	return (struct mailbox_note){
		.kind = event->kind,
		.queue_id = event->message->queue_id,
		.id = event->message->identity->id,
		.user = is_of_copy ? event->copy->mailbox.user : STR(""),
		.folder = is_of_copy ? event->copy->mailbox.folder : STR(""),
		.rule = is_of_copy ? event->copy->decision.rule : STR(""),
		.text = str_from(event->text),
	};
}

void mailbox_note_log(const struct mailbox_note *note)
{
	static const enum log_name events[FILING_EVENTS] = {
		[FILING_RECORDED] = EVENT_MESSAGE_RECORDED,
		[FILING_DIFFERENT] = EVENT_MESSAGE_ID_SHARED,
		[FILING_FILED] = EVENT_MESSAGE_FILED,
		[FILING_KNOWN] = EVENT_MESSAGE_FILED_BEFORE,
		[FILING_FOUND] = EVENT_FILING_FOUND,
		[FILING_MISSING] = EVENT_FILING_MISSING,
		[FILING_SURPLUS] = EVENT_FILING_SURPLUS,
		[FILING_MOVED] = EVENT_FOLDER_REFUSED,
		[FILING_FAILED] = EVENT_FILING_FAILED,
	};

	log_event_like(log_write, events[note->kind], EVENT_MESSAGE_FILED, log_id(note->queue_id),
		       log_str(message_id, note->id), log_str(mailbox, note->user),
		       log_str(folder, note->folder), log_str(rule, note->rule),
		       log_str(text, note->text));
}
