// SPDX-License-Identifier: ISC
/*
 * filing/doubt.h - messages of which a process has lost a copy. The record has an attempt of each,
 * unless it lost its last transactions, too: by the failover to an asynchronous standby.
 */
#ifndef FILING_DOUBT_H
#define FILING_DOUBT_H

#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

enum { FILING_DOUBT_MAX = 4096 }; /* the last ones: each is tried again soon */

/* To be zeroed at first. */
struct filing_doubt {
	uint64_t keys[FILING_DOUBT_MAX]; /* filing/lock/name.h: another message's at worst, which is
					  * then looked for in vain */
	unsigned next;
};

void filing_doubt_add(struct filing_doubt *doubt, struct str message_id);
bool filing_doubt_has(const struct filing_doubt *doubt, struct str message_id);

#endif
