// SPDX-License-Identifier: ISC
/*
 * manager/manager.h - the queue manager: schedules every stage of this node.
 *
 * It learns of new messages from "queue" (notices), from lock/trigger and from
 * rescans; asks resolve what becomes of their recipients; gives deliveries to
 * helpers; records outcomes in the control files; bounces what failed; and has
 * finished messages removed.
 */
#ifndef MANAGER_MANAGER_H
#define MANAGER_MANAGER_H

#include "config/config.h"
#include "os/load.h"
#include "os/loop.h"
#include "queue/store.h"

struct manager;

/* What it is connected to, and who is heard there. */
struct manager_peers {
	int listening;          /* the socket that helpers connect to */
	int notify;             /* a datagram socket for operators and programs */
	const char *queue_path; /* the socket of "queue" */
	uid_t resolve;
	uid_t remote;
	uid_t list;
	uid_t services[CONFIG_SERVICE_KINDS]; /* by kind: who delivers for services of it */
	uid_t owner;                          /* who may give orders, besides root */
	struct os_load *load;                 /* borrowed */
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
