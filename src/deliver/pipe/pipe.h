// SPDX-License-Identifier: ISC
/*
 * deliver/pipe/pipe.h - the pipe services: give messages to programs, one run for each recipient,
 * up to a configured number at once.
 */
#ifndef DELIVER_PIPE_PIPE_H
#define DELIVER_PIPE_PIPE_H

#include "config/config.h"
#include "deliver/helper.h"
#include "deliver/launch/client.h"
#include "os/loop.h"

struct deliver_pipe;

/* LAUNCHER starts the programs; while it is not ready jobs wait for deliver_pipe_go_on(). CONFIG
 * and SERVICE (one of its services) are borrowed until the next deliver_pipe_configure(). */
struct deliver_pipe *deliver_pipe_new(struct os_loop *loop, struct launch_client *launcher,
				      const struct config *config,
				      const struct config_service *service);
/* Kills running programs; every job is finished, unfinished ones without a report. */
void deliver_pipe_free(void *transport);

/* From now on CONFIG and SERVICE apply; running programs continue. */
void deliver_pipe_configure(void *transport, const struct config *config,
			    const struct config_service *service);

/* The launcher is ready, for the first time or again. */
void deliver_pipe_go_on(void *transport);

/* For struct deliver_helper_handler: takes over JOB. */
void deliver_pipe_start(void *transport, struct deliver_helper_job *job);
/* For struct deliver_helper_handler: running programs continue to their end, no others are
 * started. */
void deliver_pipe_drain(void *transport);
/* For struct deliver_helper_handler: kills running programs, because they will be run again. */
void deliver_pipe_lost(void *transport);

#endif
