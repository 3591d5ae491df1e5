// SPDX-License-Identifier: ISC
/*
 * stage/list.h - mail to a list becomes new messages in the queue, for its members.
 *
 * A message to a list is delivered (RFC 3461 section 5.2.7.1) when new messages with
 * the same content are queued: for up to a thousand members each, from the list's owner (RFC
 * 5321 section 3.9.2), with "Delivered-To: LIST" in front. Where the list wants it each member
 * has a sender of its own (mail/verp.h), OWNER+MEMBER=HOST@DOMAIN: for us, the owner's mailbox.
 * What the sender asked for by NOTIFY, RET and ENVID is for this delivery and goes no further.
 *
 * A message that has been through the list already fails, and the loop is named. So does one
 * with the null sender: a bounce is not for the members, and what refuses it must not cause
 * another one. (As ezmlm does, source: ezmlm-send(1).)
 *
 * The messages of a list are written first and then committed together, up to
 * STAGE_LIST_GROUP of them: when nothing fails between, each member has it once. What fails
 * before any of them is queued makes the delivery wait; what fails later is tried again here,
 * for as long as "send" is connected.
 */
#ifndef STAGE_LIST_H
#define STAGE_LIST_H

#include "directory/lookup/lookup.h"
#include "queue/client.h"
#include "stage/helper.h"

enum {
	STAGE_LIST_GROUP = 128, /* messages written at once for one list */
	STAGE_LIST_ACTIVE = 8,  /* lists worked on at once; others wait */
};

struct stage_list;

/* DIRECTORY and QUEUE are borrowed. */
struct stage_list *stage_list_new(struct os_loop *loop, struct directory *directory,
				  struct queue_client *queue);
/* Gives up every job. */
void stage_list_free(struct stage_list *list);

/* For struct stage_helper_handler: takes JOB over; finishes every job without a report. */
void stage_list_deliver(struct stage_list *list, struct stage_helper_job *job);
void stage_list_give_up(struct stage_list *list);

#endif
