// SPDX-License-Identifier: ISC
/*
 * manager/link/handed.h - mail that other nodes get, and what they may have of it: the messages of
 * the helper "handover" that are not about jobs (ipc/job.h).
 *
 * A node to which something may have gone has a name in peers/ (queue/peers.h). After a start of
 * this process each of them is doubtful until it has said what it has, or was given up: until then
 * no message at S4 that an earlier process has left is begun, because it would be mapped anew.
 */
#ifndef MANAGER_LINK_HANDED_H
#define MANAGER_LINK_HANDED_H

#include "config/config.h"
#include "ipc/job.h"
#include "manager/link/helper.h"
#include "queue/store.h"

struct handed;

#define HANDED_SERVICE "handover" /* the helper */

/* Implemented by manager/hear/handed.c. */
struct handed_handler {
	/* What waits for TRIGGER may be tried. */
	void (*released)(void *context, struct str trigger);
	/* This node is in other groups than before. */
	void (*groups_changed)(void *context);
	/* handed_is_draining() has changed. */
	void (*draining)(void *context);
	/* A node has a package of the message ID: handed_settle() if it is known to be done. If
	 * that cannot be known yet: handed_ask_later(). */
	void (*kept)(void *context, struct mail_id id);
};

/* STORE, HELPERS and CONFIG are borrowed. Nothing is called from here. */
struct handed *handed_new(struct queue_store *store, struct helpers *helpers,
			  const struct config *config, const struct handed_handler *handler,
			  void *context);
void handed_configure(struct handed *handed, const struct config *config);
void handed_free(struct handed *handed);

/* Whether some mail is for other nodes, by the configuration. */
bool handed_is_configured(const struct handed *handed);
/* Whether the helper has said in which groups this node is. Before, nothing is handed over. */
bool handed_knows_groups(const struct handed *handed);
/* Whether this node is to have no mail any more: what other nodes may have is to go at once. */
bool handed_is_draining(const struct handed *handed);
/* The group of nodes to which mail of TRANSPORT is handed over; "": this node delivers it. */
const char *handed_group_of(const struct handed *handed, const char *transport);

/* The trigger for which messages at S4 that an earlier process has left wait, in NAME; false:
 * none. */
bool handed_is_doubtful(const struct handed *handed, struct buffer *name);
/* Whether another node has said that it has all of the message ID. */
bool handed_is_kept(const struct handed *handed, struct mail_id id);

/* The helper has come. */
void handed_joined(struct handed *handed);
/* A message from it; false: malformed. */
MUST_CHECK bool handed_hear(struct handed *handed, enum ipc_job type, struct str body);

/* handed_ask_again() has kept() called for ID once more. */
void handed_ask_later(struct handed *handed, struct mail_id id);
void handed_ask_again(struct handed *handed);
/* COUNT deliveries of the message ID are done durably; 0: nothing is left of it, or all are. */
void handed_settle(struct handed *handed, struct mail_id id, const uint32_t *numbers, size_t count);

#endif
