// SPDX-License-Identifier: ISC
/*
 * deliver/mailbox/prepare.h - what is found out about a message before a thread files it: which
 * message it is, what is in it, which copies there are of it, whose sent mail it is, and how
 * much their mailboxes may have.
 */
#ifndef DELIVER_MAILBOX_PREPARE_H
#define DELIVER_MAILBOX_PREPARE_H

#include "deliver/mailbox/entry.h"
#include "deliver/mailbox/mailbox.h"

struct mailbox_prepare;

/* PEERS are copied. READY gets each entry that is prepared; the jobs of the others are ended. */
struct mailbox_prepare *
mailbox_prepare_new(const struct deliver_mailbox_peers *peers,
		    void (*ready)(void *context, struct mailbox_entry *entry), void *context);
/* All must be ready or dropped. NULL is allowed. */
void mailbox_prepare_free(struct mailbox_prepare *prepare);

/* From now on CONFIG and SERVICE apply, which are borrowed. */
void mailbox_prepare_configure(struct mailbox_prepare *prepare, const struct config *config,
			       const struct config_service *service);
/* Takes over ENTRY. */
void mailbox_prepare_start(struct mailbox_prepare *prepare, struct mailbox_entry *entry);
/* Ends the jobs of all without reports. */
void mailbox_prepare_drop(struct mailbox_prepare *prepare);

#endif
