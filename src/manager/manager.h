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
#include "os/loop.h"
#include "queue/store.h"

struct manager;

/* STORE is borrowed. LISTENING: the socket that helpers connect to. NOTIFY: a
 * datagram socket for operators and programs. QUEUE_PATH: the socket of "queue".
 * READY is called once, when all that waits in the queue is known. */
struct manager *manager_new(struct os_loop *loop, struct queue_store *store,
			    const struct config *config, int listening, int notify,
			    const char *queue_path, void (*ready)(void *context), void *context);
/* CONFIG outlives the manager, or the next call. */
void manager_configure(struct manager *manager, const struct config *config);
/* Starts no more deliveries; calls DONE when those in flight are recorded. */
void manager_stop(struct manager *manager, void (*done)(void *context), void *context);
/* Only when stopped. */
void manager_free(struct manager *manager);

#endif
