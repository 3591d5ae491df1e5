// SPDX-License-Identifier: ISC
/*
 * deliver/mailbox/reader.h - finds out which message a large content is, by a thread, so that its
 * digest holds up no other message.
 */
#ifndef DELIVER_MAILBOX_READER_H
#define DELIVER_MAILBOX_READER_H

#include "deliver/mailbox/entry.h"

enum { MAILBOX_READER_FROM = 1 << 20 }; /* bytes: a smaller content is read at once */

struct mailbox_reader;

/* DONE gets each entry back, with 0 or -errno of mailbox_entry_identify(). */
struct mailbox_reader *mailbox_reader_new(struct os_loop *loop,
					  void (*done)(struct mailbox_entry *entry, int error));
/* Waits for the one that is being read. All must be given back or dropped. NULL is allowed. */
void mailbox_reader_free(struct mailbox_reader *reader);

/* Takes ENTRY: it is in no list meanwhile. -EAGAIN, -EPERM: no thread could be created; it is the
 * caller's. */
MUST_CHECK int mailbox_reader_give(struct mailbox_reader *reader, struct mailbox_entry *entry);
/* Ends the jobs of all entries without reports, waiting for the one that is being read. */
void mailbox_reader_drop(struct mailbox_reader *reader);

#endif
