// SPDX-License-Identifier: ISC
/*
 * queue/peers.h - to which other nodes mail may have gone of which this one does not know whether
 * they have it: a name in peers/ each, durable before the first package goes there. After a restart
 * exactly these nodes are asked. "peers/:run.N" says how often the process has begun that hands
 * mail over; no node has a name with a colon.
 *
 * Only "send" makes and removes names there. The calls sync, so they wait for the disk.
 */
#ifndef QUEUE_PEERS_H
#define QUEUE_PEERS_H

#include "queue/store.h"

/* Calls EACH with every node; stops when it returns something else than 0, and returns that. */
MUST_CHECK int queue_peers_each(const struct queue_store *store,
				int (*each)(void *context, struct str node), void *context);
/* No error if it is there. */
MUST_CHECK int queue_peers_add(const struct queue_store *store, struct str node);
/* No error if it is gone. Not durable: a node that is asked in vain costs nothing. */
MUST_CHECK int queue_peers_remove(const struct queue_store *store, struct str node);
/* The process begins once more: *RUN_OUT is above all runs before. */
MUST_CHECK int queue_peers_begin_run(const struct queue_store *store, uint64_t *run_out);

#endif
