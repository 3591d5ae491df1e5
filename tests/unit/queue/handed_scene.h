// SPDX-License-Identifier: ISC
/*
 * tests/unit/queue/handed_scene.h - a queue on the disk to which the node a1 hands packages over,
 * without the process "queue" around it.
 */
#ifndef TESTS_UNIT_HANDED_SCENE_H
#define TESTS_UNIT_HANDED_SCENE_H

#include "queue/handed.h"
#include "queue_scene.h"

struct handed_scene {
	struct queue_store *store;
	struct queue_intake *intake;
};

extern struct handed_scene handed;

/* A new queue, and its daemon's intake. */
void handed_scene_open(enum queue_sync sync);
/* The next process: 0 or what the start failed with, and then there is no intake. */
int handed_scene_restart(void);
void handed_scene_close(void);

/* a1 connects for the first time in its run RUN: groups are committed until it is greeted, or one
 * of them or something else fails. */
int handed_scene_greet(uint64_t run);
/* Takes package NAME of a1, with DATA, to b@example.net: a whole message; with the map RECORDS, unless
 * that is NULL, a part of one. */
int handed_scene_take(const char *name, const char *data, const char *records,
		      uint64_t *number_out);
/* The end of a message at S4, with the groups that it waits for: 0 or -errno. */
int handed_scene_end(uint64_t number);

/* All names in handed/a1/, sorted, each with a space after it; valid until the next call. */
const char *handed_scene_names(void);
/* What a1 is told after its greeting: "NAME NUMBERS;" of each package, sorted; or "error". */
const char *handed_scene_kept(void);
/* Whether todo/arrive/ has the message. */
bool handed_scene_is_queued(uint64_t number);

#endif
