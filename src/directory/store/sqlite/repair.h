// SPDX-License-Identifier: ISC
/*
 * directory/store/sqlite/repair.h - finds what is damaged in the directory's SQLite file, and makes
 * a new file of what is not. Blocks. Others may read the file meanwhile, and cannot change it; a
 * directory that has it open goes over to the new one (directory/store/sqlite/sqlite.h).
 *
 * A record is good if it has the checksum that the file has for it, or if others have changed it
 * since. If all records that can be read add up to the file's total, they are good whatever is left
 * of the checksums.
 *
 * The new file has the identity of the old one, and a version above its own, so that caches are
 * emptied. What had no identity left gets a new one.
 */
#ifndef DIRECTORY_STORE_SQLITE_REPAIR_H
#define DIRECTORY_STORE_SQLITE_REPAIR_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "os/loop.h"

enum store_sqlite_state {
	STORE_SQLITE_WHOLE,   /* nothing is wrong */
	STORE_SQLITE_DAMAGED, /* REPAIR->problem, and lost() for each record, say what is wrong */
	STORE_SQLITE_UNREADABLE, /* nothing of it can be saved */
};

struct store_sqlite_repair {
	bool applies; /* otherwise nothing is changed */
	/* The record KEY of TABLE is not good. KEY: views, as people write it. */
	void (*lost)(void *context, struct str table, struct str key, const char *why);
	void *context;
	/* out */
	enum store_sqlite_state state;
	uint64_t good;         /* records */
	uint64_t lost_count;   /* likewise */
	bool has_unnamed;      /* more are lost, or may be, whose keys cannot be read */
	bool has_identity;     /* the new file has that of the old one */
	struct buffer problem; /* of the file, in a sentence: to be cleared. Empty: none */
	struct buffer kept; /* where the damaged file is now: to be cleared. Empty: in its place */
};

/* Looks at the file at PATH, and repairs it if REPAIR->applies and it is not whole; what is
 * unreadable is then only moved aside. 0; or, with nothing changed and a sentence in WHY: -ENOENT,
 * -EACCES; -EBUSY, somebody changes it now; -EINVAL, it is another program's, or of another
 * version; -ENOSPC, -EIO and other errors of the system. */
MUST_CHECK int store_sqlite_repair(struct os_loop *loop, const char *path,
				   struct store_sqlite_repair *repair, struct buffer *why);

#endif
