// SPDX-License-Identifier: ISC
/*
 * manager/link/resolver.h - asks resolve what becomes of the recipients of messages, in parts
 * (ipc/job.h). What a resolve that is gone was asked the next one is asked again.
 */
#ifndef MANAGER_LINK_RESOLVER_H
#define MANAGER_LINK_RESOLVER_H

#include "manager/link/helper.h"
#include "queue/control.h"

struct resolver;
struct message;

struct resolver_handler {
	/* All recipients of MESSAGE are known: its deliveries, in the envelope's arena. */
	void (*mapped)(void *context, struct message *message, struct queue_delivery *deliveries,
		       size_t count, uint64_t version);
	/* Some are not known for now, because of TEXT; IS_AWAY: because the directory does not
	 * answer. */
	void (*unmapped)(void *context, struct message *message, bool is_away, struct str text);
	/* It has become so many deliveries so far. */
	void (*grew)(void *context, struct message *message, size_t count);
	/* Whether what is not known of the message now will never be: it is too old. */
	bool (*is_too_old)(void *context, const struct message *message);
};

struct resolver *resolver_new(struct os_loop *loop, struct helpers *helpers,
			      const struct resolver_handler *handler, void *context);
void resolver_free(struct resolver *resolver);

/* Asks for all recipients of MESSAGE: its answer comes later. NUMBER is its own. */
void resolver_ask(struct resolver *resolver, struct message *message, uint64_t number,
		  struct mail_envelope *envelope);
/* No answer about NUMBER is wanted any more. */
void resolver_forget(struct resolver *resolver, uint64_t number);
/* Resolve is there. */
void resolver_connected(struct resolver *resolver);
void resolver_lost(struct resolver *resolver);
/* BODY of a RESOLVED. False when it is malformed: what is right in front of that counts. */
MUST_CHECK bool resolver_answered(struct resolver *resolver, struct str body);
/* The directory does not answer: resolve is to say when it does. */
void resolver_await(struct resolver *resolver);
/* It does. */
void resolver_back(struct resolver *resolver);

#endif
