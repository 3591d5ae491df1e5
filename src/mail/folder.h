// SPDX-License-Identifier: ISC
/*
 * mail/folder.h - the name of a folder of a mailbox, as people and IMAP clients know it.
 */
#ifndef MAIL_FOLDER_H
#define MAIL_FOLDER_H

#include "base/str.h"
#include <stdbool.h>

enum { MAIL_FOLDER_MAX = 255 }; /* bytes */

/* Whether NAME is UTF-8 of at most MAIL_FOLDER_MAX bytes without control characters, '%' and '*'
 * (which IMAP gives a meaning), in levels with '/' between, none of which is empty or begins with
 * '.'. */
bool mail_folder_is_valid(struct str name);

#endif
