// SPDX-License-Identifier: ISC
/*
 * deliver/pipe.h - the pipe services: give messages to programs, one run for each
 * recipient, a bounded number at once.
 */
#ifndef DELIVER_PIPE_H
#define DELIVER_PIPE_H

#include "config/config.h"
#include "deliver/helper.h"
#include "deliver/launch_client.h"
#include "os/loop.h"

struct deliver_pipe;

/* LAUNCHER starts the programs; what comes while it is not ready waits for
 * deliver_pipe_go_on(). CONFIG and SERVICE (one of its services) are borrowed until the next
 * deliver_pipe_configure(). */
struct deliver_pipe *deliver_pipe_new(struct os_loop *loop, struct launch_client *launcher,
				      const struct config *config,
				      const struct config_service *service);
/* Kills what runs; every job is finished, those that did not come to their end
 * without a report. */
void deliver_pipe_free(struct deliver_pipe *pipe);

/* From now on CONFIG and SERVICE count; what runs goes on. */
void deliver_pipe_configure(struct deliver_pipe *pipe, const struct config *config,
			    const struct config_service *service);

/* The launcher is ready, perhaps again. */
void deliver_pipe_go_on(struct deliver_pipe *pipe);

/* For struct deliver_helper_handler: takes JOB over. */
void deliver_pipe_start(struct deliver_pipe *pipe, struct deliver_helper_job *job);
/* For struct deliver_helper_handler: what runs comes to its end, nothing else is started. */
void deliver_pipe_drain(struct deliver_pipe *pipe);
/* For struct deliver_helper_handler: kills what runs, for it would be run again. */
void deliver_pipe_lost(struct deliver_pipe *pipe);

#endif
