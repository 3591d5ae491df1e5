// SPDX-License-Identifier: ISC
/*
 * deliver/mailbox/log.h - what became of messages that are filed, in the log.
 */
#ifndef DELIVER_MAILBOX_LOG_H
#define DELIVER_MAILBOX_LOG_H

#include "filing/filing.h"

/* A plain value; what it refers to belongs to who made it. */
struct mailbox_note {
	enum filing_event_kind kind;
	struct mail_id queue_id; /* of number 0: none */
	struct str id;
	struct str user; /* "": about the message, not a copy */
	struct str folder;
	struct str rule; /* that decided about the copy; "": none */
	struct str text;
};

/* Refers to what EVENT does. */
struct mailbox_note mailbox_note_of(const struct filing_event *event);
void mailbox_note_log(const struct mailbox_note *note);

#endif
