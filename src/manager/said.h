// SPDX-License-Identifier: ISC
/*
 * manager/said.h - what servers have said in the last hour that changes how mail goes to them, for
 * operators: the last of each kind from each server, a hundred at most.
 */
#ifndef MANAGER_SAID_H
#define MANAGER_SAID_H

#include "base/buffer.h"
#include "ipc/job.h"

struct said;

struct said *said_new(void);
void said_free(struct said *said);
/* Copies WHAT; NOW_US is the time of day. */
void said_note(struct said *said, const struct ipc_job_said *what, int64_t now_us);
/* Appends to OUT the one that is number INDEX, the latest first: "HOST PORT SECONDS WHAT AMOUNT ID
 * TO STATUS TEXT", of which SECONDS is how long ago it was, and WHAT a word. Nothing: there are no
 * more. */
void said_tell(const struct said *said, size_t index, int64_t now_us, struct buffer *out);

#endif
