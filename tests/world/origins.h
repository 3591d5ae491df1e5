// SPDX-License-Identifier: ISC
/*
 * world/origins.h - the judge of origins: a message that a node has taken over from another one has
 * the origin that it had there, or was there first.
 */
#ifndef WORLD_ORIGINS_H
#define WORLD_ORIGINS_H

#include "kernel.h"

/* The complete file at PATH has just got its name in the queue of MACHINE: if it says which package
 * it was, what its sender still has of that is compared. */
void origins_check(struct machine *machine, const char *path);
/* How many were compared. */
uint64_t origins_checked(void);
/* The machine with that host name, as its nodes call themselves. */
void origins_begin(void);
void origins_add(struct machine *machine, const char *host);

#endif
