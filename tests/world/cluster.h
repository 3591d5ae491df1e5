// SPDX-License-Identifier: ISC
/*
 * world/cluster.h - three to six nodes that are one mail system: mail is taken in by one or two of
 * them, and handed over to those of the groups "core", which map it, "out", which send it, and
 * "box", which deliver to mailboxes and programs. The first one has the directory that all use.
 */
#ifndef WORLD_CLUSTER_H
#define WORLD_CLUSTER_H

#include "kernel.h"

enum { CLUSTER_MIN = 3, CLUSTER_ENTRIES_MAX = 2 };

/* How many nodes of the world of SEED are one mail system, as that seed decides; 0: none are, nor
 * with a seed that somebody has typed. What the seed decides besides is not changed by that. */
size_t cluster_size(uint64_t seed);
/* The world has COUNT nodes (settings.h), each in the groups that chance decides. */
void cluster_begin(size_t count);
/* Those to which clients give mail: how many, and the address of each. */
size_t cluster_entry_count(void);
uint32_t cluster_entry(size_t index);
/* Some node gets another state or weight after every PAUSE_US in the mean, until QUIET_FROM_US,
 * when all are active again. NODE has the directory. */
void cluster_start(struct machine *node, int64_t pause_us, int64_t quiet_from_us);
/* For people_add_changer(): makes the record of a node, if one has to be made or changed. */
bool cluster_change(void (*done)(bool is_good));
/* They are active again as soon as somebody makes their records. */
void cluster_be_quiet(void);

#endif
