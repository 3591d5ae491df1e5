// SPDX-License-Identifier: ISC
/*
 * mailbox/quota.h - what a Maildir holds, counted in its file maildirsize as Maildir++ has it
 * (Dovecot's quota backend "maildir" and Courier keep the same file): the quota in its first line,
 * then a line "BYTES MESSAGES" for each change, added up; made anew from the names in new/ and cur/
 * of the Maildir and its folders where that is not believed any more.
 *
 * The count may be off for a while, after a crash or with a reader that does not keep the file: it
 * is made anew before a message is refused for it, unless that was done within 15 minutes. It is
 * never synced.
 */
#ifndef MAILBOX_QUOTA_H
#define MAILBOX_QUOTA_H

#include "base/attributes.h"
#include "base/str.h"
#include "mail/quota.h"

/* Counts a message of SIZE bytes in the Maildir at PATH: 0; -EDQUOT: there is no room; -EMSGSIZE:
 * there would be none if it were empty; then nothing is counted. Where the file cannot be read or
 * written nobody's mail is refused: 0. Blocks for the disk. */
MUST_CHECK int maildir_quota_take(struct str path, const struct mail_quota *quota, uint64_t size);
/* What was taken is not stored after all. */
void maildir_quota_give_back(struct str path, uint64_t size);

#endif
