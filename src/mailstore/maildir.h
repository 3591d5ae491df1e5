// SPDX-License-Identifier: ISC
/*
 * mailstore/maildir.h - copies in Maildirs; folders are Maildir++'s: INBOX is the Maildir itself,
 * "Lists/dev" is ".Lists.dev" below it, names in modified UTF-7 (RFC 3501 section 5.1.3).
 */
#ifndef MAILSTORE_MAILDIR_H
#define MAILSTORE_MAILDIR_H

#include "mailbox/maildir.h"
#include "mailstore/mailstore.h"

struct mailstore_maildir_settings {
	const char *path; /* of a user's Maildir: maildir_path_expand() */
	const char *host; /* becomes part of file names */
	enum maildir_sync sync;
};

/* Copies SETTINGS. The process's umask must be 077. */
struct mailstore *mailstore_maildir_new(const struct mailstore_maildir_settings *settings);

#endif
