// SPDX-License-Identifier: ISC
/*
 * world/rot.h - the disk of a node rots: files of its queue change, or lose names, by themselves.
 *
 * At any moment, and as a stream of its own decides, a file of a message that is queued, its
 * control file or its records of failures has some bits, or a block, of others; is cut; loses a
 * name, but not the only one in todo/, nor two of one message: of what has no name nothing can
 * tell; or is what was at that place some time ago, but not in todo/, where an earlier message
 * cannot be told from the right one.
 *
 * Somebody repairs the queue before some starts of a node, and once all is good: until nothing is
 * left he stops it, repairs it, and returns to their senders what is held because it is damaged.
 */
#ifndef WORLD_ROT_H
#define WORLD_ROT_H

#include "kernel.h"

/* Once in a world, in which SEED decides how disks rot, and which do so ROTS times at most. */
void rot_begin(uint64_t seed, uint64_t rots);
/* The disk of NODE rots until CALM_FROM_US, EACH_US apart in the mean. */
void rot_add_node(struct machine *node, int64_t calm_from_us, int64_t each_us);
/* NODE is down, and to be started: whether its queue is repaired first. Then CALL comes when that
 * has ended. */
bool rot_repairs(struct machine *node, void (*call)(void *context), void *context);
void rot_end(void);

#endif
