// SPDX-License-Identifier: ISC
/*
 * deliver/pipe/run.h - the run of one program with one recipient's message.
 */
#ifndef DELIVER_PIPE_RUN_H
#define DELIVER_PIPE_RUN_H

#include "config/config.h"
#include "deliver/launch/client.h"
#include "ipc/content.h"
#include "mailbox/copy.h"
#include "os/loop.h"

enum { PIPE_BLOCK_SIZE = 64 * 1024 };

struct pipe_run_order {
	const struct config_service *service; /* during the call only */
	struct mail_id id;
	struct str sender;
	struct mailbox_copy_owner owner; /* valid until the run has ended, as the content and the
					  * block */
	struct ipc_content content;
	bool is_binary; /* BINARYMIME: the program gets it encoded */
	char *block;    /* PIPE_BLOCK_SIZE bytes that runs share: valid only during a call */
};

struct pipe_run;

/* TRIGGER: what the delivery waits for, pipe.SERVICE.NAME; "": nothing. */
typedef void pipe_run_done(void *context, const struct mail_verdict *verdict, const char *trigger);

/* Has LAUNCHER, which is ready, start the program. DONE is called once, not before this returns;
 * the run is freed then. NULL: it was decided without the program, by *VERDICT_OUT. */
struct pipe_run *pipe_run_start(struct os_loop *loop, struct launch_client *launcher,
				const struct pipe_run_order *order, pipe_run_done *done,
				void *context, struct mail_verdict *verdict_out);
/* Kills it; DONE is still called, when it has ended. */
void pipe_run_kill(struct pipe_run *run);
/* Kills it, and does not call DONE. */
void pipe_run_free(struct pipe_run *run);

#endif
