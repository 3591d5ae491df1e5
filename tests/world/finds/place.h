// SPDX-License-Identifier: ISC
/*
 * world/finds/place.h - what the steps of the queue are about: the first part of a path, "todo".
 */
#ifndef WORLD_FINDS_PLACE_H
#define WORLD_FINDS_PLACE_H

enum { PLACE_SIZE = 40 };

void place_of_path(const char *path, char out[PLACE_SIZE]);
/* THING is a node, which has PATH now, or an open file, which was opened by it. What stood at the
 * same address before is gone. */
void place_know(const void *thing, const char *path);
/* "": not known. */
const char *place_of(const void *thing);

#endif
