// SPDX-License-Identifier: ISC
/*
 * store/sqlite/sqlite.h - the directory in an SQLite file, made on first use.
 *
 * Calls are answered before they return, but for changes: those of one turn of the loop
 * are one transaction at its end, synced (WAL, synchronous=FULL). Others may write the
 * file at the same time, by plain SQL: triggers number what they change, and it is noticed
 * within a quarter of a second, and before what is asked between begin and end is answered. The
 * triggers are for them; what goes through the store is numbered here.
 *
 * Tables (schema 1): domain(name, kind, target, service), address(address, kind, service,
 * "user", mailbox, quota, owner, verp, post, text, status, source, state), target(address, position,
 * target) for kinds alias and forward, member(list, member), "user"(name, server, fullname),
 * password(name, position, password), server(name, service), meta(version, identity, schema),
 * change(version, table_name, key, at). A column that is NULL or empty is a field that the
 * record has not. A copy of the file that is to live beside it needs another meta.identity.
 */
#ifndef STORE_SQLITE_SQLITE_H
#define STORE_SQLITE_SQLITE_H

#include "os/loop.h"
#include "store/store.h"

/* Opens the file at PATH, or makes it, for its owner alone. 0 and *STORE_OUT; or, with one
 * sentence in WHY: -EINVAL, the file is not ours, or of a newer schema than this; -EIO,
 * -ENOSPC, -EACCES, -ENOENT, and others of the system. PATH is copied. */
MUST_CHECK int store_sqlite_open(struct os_loop *loop, const char *path,
				 struct directory_store **store_out, struct buffer *why);

/* The same of a file that is the directory's only one. What becomes of the file at PATH is
 * followed: while it is gone or empty, or while another one in its place cannot be opened, the
 * store is down (store_held), and nothing is put into a file that has lost its name. IS_KNOWN: data
 * were seen there; then no file is made, until accept(). */
MUST_CHECK int store_sqlite_open_followed(struct os_loop *loop, const char *path, bool is_known,
					  struct directory_store **store_out, struct buffer *why);

/* Looks at once for what others have changed, and tells of it: for who writes the file
 * in another thread of this process. */
void store_sqlite_follow(struct directory_store *store);

#endif
