// SPDX-License-Identifier: ISC
/* unit/frame/holdings.h - what the process of a test holds: descriptors, children, loops. */
#ifndef UNIT_FRAME_HOLDINGS_H
#define UNIT_FRAME_HOLDINGS_H

#include <stdint.h>

enum { HOLDINGS_DESCRIPTORS = 1024 };

struct holdings {
	uint64_t objects;                      /* kept_now() */
	uint64_t inodes[HOLDINGS_DESCRIPTORS]; /* of a descriptor that is open; otherwise 0 */
};

void holdings_take(struct holdings *holdings);
/* Tells PRINT, a line each, of what there is that was not there BEFORE: how many. */
unsigned holdings_print(const struct holdings *before, void (*print)(const char *format, ...));

#endif
