// SPDX-License-Identifier: ISC
/*
 * stage/launcher.h - starts the programs of pipe services for who may ask for it
 * (stage/launch.h), limits their time and their number, and ends them.
 */
#ifndef STAGE_LAUNCHER_H
#define STAGE_LAUNCHER_H

#include "config/config.h"
#include "ipc/token.h"
#include "os/loop.h"
#include <sys/types.h>

struct stage_launcher;

/* Who is heard: whom USER runs, and who shows a token of "pipe". */
struct stage_launcher_peer {
	uid_t user;
	const struct ipc_tokens *tokens; /* as they are now; borrowed */
};

/* Listens at LISTENING, which stays the caller's. CONFIG is borrowed until the next
 * stage_launcher_configure(). */
struct stage_launcher *stage_launcher_new(struct os_loop *loop, int listening,
					  const struct config *config,
					  const struct stage_launcher_peer *peer);
/* From now on CONFIG and PEER count; what runs goes on as it was started. */
void stage_launcher_configure(struct stage_launcher *launcher, const struct config *config,
			      const struct stage_launcher_peer *peer);
/* Nothing is started any more; what runs goes on. */
void stage_launcher_drain(struct stage_launcher *launcher);
/* How many programs run. */
size_t stage_launcher_running(const struct stage_launcher *launcher);
/* Kills what runs and waits for its end. */
void stage_launcher_free(struct stage_launcher *launcher);

#endif
