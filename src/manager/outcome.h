// SPDX-License-Identifier: ISC
/*
 * manager/outcome.h - the new state of a delivery, from a report about it. Values only.
 */
#ifndef MANAGER_OUTCOME_H
#define MANAGER_OUTCOME_H

#include "ipc/job.h"
#include "queue/control/control.h"

/* Facts about the message, and about the transport that tried. */
struct outcome_terms {
	int64_t start_us;    /* from which its age counts: mail_envelope_start_us() */
	int64_t lifetime_us; /* queuelifetime */
	struct mail_deadline deadline;
	unsigned skip;   /* wait/schedule.h */
	int64_t now_us;  /* wall clock */
	uint64_t random; /* spreads the next attempt */
	bool is_handed;  /* another node was to take it */
};

/* Whether it is undecided: waiting or never tried. */
bool outcome_is_open(const struct queue_delivery *delivery);
/* Logs the outcome of a delivery: once for each attempt, and for one decided without an attempt.
 * The original recipient is logged too if the delivery goes to another address. REPORT: of
 * the attempt, for what protected it and where it came from; NULL: there was none. */
void outcome_log(const struct mail_envelope *envelope, const struct queue_delivery *delivery,
		 const struct ipc_job_report *report);
/* It has waited too long: failed. */
void outcome_expire(struct arena *arena, struct queue_delivery *delivery, int64_t now_us);
/* Whether the sender wants a message with DEADLINE returned from now on. */
bool outcome_is_missed(const struct mail_deadline *deadline, int64_t now_us);
/* Because of that: failed. */
void outcome_miss(struct arena *arena, struct queue_delivery *delivery,
		  const struct mail_deadline *deadline, int64_t now_us);
/* A helper has reported on it. */
void outcome_report(struct arena *arena, struct queue_delivery *delivery,
		    const struct ipc_job_report *report, const struct outcome_terms *terms);
/* The failure just reported of a delivery on this machine says that the postmaster has no mailbox
 * there: RECIPIENT, of its envelope, or it is a postmaster's address. His mail must end with
 * somebody (RFC 5321 section 4.5.1): the delivery waits, with the status of the failure, to be
 * mapped again, as this node's postmaster (link/remap.h). False, and nothing is changed: it is
 * anything else. */
bool outcome_redirect(struct queue_delivery *delivery, const struct mail_recipient *recipient,
		      int64_t now_us);
/* Whether that is what it waits for. */
bool outcome_is_redirected(const struct queue_delivery *delivery);
/* The helper that tried it ended without a report, or its message could not be read. */
void outcome_interrupt(struct arena *arena, struct queue_delivery *delivery,
		       const struct outcome_terms *terms);
/* Its message's data are damaged: it waits for an operator, until the message is too old; then it
 * has failed. */
void outcome_damage(struct queue_delivery *delivery, const struct outcome_terms *terms);
/* It cannot be tried before UNTIL_US, because of STATUS and TEXT (literals). */
void outcome_defer(struct queue_delivery *delivery, int64_t now_us, int64_t until_us,
		   const char *status, const char *text);
/* It has not been tried, and waits for the time RELEASE_US that its sender has asked for. Logs
 * that. */
void outcome_postpone(struct arena *arena, struct mail_id message, struct queue_delivery *delivery,
		      int64_t now_us, int64_t release_us);
/* Whether it waits for that time. */
bool outcome_is_postponed(const struct queue_delivery *delivery, int64_t release_us,
			  int64_t now_us);
/* An operator gives it up: as failed (IS_BOUNCE), or as done, without any report. */
void outcome_give_up(struct queue_delivery *delivery, bool is_bounce, int64_t now_us);

#endif
