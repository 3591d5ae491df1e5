// SPDX-License-Identifier: ISC
/* What becomes of deliveries is decided here, from what helpers report. */
#include "base/panic.h"
#include "ipc/job.h"
#include "log/event.h"
#include "mail/verdict.h"
#include "manager/internal.h"
#include "manager/schedule.h"
#include "os/clock.h"
#include "os/random.h"
#include <stdlib.h>

static const int64_t LOST_DELAY_US = 2 * SECOND_US;

void outcome_log(const struct message *message, const struct queue_delivery *delivery)
{
	enum log_name event = delivery->outcome == QUEUE_DONE   ? EVENT_DELIVERED
			      : delivery->outcome == QUEUE_WAIT ? EVENT_DEFERRED
								: EVENT_FAILED;
	struct str place = delivery->route == QUEUE_ROUTE_LOCAL    ? delivery->service
			   : delivery->route == QUEUE_ROUTE_REMOTE ? STR("remote")
								   : STR("none");
	char until[TIMESTAMP_SIZE] = "-";

	if (delivery->outcome == QUEUE_WAIT)
		timestamp_format_seconds(delivery->until_us, until);
	log_event(event, log_id(message->control->envelope->id),
		  log_number("delivery", delivery->number), log_str("to", delivery->address),
		  log_str("by", place), log_str("status", delivery->status),
		  log_str("text", delivery->text), log_string("until", until));
}

void outcome_expire(const struct message *message, struct queue_delivery *delivery)
{
	struct arena *arena = message->control->envelope->arena;
	struct mail_verdict verdict;

	mail_verdict_set(&verdict, "5.4.7", "not delivered in time; the last attempt: " STR_FORMAT,
			 STR_ARGUMENTS(delivery->text));
	delivery->outcome = QUEUE_FAIL;
	delivery->changed_us = os_clock_wall_us();
	delivery->status = arena_copy_str(arena, str_from(verdict.status));
	delivery->text = arena_copy_str(arena, str_from(verdict.text));
}

static void defer(struct manager *manager, const struct message *message,
		  struct queue_delivery *delivery, unsigned skip)
{
	int64_t now_us = delivery->changed_us;

	delivery->outcome = QUEUE_WAIT;
	delivery->attempts++;
	delivery->until_us = schedule_next(message->born_us, now_us, skip, delivery->attempts - 1,
					   os_random_u64());
	if (now_us - message->born_us >= manager->config->queuelifetime_us)
		outcome_expire(message, delivery);
}

static struct job_delivery *find_delivery(struct job *job, uint32_t number)
{
	for (uint32_t i = 0; i < job->delivery_count; i++)
		if (job->message->control->deliveries[job->deliveries[i].index].number == number)
			return &job->deliveries[i];
	return NULL;
}

/* A report that names a trigger: nobody was there. Any other one proves that what
 * this delivery or its destination waited for has happened. */
static void learn_trigger(struct manager *manager, struct job *job,
			  const struct queue_delivery *delivery, struct str name, struct str text)
{
	struct destination *destination = job->destination;

	if (delivery->trigger.length > 0 && !str_equal(delivery->trigger, name))
		trigger_release(manager, delivery->trigger);
	if (name.length == 0) {
		if (destination->blocked != NULL)
			trigger_release_this(manager, destination->blocked);
		return;
	}
	job->is_unreached = true;
	trigger_set(manager, name, text);
	if (str_equal(name, STR(TRIGGER_DIRECTORY)))
		resolver_await(manager);
	if (destination->blocked == NULL && trigger_find(manager, name) != NULL)
		stage_destination_blocked(destination, trigger_find(manager, name));
}

bool outcome_set(struct manager *manager, struct job *job, const struct ipc_job_report *report)
{
	struct message *message = job->message;
	struct arena *arena = message->control->envelope->arena;
	struct job_delivery *of_job = find_delivery(job, report->number);
	struct queue_delivery *delivery;

	if (of_job == NULL || of_job->is_reported)
		return false;
	of_job->is_reported = true;
	delivery = &message->control->deliveries[of_job->index];
	learn_trigger(manager, job, delivery, report->trigger, report->text);
	delivery->status = arena_copy_str(arena, report->status);
	delivery->text = arena_copy_str(arena, report->text);
	delivery->trigger = arena_copy_str(arena, report->trigger);
	delivery->is_quiet =
		report->flags & IPC_JOB_PASSED_ON && notice_is_success_wanted(message, delivery);
	delivery->changed_us = os_clock_wall_us();
	message->unrecorded[of_job->index] = true;
	switch (report->status.data[0]) {
	case '2':
		delivery->outcome = QUEUE_DONE;
		break;
	case '5':
		delivery->outcome = QUEUE_FAIL;
		break;
	default:
		defer(manager, message, delivery, job->destination->stage->skip);
	}
	outcome_log(message, delivery);
	return true;
}

void outcome_lost(struct manager *manager, struct job *job)
{
	struct message *message = job->message;

	(void)manager;
	for (uint32_t i = 0; i < job->delivery_count; i++) {
		uint32_t index = job->deliveries[i].index;
		struct queue_delivery *delivery = &message->control->deliveries[index];

		if (job->deliveries[i].is_reported)
			continue;
		job->deliveries[i].is_reported = true;
		delivery->outcome = QUEUE_WAIT;
		delivery->attempts++;
		delivery->status = STR("4.3.0");
		delivery->text = STR("the delivery was interrupted");
		delivery->trigger = STR("");
		delivery->changed_us = os_clock_wall_us();
		delivery->until_us = delivery->changed_us + LOST_DELAY_US;
		if (delivery->attempts > 3)
			delivery->until_us = schedule_next(message->born_us, delivery->changed_us,
							   job->destination->stage->skip,
							   delivery->attempts - 1, os_random_u64());
		message->unrecorded[index] = true;
		outcome_log(message, delivery);
	}
}
