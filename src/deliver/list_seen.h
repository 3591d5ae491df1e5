// SPDX-License-Identifier: ISC
/*
 * deliver/list_seen.h - which members have the mail already.
 *
 * Members are known by 128 bits of two keyed hashes: 32 bytes for each at most, whatever their
 * addresses are. That two of a million are taken for one has a chance of 1 in 10^26.
 */
#ifndef DELIVER_LIST_SEEN_H
#define DELIVER_LIST_SEEN_H

#include "base/str.h"

struct list_seen {
	struct list_seen_slot *slots; /* owned; a power of two */
	size_t size;
	size_t count;
};

/* Whether MEMBER was not there; it is now. */
bool list_seen_add(struct list_seen *seen, struct str member);
void list_seen_clear(struct list_seen *seen);

#endif
