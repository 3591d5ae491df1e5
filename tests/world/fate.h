// SPDX-License-Identifier: ISC
/*
 * world/fate.h - who kills, freezes, stops, reloads with other settings, cuts the power and causes
 * troubles, alone and in storms; and who starts a node again and looks into its mailboxes.
 */
#ifndef WORLD_FATE_H
#define WORLD_FATE_H

#include "kernel.h"

enum { FATE_OFTEN = 4, FATE_RARELY = 1000 };

struct fate {
	struct machine *node;
	const char *settings; /* of the node */
	int64_t calm_from_us;
	uint64_t *strikes_left; /* of the world */
	uint64_t rarity;        /* of faults, but in a storm: one in so many looks */
	/* fate.c's: */
	int64_t storm_until_us;
	uint64_t read_changes;   /* of the disk, when the mailboxes were read */
	int64_t strike_until_us; /* then a fault comes that waits for the disk to be busy */
	size_t strike_undecided; /* what was not durable before */
};

/* Starts the node, and goes on with it. */
void fate_begin(struct fate *fate);

#endif
