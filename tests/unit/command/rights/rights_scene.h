// SPDX-License-Identifier: ISC
/*
 * tests/unit/command/rights/rights_scene.h - what "stagepost check --running" would see of a node
 * in which all is as it should be.
 */
#ifndef TESTS_UNIT_RIGHTS_SCENE_H
#define TESTS_UNIT_RIGHTS_SCENE_H

#include "command/rights/check.h"
#include "unit/scratch.h"

enum {
	RIGHTS_SCENE_PROGRAMS = 26,
	RIGHTS_SCENE_CAT = 24,      /* is run by "launch" */
	RIGHTS_SCENE_STRANGER = 25, /* is no program of a node, and may not be looked into */
	RIGHTS_SCENE_LAUNCH = 20,
	SUPERVISOR_PID = 100, /* those of the others follow it */
	USER = 50,
	GROUP = 60,
	DESCRIPTORS_MAX = 4,
	NUMBER = 9, /* of the descriptor that is looked at */
};

/* What may be other than it should be of a process. */
enum rights_scene_change {
	REAL_USER,
	EFFECTIVE_GROUP,
	FILE_USER,
	OTHER_GROUP,
	OWN_GROUP,
	MANY_GROUPS,
	CAPABILITY, /* in each set in turn */
	MAY_GAIN = CAPABILITY + OS_INSPECT_SETS,
	NO_FILTER,
	INHERITED_FILTER,
	UNKNOWN_FILTERS,
	DUMPABLE,
	OTHER_PLACE,
	PACKAGED_PLACE,
	CHANGES,
};

struct rights_scene {
	char root[SCRATCH_SIZE]; /* the folder of all that the configuration names */
	struct config *config;
	struct program_users users;
	struct node node;
	struct node_process processes[RIGHTS_SCENE_PROGRAMS];
	struct node_descriptor descriptors[RIGHTS_SCENE_PROGRAMS][DESCRIPTORS_MAX];
	char paths[RIGHTS_SCENE_PROGRAMS][80];
	struct os_inspect_socket sockets[4]; /* by their numbers, from 1 on */
};

extern struct rights_scene rights_scene;
extern const char *const rights_scene_programs[RIGHTS_SCENE_PROGRAMS];
extern const char *const rights_scene_changes[CHANGES]; /* in words */

int rights_scene_set_up(void **state);
int rights_scene_tear_down(void **state);
/* The node as it should be, with nothing open. */
void rights_scene_make_node(void);
void rights_scene_change(struct node_process *process, unsigned change);
/* PROGRAM has TARGET, which stays, as its descriptor NUMBER; SOCKET: the number of one, or 0. */
void rights_scene_give(size_t program, const char *target, unsigned flags, uint64_t socket,
		       int number);

#endif
