// SPDX-License-Identifier: ISC
/*
 * deliver/mailbox_copies.h - which copies of a message a service keeps: its recipients' and its
 * sender's.
 */
#ifndef DELIVER_MAILBOX_COPIES_H
#define DELIVER_MAILBOX_COPIES_H

#include "config/config.h"
#include "filing/filing.h"

#define MAILBOX_NO_COPY SIZE_MAX

/* Room for the copies of RECIPIENTS and the sender, in ARENA. */
void mailbox_copies_begin(struct filing_message *message, size_t recipients, struct arena *arena);
/* The index of the copy for ADDRESS, which is valid as long as ARENA; recipients with one mailbox
 * have one. MAILBOX_NO_COPY: it can have no mailbox. */
size_t mailbox_copies_add(struct filing_message *message, const struct config_service *service,
			  struct str address, struct arena *arena);
/* Likewise for the sender's copy, in the mailbox of ADDRESS. */
size_t mailbox_copies_add_sent(struct filing_message *message, const struct config_service *service,
			       struct str address, struct arena *arena);
/* The address whose mailbox gets the sender's copy, if SERVICE keeps any: "": nobody's. */
struct str mailbox_copies_sender(const struct decode_identity *identity,
				 const struct config_service *service);
/* The verdict for the recipient with the copy OWN: while the sender's copy has to wait, he waits.
 */
const struct mail_verdict *mailbox_copies_verdict(const struct filing_message *message, size_t own,
						  size_t sent);

#endif
