// SPDX-License-Identifier: ISC
/*
 * mailbox/quota.h - the usage of a Maildir, in its file maildirsize as in Maildir++ (Dovecot's
 * quota backend "maildir" and Courier share this file): its first line is the quota, then each
 * change is a line "BYTES MESSAGES", added up. If it is not valid, it is recounted from the names
 * in new/ and cur/ of the Maildir and its folders.
 *
 * The usage may be wrong for a while, after a crash or if a reader does not update the file: before
 * a message is refused, it is recounted, unless that was done within 15 minutes. It is never
 * synced.
 */
#ifndef MAILBOX_QUOTA_H
#define MAILBOX_QUOTA_H

#include "base/attributes.h"
#include "base/str.h"
#include "mail/mailbox/quota.h"

/* Adds a message of SIZE bytes to the usage of the Maildir at PATH: 0; -EDQUOT: there is no room;
 * -EMSGSIZE: it is larger than the quota; on errors nothing is added. If the file cannot be read or
 * written, no mail is refused: 0. Blocks for the disk. */
MUST_CHECK int maildir_quota_take(struct str path, const struct mail_quota *quota, uint64_t size);
/* Takes it back, as the message was not stored. */
void maildir_quota_give_back(struct str path, uint64_t size);

#endif
