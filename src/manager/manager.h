// SPDX-License-Identifier: ISC
/*
 * manager/manager.h - the queue manager: schedules all deliveries of this node.
 *
 * It learns of new messages from "queue" (notices), from lock/trigger and from
 * rescans; asks resolve what becomes of their recipients; gives deliveries to
 * helpers; records outcomes in the control files; bounces what failed; and has
 * finished messages removed.
 */
#ifndef MANAGER_MANAGER_H
#define MANAGER_MANAGER_H

#include "config/config.h"
#include "ipc/token.h"
#include "os/load.h"
#include "os/loop.h"
#include "queue/store.h"

struct manager;

enum manager_helper {
	MANAGER_RESOLVE,
	MANAGER_REMOTE,
	MANAGER_LIST,
	MANAGER_LOCAL,
	MANAGER_LMTP,
	MANAGER_PIPE,
	MANAGER_HELPERS,
};

struct manager_helper_peer {
	const char *program;
	uid_t user;
};

/* What it is connected to, and who is heard there. */
struct manager_peers {
	int listening;          /* the socket that helpers connect to */
	int notify;             /* a datagram socket for operators and programs */
	const char *queue_path; /* the socket of "queue" */
	struct manager_helper_peer helpers[MANAGER_HELPERS];
	const struct ipc_tokens *tokens; /* theirs, as they are now; borrowed */
	struct str token;                /* its own, which "queue" is shown; borrowed */
	uid_t owner;                     /* who may give orders, besides root */
	struct os_load *load;            /* borrowed */
};

/* STORE is borrowed. READY is called once, when all that waits in the queue is known. */
struct manager *manager_new(struct os_loop *loop, struct queue_store *store,
			    const struct config *config, const struct manager_peers *peers,
			    void (*ready)(void *context), void *context);
/* CONFIG outlives the manager, or the next call. */
void manager_configure(struct manager *manager, const struct config *config);
/* Starts no more deliveries; calls DONE when those in flight are recorded. */
void manager_stop(struct manager *manager, void (*done)(void *context), void *context);
/* How many jobs helpers have. */
size_t manager_in_flight(const struct manager *manager);
/* Only when stopped. */
void manager_free(struct manager *manager);

#endif
