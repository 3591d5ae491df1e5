// SPDX-License-Identifier: ISC
/*
 * deliver/shape/learnt.h - how many messages a server takes in a session, or recipients in a
 * transaction, as it has shown. Pure; times are monotonic.
 *
 * The smallest number that it has shown is kept for an hour; then it is asked anew.
 */
#ifndef DELIVER_SHAPE_LEARNT_H
#define DELIVER_SHAPE_LEARNT_H

#include <stdbool.h>
#include <stdint.h>

/* Zeros: nothing is known. */
struct shape_learnt {
	uint32_t most;
	int64_t until_us;
};

/* It has taken COUNT, more than 0, and refused the next one. Whether that is news. */
bool shape_learnt_note(struct shape_learnt *learnt, uint32_t count, int64_t now_us);
/* How many it takes; 0: any number. */
uint32_t shape_learnt_most(const struct shape_learnt *learnt, int64_t now_us);

#endif
