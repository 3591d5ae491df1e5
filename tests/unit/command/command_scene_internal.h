// SPDX-License-Identifier: ISC
/* tests/unit/command/command_scene_internal.h - shared by the files of the scene. */
#ifndef TESTS_UNIT_COMMAND_SCENE_INTERNAL_H
#define TESTS_UNIT_COMMAND_SCENE_INTERNAL_H

#include "base/buffer.h"

extern int command_scene_manager; /* the socket at which a manager is played; -1: none is */

/* What was printed, by the names of what is known by chance only. */
void command_scene_append_printed(struct str text, bool is_sorted, struct buffer *out);
/* The lines of TEXT in order of the alphabet. */
void command_scene_append_sorted(struct str text, struct buffer *out);

#endif
