// SPDX-License-Identifier: ISC
/*
 * supervisor/program.h - the table of programs that the supervisor starts, and of what it does
 * for each. Their sockets and connections are in confine/process.h, what they may do in
 * confine/sandbox.c, and what can be observed of them in confine/rights/rights.h.
 */
#ifndef SUPERVISOR_PROGRAM_H
#define SUPERVISOR_PROGRAM_H

#include "config/config.h"

enum {
	SUPERVISOR_PROGRAMS = 20,
};

/* The order of a stop: first the intake, while what it has accepted can still be queued; then the
 * manager, while its helpers can finish; then the helpers; then those that they ask, such as the
 * directory and "launch"; "queue" last. */
enum supervisor_turn { TURN_INTAKE, TURN_MANAGER, TURN_HELPERS, TURN_DIRECTORY, TURN_LAST };

/* A process that requests more connections waits for the rest of the pause. */
struct supervisor_pace {
	unsigned questions;
	int64_t pause_us;
};

struct supervisor_program {
	const char *name;
	enum supervisor_turn turn;
	/* The number of processes, by the configuration at the start. NULL: one. */
	uint32_t (*count)(const struct config *config);
	/* Whether they run, by the present configuration. NULL: always. */
	bool (*is_wanted)(const struct config *config);
	/* The executable's file name. NULL: NAME. */
	const char *(*file)(const struct config *config);
	/* Whether it must be able to change to the owners of mailboxes or programs. NULL: never. */
	bool (*becomes_others)(const struct config *config);
	/* It keeps the capabilities in the table of rights, also as a user of its own, if the
	 * supervisor has them. */
	bool keeps_rights;
	/* Of several processes, each gets one of its sockets, and there are as many. */
	bool has_socket_each;
	/* It dies over what strangers send: is started again at once, and killed if a process that
	 * asks it says that it does not answer (CHILD_REPLACE). */
	bool is_expendable;
	/* Whether connections are made for it also to PATH. NULL: to no other. */
	bool (*may_connect)(const struct config *config, const char *path);
	const struct supervisor_pace *pace;
	bool writes_log;   /* directly; others have a pipe to the supervisor */
	bool is_watched;   /* its sessions can be watched */
	bool counts;       /* sessions, or mail that waits for them, in a row of limit/memory.h */
	bool is_told_seen; /* gets the file of what was seen of the directory's data */
	bool has_site_key; /* it marks mail against loops, or looks for marks */
};

extern const struct supervisor_program supervisor_programs[SUPERVISOR_PROGRAMS];

/* Whether process NUMBER, from 0 on, of PROGRAM uses the socket called NAME. */
bool supervisor_program_has_socket(const struct supervisor_program *program, unsigned number,
				   const char *name);
#endif
