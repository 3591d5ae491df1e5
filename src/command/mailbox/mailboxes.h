// SPDX-License-Identifier: ISC
/*
 * command/mailbox/mailboxes.h - the mailboxes that a repair looks into.
 */
#ifndef COMMAND_MAILBOX_MAILBOXES_H
#define COMMAND_MAILBOX_MAILBOXES_H

#include "filing/record/record.h"

struct mailbox_listed;

struct mailbox_list {
	struct mailbox_listed *table;
	struct record_mailbox *mailboxes; /* in the order in which they were met */
	size_t count;
	struct arena *arena;
};

/* Adds MAILBOX unless it is there; copied. */
void mailbox_list_add(struct mailbox_list *list, const struct record_mailbox *mailbox);
/* Adds all that RECORD has, or those of USER if that is not "". 0 or -errno of the record. */
MUST_CHECK int mailbox_list_read(struct mailbox_list *list, struct record *record, struct str user);
/* Adds the mailboxes, with their folders, that are found where TEMPLATE, the path of a service of
 * kind mailbox, says: if it has both %d and %u, each once in a component of its own or between
 * fixed characters. (walk.c) */
void mailbox_list_walk(struct mailbox_list *list, const char *template);
void mailbox_list_clear(struct mailbox_list *list);

#endif
