// SPDX-License-Identifier: ISC
/*
 * deliver/list/list.h - mail to a list becomes new messages in the queue, for its members.
 *
 * A message to a list is delivered (RFC 3461 section 5.2.7.1) when new messages with the same
 * content are queued: each for up to a thousand members, from the list's owner (RFC 5321 section
 * 3.9.2), with "Delivered-To: LIST" and a mark (header/loop.h) prepended. If the list is configured
 * so, each member gets a sender address of its own (mail/verp.h), OWNER+MEMBER=HOST@DOMAIN, which
 * we deliver to the owner's mailbox. What the sender requested by NOTIFY, RET and ENVID applies to
 * this delivery and is not passed on.
 *
 * Lists among its members, and among theirs, are expanded here as well, each from its own owner and
 * with its lines prepended, so that a member of several of them gets the mail once (graph.h).
 *
 * A message that has been through the list already fails, and the error names the loop. So does one
 * with the null sender: a bounce is not for the members, and refusing it must not cause another
 * one. (As ezmlm does, source: ezmlm-send(1).)
 *
 * The messages of a list are written first and then committed together, up to DELIVER_LIST_GROUP of
 * them: if nothing fails in between, each member gets it once. A failure before any of them is
 * queued defers the delivery; after a later failure they are tried again here, as long as "send" is
 * connected.
 */
#ifndef DELIVER_LIST_LIST_H
#define DELIVER_LIST_LIST_H

#include "base/hash.h"
#include "deliver/helper.h"
#include "directory/lookup/lookup.h"
#include "queue/client/client.h"

enum {
	DELIVER_LIST_GROUP = 128, /* messages written at once for one list */
	DELIVER_LIST_ACTIVE = 8,  /* lists worked on at once; others wait */
};

struct deliver_list;

/* DIRECTORY and QUEUE are borrowed. KEY: of marks against loops (header/loop.h). */
struct deliver_list *deliver_list_new(struct os_loop *loop, struct directory *directory,
				      struct queue_client *queue, struct hash_key key);
/* Another key, for mail that comes from now on. */
void deliver_list_configure(struct deliver_list *list, struct hash_key key);
/* Gives up every job. */
void deliver_list_free(void *transport);

/* For struct deliver_helper_handler: takes over JOB. */
void deliver_list_start(void *transport, struct deliver_helper_job *job);
/* Gives up the lists that have not begun: nothing of them is in the queue. */
void deliver_list_drain(void *transport);
void deliver_list_give_up(void *transport);

#endif
