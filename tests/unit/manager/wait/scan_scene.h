/* SPDX-License-Identifier: ISC */
/*
 * tests/unit/manager/wait/scan_scene.h - a scan (manager/wait/scan/scan.h) of a real queue
 * directory, among sleepers and in a time of the test's own (wait_scene.h). Messages are names of
 * empty files: no scan reads more.
 */
#ifndef TESTS_UNIT_SCAN_SCENE_H
#define TESTS_UNIT_SCAN_SCENE_H

#include "manager/wait/scan/scan.h"
#include "wait_scene.h"

enum { SCENE_NAMES_MAX = 256 }; /* their numbers are below */

extern const struct scan_times scene_times;

struct scan_scene {
	struct wait_scene *wait;
	struct share share;
	struct wake *wake;
	struct scan *scan;
	uint64_t awake; /* the one that is; 0: none */
	bool is_named;  /* a message at S4 has names of S5, which cannot be removed */
	/* what the scan said: */
	struct {
		enum mail_stage stage;
		uint64_t number;
	} found[SCENE_NAMES_MAX];
	size_t found_count;
	unsigned settled, wholes, wanted_all, wanted_new;
	int64_t costs_us; /* of each that is found */
	/* what is asked for while a scan runs; at the first name: */
	unsigned requests;
	bool only_new[2];
	bool pulls; /* lock/trigger is pulled when a scan is wanted */
	bool obeys; /* a scan that is wanted begins at once */
	uint64_t woken[SCENE_NAMES_MAX];
	size_t woken_count;
	bool was_retry; /* the last of them */
};

struct scan_scene *scan_scene_new(void);
/* As a new process: nobody sleeps. */
void scan_scene_restart(struct scan_scene *scene);
/* Removes all names. */
void scan_scene_free(struct scan_scene *scene);
/* A scan, to its end. */
void scan_scene_look(struct scan_scene *scene, bool only_new);
/* The sleeper NUMBER, which must be there; whether it is. */
struct sleeper *scan_scene_asleep(const struct scan_scene *scene, uint64_t number);
bool scan_scene_is_asleep(const struct scan_scene *scene, uint64_t number);

void scan_scene_make_name(enum queue_folder folder, const char *name, uint64_t number);
/* At S4, in todo/arrive. */
void scan_scene_make_queued(uint64_t number);
/* At S5, to be looked at in DELAY_US. */
void scan_scene_make_waiting(uint64_t number, int64_t delay_us);
/* The same, at that time. */
void scan_scene_set_due(uint64_t number, int64_t due_us);
void scan_scene_remove_name(enum queue_folder folder, const char *name, uint64_t number);

#endif
