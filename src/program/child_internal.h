// SPDX-License-Identifier: ISC
/*
 * program/child_internal.h - between the parts of a supervised process.
 *
 *   child.c         its life: begin, reload, stop
 *   child_take.c    what the supervisor sends, taken and kept
 *   child_ask.c     what its program asks for of that
 */
#ifndef PROGRAM_CHILD_INTERNAL_H
#define PROGRAM_CHILD_INTERNAL_H

#include "ipc/channel.h"
#include "program/child.h"
#include "program/sandbox.h"

/* The child with what its program does not see. */
struct supervised {
	struct child child;
	const struct child_program *program;
	struct ipc_channel *control;
	struct config *next; /* received, not in force yet */
	struct sandbox *sandbox;
	struct os_timer *stop_timer;
	struct os_timer *pending_timer;
	struct os_timer *open_timer; /* until it can open what it needs */
	struct os_timer *fit_timer;
	bool is_lacking; /* a descriptor did not come: none was free */
	bool is_opening;
	bool is_started;
	bool is_stopping;
	int exit_status;
};

/* child_take.c: ends the process, because of REASON and ERROR (-errno). */
void child_fail(struct supervised *supervised, int error, const char *reason);

/* One message of the supervisor each. Where a descriptor did not come with it, that
 * is remembered; of what cannot be understood the process ends. */
void child_take_config(struct supervised *supervised, struct ipc_message *message);
void child_take_socket(struct supervised *supervised, struct ipc_message *message);
void child_take_users(struct supervised *supervised, const struct ipc_message *message);
void child_take_transcript(struct supervised *supervised, const struct ipc_message *message);
void child_take_tokens(struct supervised *supervised, const struct ipc_message *message);

#endif
