/* SPDX-License-Identifier: ISC */
/*
 * tests/unit/deliver/launch/pipe_scene.h - what a pipe service is among: the loop's watches and
 * tasks, which happen when the test says so, and programs that are the test itself, in the place of
 * deliver/launch/client.h.
 */
#ifndef TESTS_UNIT_PIPE_SCENE_H
#define TESTS_UNIT_PIPE_SCENE_H

#include "base/buffer.h"
#include "deliver/launch/client.h"
#include "mail/address.h"

enum { SCENE_PROGRAMS = 16 };

/* A program that was asked for, from then until its end. */
struct scene_program {
	struct launch *launch; /* NULL: nothing */
	char to[MAIL_ADDRESS_MAX + 1];
	int input, output, process; /* our ends, if it has started; -1: closed */
	struct buffer got;          /* of its input */
	struct buffer said;
	bool is_started;
	bool is_whole;  /* it was told that all has been written */
	bool is_at_end; /* of its input, as it sees */
	bool is_killed;
	bool is_lost; /* nobody watches over it */
};

extern struct scene_program scene_programs[SCENE_PROGRAMS];
extern bool scene_is_ready;                                    /* "launch" is there */
extern const char *scene_service;                              /* which every order names, */
extern struct mail_id scene_id;                                /* and this message */
extern void (*scene_forgotten)(struct scene_program *program); /* by launch_forget() */

/* What was deferred; then one watch that is ready, by chance. False: nothing. */
bool scene_turn(void);
size_t scene_watches(void);

void scene_start_program(struct scene_program *program);
/* So many bytes at most of its input are read. */
void scene_read_input(struct scene_program *program, size_t size);
void scene_close_input(struct scene_program *program);
void scene_write_output(struct scene_program *program, const char *text);
void scene_close_output(struct scene_program *program);
/* The last that is heard of it. */
void scene_end_program(struct scene_program *program, int status, bool is_late);
void scene_refuse_program(struct scene_program *program, const struct mail_verdict *why);
/* "launch" has ended. */
void scene_lose_launcher(void);
/* Nothing is left of it. */
void scene_clear_program(struct scene_program *program);

#endif
