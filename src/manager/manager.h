// SPDX-License-Identifier: ISC
/*
 * manager/manager.h - the queue manager: schedules all deliveries of this node.
 *
 * It learns of new messages from "queue" (notices), from lock/trigger and from rescans; asks
 * resolve where their recipients go; gives deliveries to helpers; records outcomes in the control
 * files; reports failures to senders; and has finished messages removed.
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
	MANAGER_MAILBOX,
	MANAGER_HANDOVER,
	MANAGER_NODED, /* which has no jobs, and asks for the status of the queue */
	MANAGER_HELPERS,
};

struct manager_helper_peer {
	const char *program;
	uid_t user;
};

/* Its connections, and which processes are accepted there. */
struct manager_peers {
	int listening;          /* the socket that helpers connect to */
	int notify;             /* a datagram socket for operators and programs */
	const char *queue_path; /* the socket of "queue" */
	struct manager_helper_peer helpers[MANAGER_HELPERS];
	const struct ipc_tokens *tokens; /* those of the helpers, always current; borrowed */
	struct str token;                /* its own, which it presents to "queue"; borrowed */
	uid_t owner;                     /* who may give orders, besides root */
	struct os_load *load;            /* borrowed */
};

/* STORE is borrowed. READY is called once, when all messages in the queue are known. */
struct manager *manager_new(struct os_loop *loop, struct queue_store *store,
			    const struct config *config, const struct manager_peers *peers,
			    void (*ready)(void *context), void *context);
/* CONFIG must stay valid until the next call or the end of the manager. */
void manager_configure(struct manager *manager, const struct config *config);
struct limit_memory;

/* After manager_new() and manager_configure(): where the sessions of the configuration's classes of
 * hosts are counted, which must stay valid likewise; NULL, as at first: nowhere. */
void manager_use_limits(struct manager *manager, const struct limit_memory *limits);
/* Starts no more deliveries; calls DONE when those in flight are recorded. */
void manager_stop(struct manager *manager, void (*done)(void *context), void *context);
/* How many jobs helpers have. */
size_t manager_in_flight(const struct manager *manager);
/* Only when stopped. */
void manager_free(struct manager *manager);

#endif
