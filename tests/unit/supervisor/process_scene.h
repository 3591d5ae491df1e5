// SPDX-License-Identifier: ISC
/*
 * tests/unit/supervisor/process_scene.h - a supervisor whose processes are played: they are started
 * in no system, say what the test lets them say, and end when it likes.
 */
#ifndef TESTS_UNIT_PROCESS_SCENE_H
#define TESTS_UNIT_PROCESS_SCENE_H

#include "supervisor/internal.h"

enum { SCENE_FIRST_PID = 100, SCENE_SAID_SIZE = 4000 };

/* The programs, of which each but the last has one process. */
enum {
	SCENE_MANAGER,
	SCENE_INTAKE,
	SCENE_HELPER,
	SCENE_WANTED, /* only if scene.is_wanted */
	SCENE_DECODE, /* expendable */
	SCENE_ASKER,  /* asks "decode" */
	SCENE_DIRECTORY,
	SCENE_QUEUE,
	SCENE_WORKERS, /* three; is the last of those that are different */
};

struct process_scene {
	struct supervisor supervisor;
	struct config config;
	bool is_wanted;
	int start_error, connect_error; /* of the next starts */
	pid_t next_pid;
	char said[SCENE_SAID_SIZE]; /* what was done to others, "WHAT; WHAT; " */
	int open;                   /* descriptors */
	supervisor_said *hear;
};

extern struct process_scene scene;

void process_scene_begin(void);
void process_scene_end(void);
/* The process of a program that runs; NULL: none does. */
struct process *process_scene_of(int program);
/* PROCESS says that; BODY is text. */
void process_scene_hear(struct process *process, enum child_message message, const char *body);
/* It ends. */
void process_scene_leave(struct process *process);
/* What was done since the last call. */
void process_scene_check(const char *wanted);
void process_scene_forget(void);

#endif
