// SPDX-License-Identifier: ISC
/*
 * mailbox/mbox.h - durable delivery to mailboxes that are files, as in /var/mail (mbox).
 *
 * A message is added to the end of the file: a line "From SENDER DATE" (in UTC), the message as in
 * mailbox/copy.h, and an empty line. A line of it that begins with "From ", or with that after any
 * number of ">", gets one more ">" (mboxrd): no line can begin another message, and readers can
 * undo it. What is there before and does not end in an empty line gets one.
 *
 * Both locks of Debian's policy (section 11.6) are taken, first that of fcntl(2) on the file, then
 * the lock file FILE.lock, and neither is waited for: if the second is taken, the first is given
 * up. The lock file is made by link(2), so that it is made once on NFS, too. It counts as abandoned
 * five minutes after its last change, as all that use liblockfile have it; one that a process of
 * this program on this host has made does at once, as that has the other lock, too, while it lives.
 *
 * The lock file says how long the file was, durably, before the first byte is added. If the process
 * or the machine dies, the next delivery finds it and removes what is not complete. If somebody
 * else removes the abandoned lock first, an incomplete message may stay; the messages before and
 * after it are whole, and it is delivered again. The lock file is removed, durably, before a
 * message is reported as stored: so no message that was reported is ever removed.
 */
#ifndef MAILBOX_MBOX_H
#define MAILBOX_MBOX_H

#include "mailbox/maildir.h"
#include <sys/types.h>

struct mbox;

/* HOST becomes part of lock files. One mbox_deliver_group() at a time. The process's umask must be
 * 077. */
struct mbox *mbox_new(const char *host);
void mbox_free(struct mbox *mbox);

/* Attempts all deliveries, whose files, at their paths, must be OWNER's, as whom this thread
 * accesses files. Sets their verdicts: OK 2.0.0; FAIL 5.4.6, 5.6.3, 5.1.3 as
 * maildir_deliver_group(); WAIT 4.2.0 with is_locked, 4.2.2 (the user's share of the disk is used
 * up), 4.3.1 (disk full) or 4.3.0 (other errors; with a flaw: the file is not one to write to).
 * What is not stored has been removed from the file again. Messages for one file are written and
 * made durable together, in their order. Folders, flags, marks and quotas are not used. Blocks for
 * the disk, but not for locks: use a thread. */
void mbox_deliver_group(struct mbox *mbox, uid_t owner, struct maildir_delivery *deliveries,
			size_t count);

#endif
