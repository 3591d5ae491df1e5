// SPDX-License-Identifier: ISC
/* filing/mailstore/maildir/internal.h - shared by the parts of the store in Maildirs. */
#ifndef FILING_MAILSTORE_MAILDIR_INTERNAL_H
#define FILING_MAILSTORE_MAILDIR_INTERNAL_H

#include "filing/mailstore/internal.h"

/* Calls EACH with every file in new/ and cur/ of FOLDER, the directory of a Maildir or of a folder
 * in it, until it returns something other than 0, and returns that. Readers may move and flag files
 * meanwhile: none is missed, but one may be passed several times, with different names. -errno;
 * -EAGAIN: they did so all the time. No file is there if the folder is not. */
typedef int mailstore_maildir_each(void *context, const char *box, const char *name);
MUST_CHECK int mailstore_maildir_list(const char *folder, mailstore_maildir_each *each,
				      void *context);
/* The part of a file's name that no reader changes. */
struct str mailstore_maildir_base(const char *name);

/* The mark in a file's name (mailbox/maildir.h); empty: none. */
struct str mailstore_maildir_mark(struct str base);

/* Removes what is in tmp/ of FOLDER of LOCATION's message, so that whoever wrote it cannot move it
 * to new/ any more. 0 or -errno. */
MUST_CHECK int mailstore_maildir_fence(const char *folder,
				       const struct mailstore_location *location);

/* The copies of LOCATION's message in FOLDER: their names up to ':', the oldest first, in ARENA;
 * they are durable. 0 or -errno, as above. */
MUST_CHECK int mailstore_maildir_search(const char *folder,
					const struct mailstore_location *location,
					struct arena *arena, struct mailstore_found **found_out,
					size_t *count_out);
/* Opens the file in FOLDER whose name up to ':' is COPY. -ENOENT. */
MUST_CHECK int mailstore_maildir_open(const char *folder, const char *copy,
				      struct ipc_content *content_out);
/* Removes the file in FOLDER whose name up to ':' is COPY, durably. -ENOENT. */
MUST_CHECK int mailstore_maildir_unlink(const char *folder, const char *copy);

#endif
