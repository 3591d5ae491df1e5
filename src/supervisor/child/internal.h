// SPDX-License-Identifier: ISC
/*
 * supervisor/child/internal.h - shared by the parts of a supervised process.
 *
 *   child.c         its life: start, reload, stop
 *   take.c          receives what the supervisor sends
 *   ask.c           gives the program access to that
 */
#ifndef SUPERVISOR_CHILD_INTERNAL_H
#define SUPERVISOR_CHILD_INTERNAL_H

#include "confine/sandbox.h"
#include "ipc/channel.h"
#include "supervisor/child/child.h"

/* The child, with data that its program does not see. */
struct supervised {
	struct child child;
	const struct child_program *program;
	struct ipc_channel *control;
	struct limit_memory *next_limits; /* likewise, with another layout than those in force */
	struct config *next;              /* received, not in force yet */
	struct sandbox *sandbox;
	struct os_timer *stop_timer;
	struct os_timer *pending_timer;
	struct os_timer *open_timer; /* to retry opening what it needs */
	struct os_timer *fit_timer;
	bool is_lacking; /* a descriptor was not received, as none was free */
	bool is_opening;
	bool is_started;
	bool is_stopping;
	int exit_status;
};

/* take.c: ends the process because of REASON and ERROR (-errno). */
void child_fail(struct supervised *supervised, int error, const char *reason);

/* Each handles one message of the supervisor. A missing descriptor is remembered; after a malformed
 * message the process ends. */
void child_take_config(struct supervised *supervised, struct ipc_message *message);
void child_take_socket(struct supervised *supervised, struct ipc_message *message);
void child_take_rows(struct supervised *supervised, const struct ipc_message *message);
void child_take_users(struct supervised *supervised, const struct ipc_message *message);
void child_take_transcript(struct supervised *supervised, const struct ipc_message *message);
void child_take_tokens(struct supervised *supervised, const struct ipc_message *message);

#endif
