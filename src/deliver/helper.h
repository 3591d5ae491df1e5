// SPDX-License-Identifier: ISC
/*
 * deliver/helper.h - the helper's side of its connection to "send".
 *
 * A helper is given jobs: one message, one destination, one or more of the message's deliveries. It
 * keeps many jobs in flight, reports each delivery once, and finishes the job. If a helper dies
 * nothing is lost: its jobs are tried again.
 */
#ifndef DELIVER_HELPER_H
#define DELIVER_HELPER_H

#include "config/config.h"
#include "ipc/content.h"
#include "ipc/job.h"
#include "mail/envelope.h"
#include "mail/verdict.h"
#include "os/loop.h"

struct deliver_helper_recipient {
	uint32_t number; /* of the delivery */
	struct str address;
	struct str original; /* ORCPT; empty: none */
	struct str via;      /* the envelope's address, which leads to ADDRESS; empty: that is it */
	unsigned notify;     /* enum mail_notify */
	bool is_passed_on;   /* set before a report: the next host was asked to report the
			      * success */
	bool is_timed;       /* likewise: it was told of the deadline */
	bool is_reported;
};

/* Owned by the handler from job() until deliver_helper_finish(). */
struct deliver_helper_job {
	struct mail_id id;
	struct str sender;      /* "" : the null sender */
	struct str destination; /* remote: the recipients' domain, lower case; local: the server
				 * that the directory names (mail/server.h), or "" */
	struct str received;    /* where it came from (struct mail_envelope); empty: unknown */
	bool tells_origin;      /* the handler's: servers that offer XFORWARD are told that */
	struct str envid;       /* as xtext; empty: none */
	enum mail_ret ret;
	bool utf8;         /* SMTPUTF8 was asked for */
	bool binary;       /* BINARYMIME was said: the content may be anything but lines */
	bool requires_tls; /* REQUIRETLS was (RFC 8689) */
	bool has_turn;     /* it has waited for a place in a class of hosts (limit/class.h) */
	int priority;      /* MT-PRIORITY (RFC 6710); 0: ordinary */
	struct mail_deadline deadline; /* is_told also if it was reported from here */
	struct deliver_helper_recipient *recipients;
	size_t recipient_count;
	struct ipc_content content; /* CRLF lines */
	/* Set around a report: what protected the connection; NULL: nothing did. */
	const struct ipc_job_tls *tls;
	struct str source; /* likewise: from which source it went, "NAME[ADDRESS]"; "": none */
	/* Of a job of "handover" (IPC_JOB_HAND), which has no more than these, its id, the numbers of
	 * its recipients and the content: */
	struct str package; /* its name (mail/package.h); empty: it is any other job */
	struct str text;    /* control text */
	struct str group;   /* of nodes */
	bool is_new;        /* no node can have any of it */
	void *context;      /* for the code that does the job */
	struct deliver_helper *helper;
	struct arena *arena; /* freed with the job; may be used for its work */
	uint32_t tag;
	struct deliver_helper_job *next, *previous;
};

/* Implemented by each transport, which is the context: these functions, and what configures and
 * frees it, take it without its type, so that program/kind/service.h has them as they are. */
struct deliver_helper_handler {
	/* A new job, now owned by the handler. */
	void (*job)(void *context, struct deliver_helper_job *job);
	/* "send" is stopping, or this process is: call deliver_helper_finish() at once, without
	 * reports, for jobs that can be repeated without a duplicate; the others continue until
	 * they are reported. No more jobs come. NULL: all jobs continue. */
	void (*drain)(void *context);
	/* The connection to "send" was lost: give up every job without reporting (call
	 * deliver_helper_finish() for each, now or when its network work can end). */
	void (*lost)(void *context);
	/* "send" says what is not about jobs (IPC_JOB_RUN and the like); false: malformed. NULL:
	 * nothing of that kind comes. */
	bool (*heard)(void *context, enum ipc_job type, struct str body);
};

struct deliver_helper;

/* Where a helper connects, and its identity. */
struct deliver_helper_call {
	const char *path; /* of the socket of "send" */
	struct str token; /* of this process */
	const char *service;
	uint32_t concurrency;
};

/* Connects to "send" as a helper for CALL's service ("remote", or the name of a local service),
 * and reconnects when the connection is lost. CALL is copied. */
struct deliver_helper *deliver_helper_new(struct os_loop *loop,
					  const struct deliver_helper_call *call,
					  const struct deliver_helper_handler *handler,
					  void *context);
void deliver_helper_free(struct deliver_helper *helper);

/* Reports the outcome of recipients[index]. TRIGGER names an event worth waiting for
 * ("host.mx.example.org"), or is NULL. Does nothing for a recipient that was reported already. */
void deliver_helper_report(struct deliver_helper_job *job, size_t index,
			   const struct mail_verdict *verdict, const char *trigger);
/* The same for every recipient that was not reported yet. */
void deliver_helper_report_rest(struct deliver_helper_job *job, const struct mail_verdict *verdict,
				const char *trigger);
/* Sends the reports made so far to "send" now: for a job that will not finish soon. */
void deliver_helper_tell(struct deliver_helper_job *job);
/* Ends and frees the job with its content. Recipients without a report are tried again. */
void deliver_helper_finish(struct deliver_helper_job *job);
/* The same, because the destination has had enough: "send" starts no job for it before WAIT_US,
 * at most an hour, and tries those without a report again as if they had not been tried. FLAGS:
 * enum ipc_job_busy_flags. REASON is for people. */
void deliver_helper_finish_busy(struct deliver_helper_job *job, int64_t wait_us, uint32_t flags,
				const char *reason);

/* A server has said, of JOB, what changes how mail goes to it; the id is JOB's. */
void deliver_helper_tell_said(const struct deliver_helper_job *job,
			      const struct ipc_job_said *said);

/* Says something that is not about a job; false: there is no connection. */
bool deliver_helper_say(struct deliver_helper *helper, enum ipc_job type, struct str body);

/* This process ends: tells "send" to give this helper no more jobs, and calls the handler's
 * drain(). */
void deliver_helper_retire(struct deliver_helper *helper);

/* How many jobs are in flight. */
size_t deliver_helper_job_count(const struct deliver_helper *helper);

#endif
