// SPDX-License-Identifier: ISC
/*
 * deliver/list/seen.h - which members already have the mail.
 *
 * Members are identified by 128 bits of two keyed hashes: at most 32 bytes each, however long their
 * addresses are. The probability that two of a million are confused is 1 in 10^26.
 */
#ifndef DELIVER_LIST_SEEN_H
#define DELIVER_LIST_SEEN_H

#include "base/str.h"

struct list_seen {
	struct list_seen_slot *slots; /* owned; a power of two */
	size_t size;
	size_t count;
};

/* Adds MEMBER; whether it was not there before. */
bool list_seen_add(struct list_seen *seen, struct str member);
void list_seen_clear(struct list_seen *seen);

#endif
