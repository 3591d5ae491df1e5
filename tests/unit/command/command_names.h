// SPDX-License-Identifier: ISC
/* tests/unit/command/command_names.h - names for what commands print that is known by chance only
 * (command_scene.h). */
#ifndef TESTS_UNIT_COMMAND_NAMES_H
#define TESTS_UNIT_COMMAND_NAMES_H

#include "base/buffer.h"

/* The scene's queue is there; DIRECTORY is borrowed. */
void command_names_begin(const char *directory);
/* Appends TEXT with names. */
void command_names_append(struct str text, struct buffer *out);
/* Appends TEXT with what its names mean. */
void command_names_replace(struct str text, struct buffer *out);

#endif
