// SPDX-License-Identifier: ISC
/*
 * A node that is made up, of two processes or three, for tests of command/rights/check.h.
 */
#ifndef TESTS_UNIT_RIGHTS_SCENE_H
#define TESTS_UNIT_RIGHTS_SCENE_H

#include "command/rights/check.h"

enum { RIGHTS_SCENE_USER = 1000 }; /* whose the processes are */

struct rights_scene {
	struct node node;
	struct node_process processes[3];
	struct node_descriptor descriptors[2];
};

/* For cmocka: the configuration that all scenes of a program have. */
int rights_scene_read_config(void **state);
int rights_scene_free_config(void **state);
/* Of a process that is USER's, with the group of the same number, in its sandbox. */
struct os_inspect_status rights_scene_status(uid_t user);
/* The supervisor, and PROGRAM as it should be, which has nothing open. */
void rights_scene_make(struct rights_scene *scene, const char *program);
/* What is found first begins with WORDS; "": nothing is found. Once for each scene: frees it. */
void rights_scene_expect(struct rights_scene *scene, const char *words);

#endif
