// SPDX-License-Identifier: ISC
/*
 * manager/link/resolver.h - asks resolve where the recipients of messages go, in parts (ipc/job.h).
 * If resolve disconnects, its unanswered questions are asked again when it is back.
 */
#ifndef MANAGER_LINK_RESOLVER_H
#define MANAGER_LINK_RESOLVER_H

#include "manager/link/helper.h"
#include "queue/control/control.h"

struct resolver;
struct message;

/* Implemented by manager/hear/helpers.c. */
struct resolver_handler {
	/* All recipients of MESSAGE are resolved: its deliveries, in the envelope's arena. */
	void (*mapped)(void *context, struct message *message, struct queue_delivery *deliveries,
		       size_t count, uint64_t version);
	/* Some cannot be resolved now, because of TEXT; IS_AWAY: because the directory does not
	 * answer. */
	void (*unmapped)(void *context, struct message *message, bool is_away, struct str text);
	/* MESSAGE has COUNT deliveries so far. */
	void (*grew)(void *context, struct message *message, size_t count);
	/* Whether MESSAGE is too old to wait for recipients that cannot be resolved now: they
	 * fail. */
	bool (*is_too_old)(void *context, const struct message *message);
};

struct resolver *resolver_new(struct os_loop *loop, struct helpers *helpers,
			      const struct resolver_handler *handler, void *context);
void resolver_free(struct resolver *resolver);

/* Asks for all recipients of MESSAGE, which has NUMBER; the answer comes later. */
void resolver_ask(struct resolver *resolver, struct message *message, uint64_t number,
		  struct mail_envelope *envelope);
/* The answer about NUMBER is no longer needed. */
void resolver_forget(struct resolver *resolver, uint64_t number);
/* Resolve has connected. */
void resolver_connected(struct resolver *resolver);
void resolver_lost(struct resolver *resolver);
/* BODY of a RESOLVED. False when it is malformed: the part before the error counts. */
MUST_CHECK bool resolver_answered(struct resolver *resolver, struct str body);
/* The directory does not answer: asks resolve to report when it does. */
void resolver_await(struct resolver *resolver);
/* The directory answers again. */
void resolver_back(struct resolver *resolver);

#endif
