// SPDX-License-Identifier: ISC
/*
 * deliver/mailbox/prune.h - removes from the record what setting keep says is too old: a few
 * messages at a time, by a thread with a connection of its own, once a day and soon after the
 * start, until a step finds none that it may remove. Nothing is removed from mailboxes, nor a
 * message that is still being filed.
 */
#ifndef DELIVER_MAILBOX_PRUNE_H
#define DELIVER_MAILBOX_PRUNE_H

#include "config/config.h"
#include "os/loop.h"

struct mailbox_prune;

/* CONFIG is borrowed until the next mailbox_prune_configure(). */
struct mailbox_prune *mailbox_prune_new(struct os_loop *loop, const struct config *config);
/* From now on CONFIG applies. */
void mailbox_prune_configure(struct mailbox_prune *prune, const struct config *config);
/* Waits until its present step ends. NULL is allowed. */
void mailbox_prune_free(struct mailbox_prune *prune);

#endif
