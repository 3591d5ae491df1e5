// SPDX-License-Identifier: ISC
/*
 * tests/unit/program/program_scene.h - the main() of a program as a process, and the supervisor
 * beside it, which is played.
 */
#ifndef TESTS_UNIT_PROGRAM_SCENE_H
#define TESTS_UNIT_PROGRAM_SCENE_H

#include "ipc/channel.h"
#include "os/loop.h"
#include "supervisor/child/child.h"
#include <sys/types.h>

enum { SCENE_SOCKETS_MAX = 8 };

struct program_scene {
	struct os_loop *loop;
	struct ipc_channel *channel;
	struct os_timer *late;
	pid_t pid;
	bool is_ready, is_lost, is_late;
	char said[1000]; /* by messages that are not expected */
	int sockets[SCENE_SOCKETS_MAX];
	char names[SCENE_SOCKETS_MAX][100];
	size_t socket_count;
};

extern struct program_scene scene;
extern const char *scene_program; /* as in the table of the supervisor */
extern bool scene_waits;          /* it begins once "queue" answers, which nobody plays here */

/* The program's own, by another name. */
int program_main(int argc, char **argv);

/* Starts the process, which gets nothing yet. */
void program_scene_begin(void);
/* Gives it all that a supervisor does, with the log's LEVEL, and directories in PLACES; NULL: in
 * one of its own. */
void program_scene_set_up(const char *level, const char *places);
/* Until it is ready; or, where that takes "queue", until it has waited for a while. */
void program_scene_wait(void);
/* Its exit status once it has ended; -1: it was killed, or had to be. */
int program_scene_end(void);
/* One message; DESCRIPTOR may be -1. */
void program_scene_send(enum child_message type, struct str body, int descriptor);
void program_scene_configure(struct str text);
/* In a child: runs the program with CONTROL as its supervisor, and ARGUMENT, or none. */
_Noreturn void program_scene_run(int control, const char *argument);

#endif
