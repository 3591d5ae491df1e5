// SPDX-License-Identifier: ISC
/*
 * world/operator.h - who looks after a node: lists its queue, holds mail and lets it go, tries it
 * again. What a listing says must be true (ledger_complain()).
 */
#ifndef WORLD_OPERATOR_H
#define WORLD_OPERATOR_H

#include "kernel.h"

/* Begins to look after NODE, every PAUSE_US in the mean, until QUIET_FROM_US; what is held then is
 * released. */
void operator_start(struct machine *node, int64_t pause_us, int64_t quiet_from_us);
/* Everything is done: the listings of all nodes must say so. Lives on for some seconds. */
void operator_look_at_end(void);
void operator_end(void);

#endif
