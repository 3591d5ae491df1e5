// SPDX-License-Identifier: ISC
/*
 * tests/unit/command/command_scene.h - a queue, a configuration and a node that answers as it is
 * told, and commands that are run beside them.
 *
 * What is known by chance only has a name in what they print: "@" is the directory, "M0" to "M9"
 * the numbers of the messages (unit/queue/listing/listing_scene.h), "NOW" is a time of this day,
 * "LOOPBACK" an address of this machine, "AGE" that of the oldest message in seconds, "NEW" the
 * identifier of a message that a command has queued.
 */
#ifndef TESTS_UNIT_COMMAND_SCENE_H
#define TESTS_UNIT_COMMAND_SCENE_H

#include "base/buffer.h"

enum { COMMAND_SCENE_ANSWERS_MAX = 16 };

struct command_scene_line {
	struct str words; /* "queue show M3" */
	struct str input; /* standard input */
	/* "ORDER = ANSWER": what the manager says to it; to others it says "ok" */
	struct str answers[COMMAND_SCENE_ANSWERS_MAX];
	size_t answer_count;
	bool is_sorted; /* the lines that it prints have no order */
};

/* What runs beside the commands: a manager that is played, nothing, or a node that the dialogue
 * begins. */
enum command_scene_kind { COMMAND_SCENE_MANAGER, COMMAND_SCENE_ALONE, COMMAND_SCENE_NODE };

void command_scene_begin(enum command_scene_kind kind);
void command_scene_end(void);
/* A file of the scene's directory, with the directories above it; names in TEXT are replaced. */
void command_scene_write(struct str name, struct str text);
/* "0600 mail/aliases" */
void command_scene_change_mode(struct str mode_and_name);
/* Begins a process "directory" without data, by the configuration that there is, that can reach
 * them if it IS_UP; or ends it. */
void command_scene_serve_directory(bool is_served, bool is_up);
/* A node with the configuration that there is; its service manager may have kept sockets. */
void command_scene_begin_node(bool inherits);
/* Appends what it has said to the service manager, and its supervisor to the log, in order of the
 * alphabet. */
void command_scene_hear_node(struct buffer *out);
/* Runs LINE and appends to OUT what it has printed, on either output, "< ORDER" for what the
 * manager has heard, in order of the alphabet, and "(STATUS)" unless that is 0. */
void command_scene_run(const struct command_scene_line *line, struct buffer *out);

/* Runs a command that goes on, and ends it by SIGTERM once it has printed what it has to. */
void command_scene_watch(struct str words);
void command_scene_end_watch(struct buffer *out);

#endif
