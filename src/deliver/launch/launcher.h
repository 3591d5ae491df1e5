// SPDX-License-Identifier: ISC
/*
 * deliver/launch/launcher.h - starts the programs of pipe services for authorized clients
 * (deliver/launch/launch.h), limits their time and their number, and ends them.
 */
#ifndef DELIVER_LAUNCH_LAUNCHER_H
#define DELIVER_LAUNCH_LAUNCHER_H

#include "config/config.h"
#include "ipc/token.h"
#include "os/loop.h"
#include <sys/types.h>

struct deliver_launcher;

/* Who may connect: processes of USER that present a token of "pipe". */
struct deliver_launcher_peer {
	uid_t user;
	const struct ipc_tokens *tokens; /* the current ones; borrowed */
};

/* Listens at LISTENING, which stays the caller's. CONFIG is borrowed until the next
 * deliver_launcher_configure(). */
struct deliver_launcher *deliver_launcher_new(struct os_loop *loop, int listening,
					      const struct config *config,
					      const struct deliver_launcher_peer *peer);
/* From now on CONFIG and PEER apply; running programs continue as they were started. */
void deliver_launcher_configure(struct deliver_launcher *launcher, const struct config *config,
				const struct deliver_launcher_peer *peer);
/* Starts nothing more; running programs continue. */
void deliver_launcher_drain(struct deliver_launcher *launcher);
/* How many programs run. */
size_t deliver_launcher_running(const struct deliver_launcher *launcher);
/* Kills running programs and waits for their end. */
void deliver_launcher_free(struct deliver_launcher *launcher);

#endif
