// SPDX-License-Identifier: ISC
/*
 * program/serve_program.h - the programs that the supervisor starts: one table of what it does for
 * each. What they may do themselves is in program/sandbox.c, and seen from outside in
 * program/rights.h.
 */
#ifndef PROGRAM_SERVE_PROGRAM_H
#define PROGRAM_SERVE_PROGRAM_H

#include "config/config.h"

enum {
	SERVE_PROGRAMS = 12,
	SERVE_SOCKETS_MAX = 2,
	SERVE_TARGETS_MAX = 3,
};

/* At a stop the intake goes first, so that what it has accepted can still be queued; then the
 * manager, while its helpers can finish; then whom they ask, "launch" too; "queue" last. */
enum serve_turn { TURN_INTAKE, TURN_MANAGER, TURN_HELPERS, TURN_DIRECTORY, TURN_LAST };

/* Who asks for more connections waits for the rest of the pause. */
struct serve_pace {
	unsigned questions;
	int64_t pause_us;
};

struct serve_program {
	const char *name;
	enum serve_turn turn;
	/* Of the configuration of the start: how many processes. NULL: one. */
	uint32_t (*count)(const struct config *config);
	/* Of the one in force: whether they run. NULL: always. */
	bool (*is_wanted)(const struct config *config);
	/* Which file it is. NULL: NAME. */
	const char *(*file)(const struct config *config);
	/* Whether it must be able to become the owners of mailboxes or programs. NULL: never. */
	bool (*becomes_others)(const struct config *config);
	/* The sockets it is given, by their names in child.h up to the space. */
	const char *sockets[SERVE_SOCKETS_MAX];
	/* Sockets in the run directory that it is connected to when it asks, */
	const char *targets[SERVE_TARGETS_MAX];
	/* and whether to PATH. NULL: to none. */
	bool (*may_connect)(const struct config *config, const char *path);
	const struct serve_pace *pace;
	bool writes_log;   /* itself; others have a pipe to the supervisor */
	bool is_watched;   /* by who watches sessions */
	bool is_told_seen; /* what was seen of the directory's data */
};

extern const struct serve_program serve_programs[SERVE_PROGRAMS];

/* Whether a process of PROGRAM works with the socket called NAME. */
bool serve_program_has_socket(const struct serve_program *program, const char *name);

#endif
