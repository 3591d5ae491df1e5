// SPDX-License-Identifier: ISC
/*
 * queue/client/submit.h - how a message of a user of this machine says whose it is. "queue" accepts
 * it by RUN/submit only if both are the user who has connected.
 */
#ifndef QUEUE_CLIENT_SUBMIT_H
#define QUEUE_CLIENT_SUBMIT_H

#include "base/buffer.h"

/* What the message begins with: "Received: (uid UID)" and a line end; the field goes on. */
void queue_submit_append_trace(struct buffer *out, unsigned long uid);
/* What its envelope has as received: "local uid=UID". */
void queue_submit_append_received(struct buffer *out, unsigned long uid);

#endif
