// SPDX-License-Identifier: ISC
/*
 * directory/store/ldap/copy/copy.h - the copy of the LDAP content in the SQLite file, next to the
 * records that are derived from it.
 *
 * It has tables of its own: ldap_entry (the entries), ldap_claim (what each entry says,
 * directory/store/ldap/map/map.h), ldap_state (the cookie). A put or delete only notes which keys
 * may have changed; the commit derives their records from all claims, writes those that differ, and
 * makes entries, records and cookie durable together. So readers see consistent states, and a
 * reload of the same content changes nothing.
 *
 * For one thread. The first error sticks until copy_rollback(); the commit returns it.
 */
#ifndef DIRECTORY_STORE_LDAP_COPY_COPY_H
#define DIRECTORY_STORE_LDAP_COPY_COPY_H

#include "directory/store/ldap/map/map.h"
#include "directory/store/ldap/sync/value.h"

struct copy;

struct copy_counts {
	uint64_t entries; /* new or different ones */
	uint64_t deleted; /* entries */
	uint64_t records; /* written or removed */
};

/* Two entries claim KEY; FIRST and SECOND are their names in canonical form, and FIRST gets it. */
typedef void copy_conflict(void *context, struct str key, struct str first, struct str second);

/* Opens the file at PATH, whose schema store_sqlite_open() has created. SHAPE says on what the
 * content depends besides the servers (base, map): if it differs from the file's, the cookie is
 * forgotten. 0; or -errno, and a sentence in WHY. */
MUST_CHECK int copy_open(const char *path, struct str shape, copy_conflict *conflict, void *context,
			 struct copy **copy_out, struct buffer *why);
void copy_close(struct copy *copy);

/* Valid until the next commit or rollback; empty: none. */
struct str copy_cookie(const struct copy *copy);
/* The wall clock when the content was last known to be in sync; 0: never. */
int64_t copy_fresh_us(const struct copy *copy);
/* The number of entries. */
uint64_t copy_entry_count(struct copy *copy);

/* NAME is in canonical form (directory/store/ldap/dn.h). If the entry was renamed, those below it
 * are, too.
 * */
void copy_put(struct copy *copy, const struct sync_uuid *uuid, struct str name,
	      const struct mapping *mapping);
void copy_delete(struct copy *copy, const struct sync_uuid *uuid);
/* Deletes all entries but UUIDS, which are sorted by their bytes. */
void copy_keep_only(struct copy *copy, const struct sync_uuid *uuids, size_t count);
void copy_set_cookie(struct copy *copy, struct str cookie);
void copy_set_fresh(struct copy *copy, int64_t wall_us);
/* 0; or -ENOSPC, -EIO: then all changes since the last commit are undone. Adds to COUNTS. */
MUST_CHECK int copy_commit(struct copy *copy, struct copy_counts *counts);
void copy_rollback(struct copy *copy);
/* The reason of the error, for people. */
const char *copy_error_text(const struct copy *copy);

#endif
