// SPDX-License-Identifier: ISC
/*
 * tests/unit/limit/limit_scene.h - several processes that count sessions, each with its own mapping
 * of all rows, as after the supervisor's start.
 */
#ifndef TESTS_UNIT_LIMIT_SCENE_H
#define TESTS_UNIT_LIMIT_SCENE_H

#include "limit/count.h"

enum { LIMIT_SCENE_PROCESSES_MAX = 16 };

struct limit_scene {
	size_t count;
	int rows[LIMIT_SCENE_PROCESSES_MAX];
	int readers[LIMIT_SCENE_PROCESSES_MAX];
	struct limit_memory *supervisor; /* may write to all */
	struct limit_memory *memories[LIMIT_SCENE_PROCESSES_MAX];
	struct limit_counter *counters[LIMIT_SCENE_PROCESSES_MAX];
};

void limit_scene_init(struct limit_scene *scene, size_t processes);
/* Process I begins, with CLASSES. */
void limit_scene_start(struct limit_scene *scene, size_t i, const struct limit_classes *classes);
/* It is killed, and the supervisor has not noticed yet; then it has. */
void limit_scene_kill(struct limit_scene *scene, size_t i);
void limit_scene_reap(struct limit_scene *scene, size_t i);
void limit_scene_clear(struct limit_scene *scene);

/* The classes of TEXT, which has the sections only. */
struct limit_classes *limit_scene_classes(const char *text);

#endif
