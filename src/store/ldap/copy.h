// SPDX-License-Identifier: ISC
/*
 * store/ldap/copy.h - what was read of LDAP, in the SQLite file, beside the records that follow
 * from it.
 *
 * Tables of its own in the file: ldap_entry (who there is), ldap_claim (what each says,
 * store/ldap/map.h), ldap_state (the cookie). A put or delete only notes which keys may
 * have changed; the commit derives their records from all claims, writes those that differ, and
 * makes entries, records and cookie durable as one. So readers see one state after the other, and a
 * reload with the same content changes nothing.
 *
 * For one thread. The first error sticks until copy_rollback(), and the commit returns it.
 */
#ifndef STORE_LDAP_COPY_H
#define STORE_LDAP_COPY_H

#include "store/ldap/map.h"
#include "store/ldap/value.h"

struct copy;

struct copy_counts {
	uint64_t entries; /* put that were new or differed */
	uint64_t deleted; /* entries */
	uint64_t records; /* written or removed */
};

/* Two entries claim KEY; FIRST and SECOND are the forms of their names, and FIRST has it. */
typedef void copy_conflict(void *context, struct str key, struct str first, struct str second);

/* Opens the file at PATH, in which store_sqlite_open() has made the schema. SHAPE is what the
 * content depends on beside the servers (base, map): when it is not that of the file, the
 * cookie is forgotten. 0; or -errno, and a sentence in WHY. */
MUST_CHECK int copy_open(const char *path, struct str shape, copy_conflict *conflict, void *context,
			 struct copy **copy_out, struct buffer *why);
void copy_close(struct copy *copy);

/* Valid until the next commit or rollback; empty: nothing is known. */
struct str copy_cookie(const struct copy *copy);
/* The wall clock when the content was last known to be in line; 0: never. */
int64_t copy_fresh_us(const struct copy *copy);
/* How many entries there are. */
uint64_t copy_entry_count(struct copy *copy);

/* NAME is in the form of store/ldap/dn.h. Entries below one that was renamed follow it. */
void copy_put(struct copy *copy, const struct sync_uuid *uuid, struct str name,
	      const struct mapping *mapping);
void copy_delete(struct copy *copy, const struct sync_uuid *uuid);
/* Deletes all entries but these, which are ordered by their bytes. */
void copy_keep_only(struct copy *copy, const struct sync_uuid *uuids, size_t count);
void copy_set_cookie(struct copy *copy, struct str cookie);
void copy_set_fresh(struct copy *copy, int64_t wall_us);
/* 0; -ENOSPC, -EIO; then nothing since the last commit has happened. Adds to COUNTS. */
MUST_CHECK int copy_commit(struct copy *copy, struct copy_counts *counts);
void copy_rollback(struct copy *copy);
/* What is wrong, for people, after an error. */
const char *copy_error_text(const struct copy *copy);

#endif
