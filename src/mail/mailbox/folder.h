// SPDX-License-Identifier: ISC
/*
 * mail/mailbox/folder.h - the name of a folder of a mailbox, as people and IMAP clients know it.
 */
#ifndef MAIL_MAILBOX_FOLDER_H
#define MAIL_MAILBOX_FOLDER_H

#include "base/str.h"
#include <stdbool.h>

enum { MAIL_FOLDER_MAX = 255 }; /* bytes */

/* Whether NAME is UTF-8 of at most MAIL_FOLDER_MAX bytes without control characters, '%' and '*'
 * (which IMAP gives a meaning), in levels with '/' between, none of which is empty or begins with
 * '.'. */
bool mail_folder_is_valid(struct str name);
/* Whether it is valid in every mailbox, also in a Maildir, and on IMAP servers that have '.'
 * between levels: it has no '.', and no '~' at its beginning, which servers take for a home. */
bool mail_folder_is_portable(struct str name);

#endif
