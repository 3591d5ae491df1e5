/* SPDX-License-Identifier: ISC */
/*
 * tests/unit/manager/wait/wait_scene.h - sleepers and triggers (manager/wait/) on a scratch queue,
 * and time that passes only when the test lets it (fake_loop.h).
 */
#ifndef TESTS_UNIT_WAIT_SCENE_H
#define TESTS_UNIT_WAIT_SCENE_H

#include "base/timestamp.h"
#include "fake_loop.h"
#include "manager/wait/trigger/trigger.h"

/* One for the whole program. */
extern struct queue_store *scene_store;
int scene_open(void **state);
int scene_close(void **state);
/* A file of the queue, "trigger/NAME" or "trigger". */
bool scene_has_file(const char *name);
void scene_rename(const char *from, const char *to);

#define SCENE_PROBE_US MINUTE_US

struct wait_scene {
	struct sleepers sleepers;
	struct triggers *triggers;
	/* what triggers said */
	char released[64];        /* first letters of those that were released */
	unsigned probes;          /* that were asked for */
	struct trigger *probed;   /* the last */
	uint64_t prober;          /* who sleeps no more because of it */
	bool refuses_probes;      /* nobody tries then */
	bool has_many;            /* who probes is known by the sleeper's number */
	unsigned crowded;         /* calls */
	const char *still_wanted; /* a message that is awake waits for that one */
	unsigned searches;
};

struct wait_scene *wait_scene_new(void);
/* Releases all triggers. */
void wait_scene_free(struct wait_scene *scene);
/* NUMBER sleeps, due at DUE_US by the wall clock, with WAITERS (may be NULL). */
void wait_scene_sleep(struct wait_scene *scene, uint64_t number, int64_t due_us,
		      struct waiters *waiters);

#endif
