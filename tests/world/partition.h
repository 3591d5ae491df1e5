// SPDX-License-Identifier: ISC
/*
 * world/partition.h - who cuts the ways between the nodes of a cluster (links.h), for a second to a
 * quarter of an hour: of two nodes, in one direction or both, or of one from all others; or makes
 * them slow.
 */
#ifndef WORLD_PARTITION_H
#define WORLD_PARTITION_H

#include "kernel.h"

struct partition {
	struct machine *const *nodes;
	size_t count;
	int64_t calm_from_us;
	uint64_t *strikes_left; /* of the world */
	int64_t pause_us;       /* in the mean */
	int64_t late_until_us;  /* partition.c's: until then changes may be known late */
};

void partition_begin(struct partition *partition);

#endif
