// SPDX-License-Identifier: ISC
/*
 * queue/inject/recipients.h - collects the recipients of one message: each once, up to a limit.
 */
#ifndef QUEUE_INJECT_RECIPIENTS_H
#define QUEUE_INJECT_RECIPIENTS_H

#include "mail/envelope.h"

struct inject_recipients;

/* Adds to ENVELOPE, which is borrowed, at most MAX recipients with NOTIFY. */
struct inject_recipients *inject_recipients_new(struct mail_envelope *envelope, size_t max,
						unsigned notify);
void inject_recipients_free(struct inject_recipients *recipients);

/* Adds ADDRESS in the form of queue/inject/address.h unless it is there already, ignoring the case
 * of its domain; -E2BIG when there are too many, -EBADMSG when it has no such form. */
int inject_recipients_add(void *context, struct str address);

#endif
