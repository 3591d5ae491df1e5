// SPDX-License-Identifier: ISC
/*
 * filing/record/sqlite/rebuild.h - a new file for a record that is damaged, gone, or of another
 * site: first with the rows that can still be read, then with what filing/repair.h finds in the
 * mailboxes. The old file stays in its place until the new one is complete, and nobody can write to
 * it meanwhile, so mail waits. Blocks.
 */
#ifndef FILING_RECORD_SQLITE_REBUILD_H
#define FILING_RECORD_SQLITE_REBUILD_H

#include "base/buffer.h"
#include "filing/record/record.h"

struct record_rebuild;

/* Looks at the file at PATH, and locks it. 0 and *OUT; or, with a sentence in WHY: -EBUSY, somebody
 * writes to it; -EPROTO, its tables are of a newer version; other errors of the system. */
MUST_CHECK int record_rebuild_new(const char *path, struct record_rebuild **out,
				  struct buffer *why);
/* What is wrong with it; "": nothing, or there is none and never was. */
const char *record_rebuild_problem(const struct record_rebuild *rebuild);
/* Makes the new file with the rows that can be read. *RECORD_OUT, to be freed before
 * record_rebuild_finish(); *MESSAGES_OUT: so many have their rows. 0; or -errno and WHY. */
MUST_CHECK int record_rebuild_make(struct record_rebuild *rebuild, struct record **record_out,
				   uint64_t *messages_out, struct buffer *why);
/* The new file takes the name of the old one, which gets the name KEPT ("": there was none). 0; or
 * -errno and WHY. */
MUST_CHECK int record_rebuild_finish(struct record_rebuild *rebuild, struct buffer *kept,
				     struct buffer *why);
/* Unlocks the old file, and removes the new one unless it was finished. NULL is allowed. */
void record_rebuild_free(struct record_rebuild *rebuild);

#endif
