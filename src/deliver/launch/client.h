// SPDX-License-Identifier: ISC
/*
 * deliver/launch/client.h - has programs started by "launch" (deliver/launch/launch.h).
 */
#ifndef DELIVER_LAUNCH_CLIENT_H
#define DELIVER_LAUNCH_CLIENT_H

#include "mail/envelope.h"
#include "mail/verdict.h"
#include "os/loop.h"

struct launch_client;

/* The events of a run: started() once or refused(), then ended(), unless lost() comes; an
 * unexpected message closes the connection. None is called from inside launch_begin(). Implemented
 * by deliver/pipe/run.c. */
struct launch_handler {
	/* DESCRIPTORS (LAUNCH_INPUT...) now belong to the handler. */
	void (*started)(void *context, const int *descriptors);
	/* No program was started. WHY is valid during the call. */
	void (*refused)(void *context, const struct mail_verdict *why);
	/* STATUS as of waitpid(). */
	void (*ended)(void *context, int status, bool is_late);
	/* The connection was lost: no more events follow. "launch" kills what it runs. */
	void (*lost)(void *context);
};

/* Storage of the caller, zeroed at first. */
struct launch {
	const struct launch_handler *handler;
	void *context;
	struct launch_client *client; /* NULL: no more events follow */
	uint32_t tag;
	bool is_started;
	struct launch *next, *previous;
};

struct launch_order {
	const char *service;
	struct mail_id id;
	struct str sender;
	struct str recipient;
};

/* Connects to PATH, presents TOKEN (copied), and reconnects when the connection is lost. READY
 * is called when there is a connection. */
struct launch_client *launch_client_new(struct os_loop *loop, const char *path, struct str token,
					void (*ready)(void *context), void *context);
/* Only when all runs have ended or were forgotten. NULL is allowed. */
void launch_client_free(struct launch_client *client);
bool launch_client_is_ready(struct launch_client *client);

/* LAUNCH, with its handler and context, is in use until refused(), ended(), lost() or
 * launch_forget(). Only while the client is ready. ORDER must be valid during the call. */
void launch_begin(struct launch_client *client, struct launch *launch,
		  const struct launch_order *order);
/* All of its input has been written. */
void launch_whole(const struct launch *launch);
/* ended() still follows. */
void launch_kill(const struct launch *launch);
/* The handler is not called any more. */
void launch_forget(struct launch *launch);

#endif
