// SPDX-License-Identifier: ISC
/*
 * directory/store/sqlite/sqlite.h - the directory in an SQLite file, created on first use.
 *
 * Calls are answered before they return, except changes: those of one turn of the loop are one
 * transaction at its end, synced (WAL, synchronous=FULL). Others may write to the file at the same
 * time by plain SQL: triggers number their changes, which are noticed within a quarter of a second,
 * and always before an answer between begin and end. The triggers are for them only: changes
 * through the store are numbered by the store.
 *
 * The tables are those of stagepost-directory-postgresql(7), made from the rules of the records
 * (directory/record/schema.h). A column that is NULL or empty means that the record does not have
 * the field. Each record has a checksum (table "checksum"), and the data have the total of all
 * (meta.total): a record that the disk has changed or lost counts as malformed (store_damaged), and
 * a file whose checksums do not add up is not opened. A copy of the file that is used beside the
 * original needs another meta.identity.
 */
#ifndef DIRECTORY_STORE_SQLITE_SQLITE_H
#define DIRECTORY_STORE_SQLITE_SQLITE_H

#include "directory/store/store.h"
#include "os/loop.h"

/* The number of its tables' schema, which is the file's user_version, too. An older file is
 * upgraded when it is opened, a newer one is not opened. */
enum { SQLITE_STORE_SCHEMA = 7 };

/* Opens the file at PATH, or creates it, readable by its owner only. 0 and *STORE_OUT; or, with a
 * sentence in WHY: -EINVAL, the file is not ours, or of a newer schema; -EIO, it is damaged; -EIO,
 * -ENOSPC, -EACCES, -ENOENT, and other system errors. PATH is copied. */
MUST_CHECK int store_sqlite_open(struct os_loop *loop, const char *path,
				 struct directory_store **store_out, struct buffer *why);

/* Likewise for the directory's main store, which follows what happens to the file at PATH: while it
 * is gone or empty, or was replaced by one that cannot be opened, the store is down (store_held),
 * and nothing is written to a file that has lost its name. IS_KNOWN: data were seen there; then no
 * file is created until accept(). */
MUST_CHECK int store_sqlite_open_followed(struct os_loop *loop, const char *path, bool is_known,
					  struct directory_store **store_out, struct buffer *why);

/* Looks at once for changes by others, and reports them: for a writer of the file in another thread
 * of this process. */
void store_sqlite_follow(struct directory_store *store);

#endif
