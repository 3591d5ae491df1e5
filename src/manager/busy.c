// SPDX-License-Identifier: ISC
/* Jobs that a helper has not tried, or not to their end, because their destination has had enough
 * until a time (ipc/job.h, BUSY). They wait in memory; nothing is recorded. */
#include "base/timestamp.h"
#include "log/event.h"
#include "manager/internal.h"
#include "manager/outcome.h"
#include "os/clock.h"

static const int64_t WAIT_MIN_US = SECOND_US / 100; /* no job goes back and forth in a loop */

bool busy_may_be_said(void *context, const void *job)
{
	(void)context;
	return transport_is_remote(job_transport(job));
}

/* Its deliveries that were not reported are those of a later attempt. */
static void keep_unreported(struct job *job)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < job->delivery_count; i++)
		if (!job->deliveries[i].is_reported)
			job->deliveries[count++] = job->deliveries[i];
	job->delivery_count = count;
}

/* Who never gets his turn is told so like any other whose mail expires. */
static void expire_deliveries_of_job(struct manager *manager, struct job *job, struct str reason)
{
	const struct mail_envelope *envelope = job->message->control->envelope;
	const struct outcome_terms terms = dispatch_terms(manager, job);
	const struct ipc_job_report report = {.status = STR("4.4.5"), .text = reason};

	for (uint32_t i = 0; i < job->delivery_count; i++) {
		uint32_t index = job->deliveries[i].index;
		struct queue_delivery *delivery = &job->message->control->deliveries[index];

		outcome_report(envelope->arena, delivery, &report, &terms);
		job->message->news[index] |= RECORDER_OUTCOME;
		outcome_log(envelope, delivery, NULL);
	}
	dispatch_end(manager, job);
}

/* The messages of jobs that must not wait so long decide again: they sleep. */
static void put_to_sleep(struct manager *manager, struct job *job)
{
	struct job *sleepy;

	do {
		sleepy = job_to_sleep_beside(job);
		if (sleepy != NULL)
			dispatch_end(manager, sleepy);
	} while (sleepy != NULL && sleepy != job);
}

static void pause_busy_destination(struct manager *manager, struct job *job,
				   const struct ipc_job_busy *busy)
{
	struct message *message = job->message;
	int64_t now_us = os_clock_monotonic_us();
	int64_t wait_us = (int64_t)busy->wait_ms * (SECOND_US / 1000);

	const struct transport_pause_terms pause = {
		.until_us = now_us + (wait_us > WAIT_MIN_US ? wait_us : WAIT_MIN_US),
		.is_for_place = (busy->flags & IPC_JOB_BUSY_PLACE) != 0,
		.is_last = (busy->flags & IPC_JOB_BUSY_LAST) != 0,
		.reason = busy->reason,
	};

	transport_pause(job, now_us, &pause);
	if (message_has_news(message)) /* written before long */
		life_event(manager, message, MESSAGE_JOB_ENDED);
	put_to_sleep(manager, job);
	os_loop_defer(manager->loop, &manager->dispatch_task);
}

void busy_take(void *context, void *subject, const struct ipc_job_busy *busy)
{
	struct manager *manager = context;
	struct job *job = subject;
	const struct outcome_terms terms = dispatch_terms(manager, job);

	if (manager->is_stopping) {
		dispatch_on_ended(manager, job);
		return;
	}
	keep_unreported(job);
	if (job->delivery_count == 0)
		dispatch_end(manager, job);
	else if (terms.now_us - terms.start_us >= terms.lifetime_us)
		expire_deliveries_of_job(manager, job, busy->reason);
	else
		pause_busy_destination(manager, job, busy);
}
