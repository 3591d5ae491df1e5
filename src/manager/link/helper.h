// SPDX-License-Identifier: ISC
/*
 * manager/link/helper.h - the connections of the processes that do the work, and what each
 * of them has in hand (ipc/job.h). What they say is not believed: what is malformed, or about a
 * job that is not theirs, ends the connection. Nobody is a helper before his HELLO was believed,
 * and who does not say it soon is not waited for.
 */
#ifndef MANAGER_LINK_HELPER_H
#define MANAGER_LINK_HELPER_H

#include "ipc/job.h"
#include "os/loop.h"
#include <sys/types.h>

struct helpers;
struct helper;

/* Jobs are whatever helper_start() was given. A handler may start others, and end none. */
struct helpers_handler {
	/* Whether a process that USER runs can be a helper. */
	bool (*may_connect)(void *context, uid_t user);
	/* Whether the process that USER runs, and that shows TOKEN (ipc/token.h), is the one for
	 * SERVICE ("resolve", "remote" or a service). */
	bool (*may_help)(void *context, struct str service, struct str token, uid_t user);
	/* How many jobs a helper for SERVICE may have, whatever it says. */
	uint32_t (*places)(void *context, const char *service);
	/* There are places for SERVICE; "resolve": it can be asked. */
	void (*joined)(void *context, struct str service);
	/* False: no such delivery, or it was reported before. */
	bool (*reported)(void *context, void *job, const struct ipc_job_report *report);
	/* JOB is over: the helper finished it, or is gone. It is not known here any more. */
	void (*ended)(void *context, void *job);
	/* BODY of a RESOLVED; false: it is malformed. */
	bool (*resolved)(void *context, struct str body);
	/* The directory answers again. */
	void (*back)(void *context);
	/* Resolve is gone: what it was asked it will not answer. */
	void (*resolve_lost)(void *context);
	/* A helper is gone, after all of its jobs have ended. */
	void (*left)(void *context);
};

/* LISTENING: the socket that helpers connect to. */
struct helpers *helpers_new(struct os_loop *loop, int listening,
			    const struct helpers_handler *handler, void *context);
/* Tells all to finish what can be done again, and to go on with what cannot. Of those who leave
 * from now on nothing is logged: all are ended. */
void helpers_drain(struct helpers *helpers);
/* Their jobs end. */
void helpers_free(struct helpers *helpers);

/* The helper for SERVICE with the most places free, or NULL. */
struct helper *helpers_with_place(struct helpers *helpers, const char *service);
/* Gives it JOB: BODY of a START but for the content, which is CONTENT or, when FILE is not
 * negative, in that. */
void helper_start(struct helper *helper, void *job, struct buffer *body, struct str content,
		  int file);
size_t helpers_in_flight(const struct helpers *helpers);

bool helpers_can_resolve(const struct helpers *helpers);
/* Tells resolve; nothing happens when it is not there. */
void helpers_tell_resolve(struct helpers *helpers, enum ipc_job type, struct str body);

#endif
