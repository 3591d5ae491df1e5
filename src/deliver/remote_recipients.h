// SPDX-License-Identifier: ISC
/*
 * deliver/remote_recipients.h - who of a job's recipients is still to be asked for, and where.
 *
 * All begin as those whom the present server is asked for. Each transaction takes some of them;
 * after it each is reported, asked for again at the same server (SMTP_CLIENT_HERE), or set aside
 * for the next one with what this one said. When nobody is left for the present server, those
 * set aside come to be asked for at the next; where there is none, what was said is reported.
 */
#ifndef DELIVER_REMOTE_RECIPIENTS_H
#define DELIVER_REMOTE_RECIPIENTS_H

#include "deliver/helper.h"
#include "smtp/client.h"

enum { REMOTE_RECIPIENTS_MAX = 100 }; /* of one transaction, RFC 5321 section 4.5.3.1.8 */

struct remote_recipients {
	struct deliver_helper_job *job;
	size_t *order;     /* the job's numbers */
	size_t first, end; /* in it: whom the server is to be asked for */
	size_t *aside;     /* numbers; NULL: none yet */
	size_t aside_count;
	const struct mail_verdict **deferrals;     /* by the job's number; NULL: none */
	const struct mail_verdict *last_deferral;  /* the engine's, that was copied last */
	struct smtp_client_recipient *transaction; /* of order[first] on */
	size_t count;                              /* in it */
};

/* What it allocates is in JOB's arena. */
void remote_recipients_init(struct remote_recipients *recipients, struct deliver_helper_job *job);

/* Fills the next transaction, which has at least one; there is somebody to ask for. */
void remote_recipients_begin(struct remote_recipients *recipients);
/* Acts on its verdicts. MAY_ASK_ELSEWHERE: there may be another server. */
void remote_recipients_settle(struct remote_recipients *recipients, bool may_ask_elsewhere);

/* Whether the present server is to be asked for anybody else. */
bool remote_recipients_has_more(const struct remote_recipients *recipients);
/* Those set aside are to be asked for from now on; false when there are none. */
MUST_CHECK bool remote_recipients_turn(struct remote_recipients *recipients);
/* Reports what the last server said of those who were set aside and have no other report. */
void remote_recipients_report_deferred(struct remote_recipients *recipients);

#endif
