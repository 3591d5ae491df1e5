// SPDX-License-Identifier: ISC
/*
 * world/yesterday.h - an accident of a store in a file: somebody copies it, and later puts the copy
 * in its place, while the node runs or has just been stopped; and after some minutes the file that
 * was there.
 *
 * What was changed after the copy is not there meanwhile, and may not be denied: mail waits.
 */
#ifndef WORLD_YESTERDAY_H
#define WORLD_YESTERDAY_H

#include "kernel.h"

/* Copies the store STORE of NODE, or, when there is a copy, puts it in its place for a while. DONE:
 * all is as before. One at a time. */
void yesterday_act(struct machine *node, const char *store, void (*done)(void));

#endif
