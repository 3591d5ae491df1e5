// SPDX-License-Identifier: ISC
/*
 * filing/mailstore/maildir.h - copies in Maildirs; folders are Maildir++'s: INBOX is the Maildir
 * itself, "Lists/dev" is ".Lists.dev" below it, names in modified UTF-7 (RFC 3501 section 5.1.3). A
 * folder whose name has a level with '.' or begins with '~' cannot be.
 *
 * A copy's name tells which message it is (mailbox/maildir.h: the mark), so that files without a
 * mark only are opened by a search. It waits, a second at most, for readers that rename files.
 */
#ifndef FILING_MAILSTORE_MAILDIR_H
#define FILING_MAILSTORE_MAILDIR_H

#include "filing/mailstore/mailstore.h"
#include "mailbox/maildir.h"

struct mailstore_maildir_settings {
	const char *path; /* of a user's Maildir: maildir_path_expand() */
	const char *host; /* becomes part of file names */
	enum maildir_sync sync;
};

/* Copies SETTINGS. The process's umask must be 077. */
struct mailstore *mailstore_maildir_new(const struct mailstore_maildir_settings *settings);

#endif
