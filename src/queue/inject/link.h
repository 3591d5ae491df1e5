// SPDX-License-Identifier: ISC
/*
 * queue/inject/link.h - queueing messages through the process "queue" (RUN/submit, setting
 * submit_group), for users who may not write the queue. One message at a time; each call waits
 * until it is done. The errors are those of queue/client/client.h; -ENOTCONN also when "queue"
 * accepts no more of this user.
 */
#ifndef QUEUE_INJECT_LINK_H
#define QUEUE_INJECT_LINK_H

#include "config/config.h"
#include "mail/envelope.h"

struct inject_link;

/* Connects, with the group of a set-group-ID program, which ends with that. After an error a
 * sentence is appended to *REASON: -ENOTCONN: no node runs; -EACCES: we may not connect. */
MUST_CHECK int inject_link_open(const struct config *config, struct inject_link **link_out,
				struct buffer *reason);
/* NULL is allowed. A message that is not committed is abandoned. */
void inject_link_close(struct inject_link *link);

/* Begins a message: *NUMBER_OUT is its number. */
MUST_CHECK int inject_link_begin(struct inject_link *link, uint64_t *number_out);
/* Appends to the data: 0, or the message's first error. */
MUST_CHECK int inject_link_write(struct inject_link *link, struct str data);
/* 0: durable. Ends the message, as does inject_link_abandon(). */
MUST_CHECK int inject_link_commit(struct inject_link *link, const struct mail_envelope *envelope);
void inject_link_abandon(struct inject_link *link);

#endif
