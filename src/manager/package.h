// SPDX-License-Identifier: ISC
/*
 * manager/package.h - jobs whose deliveries are handed over to other nodes, as packages
 * (mail/package.h).
 *
 * The numbers of a message's deliveries are durable before a part of it is handed over: only a
 * whole message at S4 goes without a control file. So what a node has is known by numbers, whatever
 * the directory says by then.
 */
#ifndef MANAGER_PACKAGE_H
#define MANAGER_PACKAGE_H

#include "manager/internal.h"

/* The group of nodes that JOB is for; "": it is for a helper of this node. */
const char *package_group_of(const struct manager *manager, const struct job *job);
/* The same for DELIVERY. */
const char *package_group_of_delivery(const struct manager *manager,
				      const struct queue_delivery *delivery);
/* The configuration, or the groups of this node, may be others than before. */
void package_update_transports(struct manager *manager);
/* Bytes that DELIVERY may need in a HAND, besides IPC_JOB_HEAD_MAX for all. */
size_t package_size_of(const struct mail_recipient *recipient,
		       const struct queue_delivery *delivery);
/* Whether the numbers of MESSAGE's deliveries must be recorded before any is tried. */
bool package_must_be_recorded(struct manager *manager, const struct message *message);
/* Whether JOB, which is to be handed over, may be now. */
bool package_may_go(const struct job *job);
/* Appends the body of JOB's HAND (ipc/job.h) without the content: 0; -errno: it cannot be
 * written. */
MUST_CHECK int package_pack(struct manager *manager, const struct job *job,
			    struct buffer *body);

/* MESSAGE, at S4, is not mapped. True: it is now, because a node has all of it, or because nodes
 * are to map it. */
bool package_map(struct manager *manager, struct message *message);
/* Deliveries that were to be mapped by other nodes are mapped by this one, which is in their group
 * now: they are marked, which is news. */
void package_take_back(struct manager *manager, struct message *message);

/* What of MESSAGE, at S5, is done and recorded: the helper is told. */
void package_settle_recorded(struct manager *manager, const struct message *message);

#endif
