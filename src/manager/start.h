// SPDX-License-Identifier: ISC
/*
 * manager/start.h - what a helper is told when it gets a job.
 */
#ifndef MANAGER_START_H
#define MANAGER_START_H

#include "base/buffer.h"

struct job;

/* Appends the body of JOB's START (ipc/job.h) without the content. HAS_TURN: its message has
 * waited for a place in a class of hosts. */
void start_pack(const struct job *job, bool has_turn, struct buffer *body);

#endif
