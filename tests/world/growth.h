// SPDX-License-Identifier: ISC
/*
 * world/growth.h - the judge of growth: what can grow is back at its base when all is done.
 *
 * - Snapshots of the processes, each after the same messages were delivered and a quarter of an
 *   hour without any: no process has notably more descriptors or blocks of memory twice in a row.
 * - Where nothing was killed the queue has no trigger at the end, and no more spares than it uses.
 * - At any time a control file is short enough to have been rewritten (queue/control/control.h).
 */
#ifndef WORLD_GROWTH_H
#define WORLD_GROWTH_H

#include "kernel.h"

enum {
	GROWTH_MESSAGES = 100, /* of each round, for the same few recipients */
	GROWTH_DESCRIPTORS = 20,
	GROWTH_BLOCKS = 50,   /* what a process may have more, of allocations */
	GROWTH_SPARES = 2000, /* files in pid */
	GROWTH_CONTROL =
		3 << 19 /* bytes of a control file: QUEUE_CONTROL_KEPT, and half as much again */
};
#define GROWTH_IDLE_US INT64_C(900000000)

/* Remembers what the processes of MACHINE have now. */
void growth_note(const struct machine *machine);
/* Judges what they have more now, and remembers that. */
void growth_compare(const struct machine *machine);
/* The control files of MACHINE, now. */
void growth_look_at_controls(struct machine *machine);
void growth_look_at_end(struct machine *machine);
void growth_end(void);

#endif
