// SPDX-License-Identifier: ISC
/*
 * directory/store/guard/guard.h - a store in front of another one (INNER) that answers only while
 * INNER has the data that this node has seen.
 *
 * An empty, older or different store looks like a valid one without addresses: all mail would be
 * rejected. So this node remembers, apart from the data, their identity and version, and the number
 * of domains and addresses. If there were any, these hold the store:
 *
 *   another identity           the data were recreated or replaced
 *   a lower version            a restored copy
 *   less than half as many     as within the last ten minutes, not counting removals through
 *                              this store
 *
 * A held store is down: every question is answered -ENOTCONN, every change -EBUSY, and store_held
 * is logged with the reason. The hold ends when the data that were seen are back, or by accept(),
 * by which the operator accepts the present data.
 *
 * The records are counted again when an eighth of them has changed. Until the number is known,
 * -ENOTCONN is answered instead of "no such record".
 */
#ifndef DIRECTORY_STORE_GUARD_GUARD_H
#define DIRECTORY_STORE_GUARD_GUARD_H

#include "directory/store/store.h"
#include "os/loop.h"

enum { STORE_GUARD_FILE_SIZE = 1024 }; /* bytes */

/* What a node has seen of a store. */
struct store_guard_memory {
	char identity[64];
	uint64_t version;
	uint64_t epoch; /* how often other data were accepted: part of the identity, so that caches
			 * of the previous data are dropped */
	uint64_t count; /* domains and addresses; 0: no data were seen, any data are accepted */
	uint64_t turn;  /* the file's: the number of the line */
	unsigned kept;  /* the file's: the place that must not be written next */
};

/* Reads what FILE, which may be -1, empty or blank, says about the store at PLACE. Other contents
 * are logged (store_memory_bad), and count as nothing seen. 0; -errno when it cannot be read: then
 * nobody knows whether the data are those that were seen. */
MUST_CHECK int store_guard_read(int file, const char *place, struct store_guard_memory *memory_out);

/* A store that answers for INNER, and frees it at its end. SEEN, copied, is what was read. It
 * remembers what it sees in FILE, which the caller owns; -1: in memory only. PLACE, copied, is one
 * word that identifies the store (a path). INNER must implement "count". */
struct directory_store *store_guard_new(struct os_loop *loop, struct directory_store *inner,
					int file, const char *place,
					const struct store_guard_memory *seen);

#endif
