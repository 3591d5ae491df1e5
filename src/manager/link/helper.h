// SPDX-License-Identifier: ISC
/*
 * manager/link/helper.h - the connections of the helpers, and the jobs that each of them has
 * (ipc/job.h). Helpers are not trusted: a message that is malformed, or about a job of another
 * helper, ends the connection. A connection becomes a helper only when its HELLO was verified; if
 * HELLO does not come soon, the connection may be closed.
 */
#ifndef MANAGER_LINK_HELPER_H
#define MANAGER_LINK_HELPER_H

#include "ipc/job.h"
#include "os/loop.h"
#include <sys/types.h>

struct helpers;
struct helper;

/* Jobs are the pointers passed to helper_start(). A handler may start other jobs, but not end
 * any. Implemented by manager/hear/helpers.c. */
struct helpers_handler {
	/* Whether a process of USER can be a helper. */
	bool (*may_connect)(void *context, uid_t user);
	/* Whether a process of USER that presents TOKEN (ipc/token.h) is the helper for SERVICE
	 * ("resolve", "remote" or a service). */
	bool (*may_help)(void *context, struct str service, struct str token, uid_t user);
	/* How many jobs a helper for SERVICE may have, whatever it claims. */
	uint32_t (*places)(void *context, const char *service);
	/* A helper for SERVICE has free places; "resolve": it can be asked. */
	void (*joined)(void *context, struct str service);
	/* False: there is no such delivery, or it was reported before. */
	bool (*reported)(void *context, void *job, const struct ipc_job_report *report);
	/* JOB is over: the helper finished it, or disconnected. It is already removed here. */
	void (*ended)(void *context, void *job);
	/* Whether JOB's helper may say that its destination is busy. */
	bool (*may_be_busy)(void *context, const void *job);
	/* JOB is over, and what of it was not reported was not tried. It is already removed here.
	 */
	void (*busy)(void *context, void *job, const struct ipc_job_busy *busy);
	/* A server has said so to remote. */
	void (*said)(void *context, const struct ipc_job_said *said);
	/* BODY of a RESOLVED; false: malformed. */
	bool (*resolved)(void *context, struct str body);
	/* "handover" says what is not about a job, BODY; false: malformed. */
	bool (*handed)(void *context, enum ipc_job type, struct str body);
	/* The helper SERVICE asks for the status of this queue; false: malformed. */
	bool (*asked)(void *context, const char *service, struct str body);
	/* The directory answers again. */
	void (*back)(void *context);
	/* Resolve disconnected: its pending questions will not be answered. */
	void (*resolve_lost)(void *context);
	/* A helper disconnected; all of its jobs have ended before. */
	void (*left)(void *context);
};

/* LISTENING: the socket that helpers connect to. */
struct helpers *helpers_new(struct os_loop *loop, int listening,
			    const struct helpers_handler *handler, void *context);
/* Tells all helpers to give up jobs that can be repeated, and to finish the others. From now on
 * a helper that disconnects is not logged, because all of them will. */
void helpers_drain(struct helpers *helpers);
/* Ends their jobs. */
void helpers_free(struct helpers *helpers);

/* The helper for SERVICE with the most places free, or NULL. */
struct helper *helpers_with_place(struct helpers *helpers, const char *service);
/* Gives it JOB: BODY is that of a START, or of a HAND, without the content, which is CONTENT or, if
 * FILE is not negative, in FILE. */
void helper_start(struct helper *helper, enum ipc_job type, void *job, struct buffer *body,
		  struct str content, int file);
/* Whether one for SERVICE is connected. */
bool helpers_have(const struct helpers *helpers, const char *service);
size_t helpers_in_flight(const struct helpers *helpers);

bool helpers_can_resolve(const struct helpers *helpers);
/* Sends a message to the newest helper for SERVICE; does nothing when none is connected. */
void helpers_tell(struct helpers *helpers, const char *service, enum ipc_job type, struct str body);

#endif
