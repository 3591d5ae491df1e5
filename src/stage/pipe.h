// SPDX-License-Identifier: ISC
/*
 * stage/pipe.h - the pipe services: give messages to programs, one run for each
 * recipient, a bounded number at once.
 */
#ifndef STAGE_PIPE_H
#define STAGE_PIPE_H

#include "config/config.h"
#include "os/loop.h"
#include "stage/helper.h"
#include "stage/launch_client.h"

struct stage_pipe;

/* LAUNCHER starts the programs; what comes while it is not ready waits for
 * stage_pipe_go_on(). CONFIG and SERVICE (one of its services) are borrowed until the next
 * stage_pipe_configure(). */
struct stage_pipe *stage_pipe_new(struct os_loop *loop, struct launch_client *launcher,
				  const struct config *config,
				  const struct config_service *service);
/* Kills what runs; every job is finished, those that did not come to their end
 * without a report. */
void stage_pipe_free(struct stage_pipe *pipe);

/* From now on CONFIG and SERVICE count; what runs goes on. */
void stage_pipe_configure(struct stage_pipe *pipe, const struct config *config,
			  const struct config_service *service);

/* The launcher is ready, perhaps again. */
void stage_pipe_go_on(struct stage_pipe *pipe);

/* For struct stage_helper_handler: takes JOB over. */
void stage_pipe_deliver(struct stage_pipe *pipe, struct stage_helper_job *job);
/* For struct stage_helper_handler: what runs comes to its end, nothing else is started. */
void stage_pipe_drain(struct stage_pipe *pipe);
/* For struct stage_helper_handler: kills what runs, for it would be run again. */
void stage_pipe_lost(struct stage_pipe *pipe);

#endif
