// SPDX-License-Identifier: ISC
/*
 * deliver/mailbox/copies.h - which copies of a message a service keeps: its recipients' and its
 * sender's; and by which rule in which folder.
 */
#ifndef DELIVER_MAILBOX_COPIES_H
#define DELIVER_MAILBOX_COPIES_H

#include "deliver/mailbox/rules.h"
#include "filing/filing.h"

#define MAILBOX_NO_COPY SIZE_MAX

/* While the copies of a message are decided. All is borrowed; the configuration only until the
 * sender is known, whose copy may be added when another one is in force. */
struct mailbox_copies {
	struct filing_message *message; /* identified and decoded */
	const struct config *config;
	const struct config_service *service;
	struct arena *arena;    /* of the texts and copies: nothing of them is CONFIG's */
	struct str sent_folder; /* in ARENA */
	const bool *holds;      /* of each rule */
	bool keeps_sent;        /* the rule of a recipient does, or there is none */
};

/* Begins with no copy of MESSAGE; room for those of RECIPIENTS and the sender is in ARENA. FIELDS
 * were taken when it was identified, by the same configuration. */
void mailbox_copies_begin(struct mailbox_copies *copies, struct filing_message *message,
			  size_t recipients, const struct config *config,
			  const struct config_service *service,
			  const struct mailbox_rules_fields *fields, struct arena *arena);
/* The index of the copy for ADDRESS, which is valid as long as ARENA; recipients who differ in
 * spelling only have one. MAILBOX_NO_COPY: it can have no mailbox. */
size_t mailbox_copies_add(struct mailbox_copies *copies, struct str address);
/* After the recipients: the address whose mailbox gets the sender's copy, if any is kept: "":
 * nobody's. */
struct str mailbox_copies_sender(const struct mailbox_copies *copies);
/* The sender's copy, in the mailbox of ADDRESS: likewise, as mailbox_copies_add(). For a mailbox
 * without room it fails, as it must hold up no recipient. The configuration may be gone. */
size_t mailbox_copies_add_sent(struct mailbox_copies *copies, struct str address);
/* The mailbox of the copy at INDEX may have no more than QUOTA says. */
void mailbox_copies_limit(struct mailbox_copies *copies, size_t index,
			  const struct mail_quota *quota);

#endif
