// SPDX-License-Identifier: ISC
/*
 * deliver/remote/attempt/recipients.h - which of a job's recipients must still be tried, and at
 * which server.
 *
 * All recipients begin with the current server. Each transaction takes some of them; after it each
 * is reported, tried again at the same server (SMTP_CLIENT_HERE, or in a new session
 * SMTP_CLIENT_ANEW), or set aside for the next server with the reply of this one. When none is left
 * for the current server, those set aside are tried at the next; if there is none, that reply is
 * reported.
 */
#ifndef DELIVER_REMOTE_ATTEMPT_RECIPIENTS_H
#define DELIVER_REMOTE_ATTEMPT_RECIPIENTS_H

#include "deliver/helper.h"
#include "smtp/client/client.h"

enum { REMOTE_RECIPIENTS_MAX = 100 }; /* of one transaction, RFC 5321 section 4.5.3.1.8 */

struct remote_recipients {
	struct deliver_helper_job *job;
	size_t *order;     /* the recipients' numbers in the job */
	size_t first, end; /* in ORDER: those to try at this server */
	size_t *aside;     /* numbers of those set aside; NULL: none yet */
	size_t aside_count;
	const struct mail_verdict **deferrals;     /* by number in the job; NULL: none */
	const struct mail_verdict *last_deferral;  /* the engine's, copied last */
	struct smtp_client_recipient *transaction; /* of order[first] and those after it */
	size_t count;                              /* in it */
	bool is_anew; /* those that are left to try at this server need a new session */
};

/* Those who are reported already are left out, and there are others. What it allocates is in JOB's
 * arena. */
void remote_recipients_init(struct remote_recipients *recipients, struct deliver_helper_job *job);

/* How many recipients the next transaction has if the server takes MOST (0: any number). */
size_t remote_recipients_next(const struct remote_recipients *recipients, uint32_t most);
/* Fills it with at least one recipient; there must be one to try. */
void remote_recipients_begin(struct remote_recipients *recipients, uint32_t most);
/* Acts on its verdicts. MAY_ASK_ELSEWHERE: there may be another server. KEEPS_SLOWER: those whom
 * the server would take if less came are not reported. */
void remote_recipients_settle(struct remote_recipients *recipients, bool may_ask_elsewhere,
			      bool keeps_slower);

/* Whether there are more recipients to try at the current server. */
bool remote_recipients_has_more(const struct remote_recipients *recipients);
/* From now on those set aside are tried; false when there are none. */
MUST_CHECK bool remote_recipients_turn(struct remote_recipients *recipients);
/* Reports the last server's reply for those that were set aside and have no other report. */
void remote_recipients_report_deferred(struct remote_recipients *recipients);

#endif
