// SPDX-License-Identifier: ISC
/*
 * store/guard/guard.h - a store before another one (INNER), that answers only while INNER has
 * the data that this node has seen.
 *
 * An empty, older or other store looks like a good one, in which nobody exists: all mail would be
 * refused for good. So this node remembers, apart from the data, their identity, version, and how
 * many domains and addresses there were. Once there were any, these hold the store:
 *
 *   another identity           made anew, or another one is in its place
 *   a version before the seen  a restored copy
 *   less than half as many     as within the last ten minutes, apart from what was removed
 *                              through this store
 *
 * A held store is down: every question is -ENOTCONN, every change -EBUSY, and store_held is logged
 * with the reason. It ends when the data that were seen are there again, or by accept(), which says
 * that what is there now is meant.
 *
 * They are counted when an eighth has changed. Until that is known, "there is none" is no answer
 * (-ENOTCONN).
 */
#ifndef STORE_GUARD_GUARD_H
#define STORE_GUARD_GUARD_H

#include "os/loop.h"
#include "store/store.h"

enum { STORE_GUARD_RECORD_MAX = 256 }; /* bytes of the memory's file */

/* What a node has seen of a store. */
struct store_guard_memory {
	char identity[64];
	uint64_t version;
	uint64_t epoch; /* how often other data were accepted: whoever kept answers of the ones
			 * before sees another identity */
	uint64_t count; /* domains and addresses; 0: no data were seen, anything is taken */
};

/* What FILE, which may be -1 or empty, has about the store at PLACE. What cannot be read is logged
 * (store_memory_bad) and nothing. */
void store_guard_read(int file, const char *place, struct store_guard_memory *memory_out);

/* A store that answers for INNER, which is freed with it, and remembers in FILE, which is the
 * caller's; -1: as long as it lives. PLACE is one word that says which store is meant (a path);
 * copied. INNER has "count". */
struct directory_store *store_guard_new(struct os_loop *loop, struct directory_store *inner,
					int file, const char *place);

#endif
