// SPDX-License-Identifier: ISC
/*
 * world/trouble.h - what goes wrong with a machine while its processes live on.
 */
#ifndef WORLD_TROUBLE_H
#define WORLD_TROUBLE_H

#include "kernel.h"

/* For some seconds or minutes, but not after END_US, as chance decides: its disk has errors, or no
 * room; its processes, or one of them, may have few descriptors; or its clock, which is set right
 * at the end, has jumped. */
void trouble_begin(struct machine *machine, int64_t end_us);
/* Until UNTIL_US no server of MACHINE may accept a connection: all its descriptors are in use. */
void trouble_let_nobody_in(struct machine *machine, int64_t until_us);
/* After the world's end. */
void trouble_end(void);

#endif
