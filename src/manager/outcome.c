// SPDX-License-Identifier: ISC
/* What became of deliveries: decided here, recorded in control files by groups. */
#include "base/panic.h"
#include "ipc/job.h"
#include "log/event.h"
#include "mail/verdict.h"
#include "manager/internal.h"
#include "manager/schedule.h"
#include "os/clock.h"
#include "os/random.h"
#include <stdlib.h>

static const int64_t RECORD_DELAY_US = SECOND_US / 4;
static const int64_t LOST_DELAY_US = 2 * SECOND_US;

/* --- deciding --- */

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
	delivery->until_us = schedule_next(message->born_us, now_us, skip, os_random_u64());
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
	if (destination->blocked == NULL && trigger_find(manager, name) != NULL)
		stage_destination_blocked(destination, trigger_find(manager, name));
}

void outcome_set(struct manager *manager, struct job *job, const struct outcome *outcome)
{
	struct message *message = job->message;
	struct arena *arena = message->control->envelope->arena;
	struct job_delivery *of_job = find_delivery(job, outcome->number);
	struct str status = outcome->status;
	struct queue_delivery *delivery;

	if (of_job == NULL || of_job->is_reported)
		return;
	of_job->is_reported = true;
	delivery = &message->control->deliveries[of_job->index];
	learn_trigger(manager, job, delivery, outcome->trigger, outcome->text);
	if (!mail_status_is_valid(status))
		status = STR("4.3.0");
	delivery->status = arena_copy_str(arena, status);
	delivery->text = arena_copy_str(arena, outcome->text);
	delivery->trigger = arena_copy_str(arena, outcome->trigger);
	delivery->is_quiet =
		outcome->flags & IPC_JOB_PASSED_ON && notice_is_success_wanted(message, delivery);
	delivery->changed_us = os_clock_wall_us();
	message->unrecorded[of_job->index] = true;
	switch (status.data[0]) {
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
			delivery->until_us =
				schedule_next(message->born_us, delivery->changed_us,
					      job->destination->stage->skip, os_random_u64());
		message->unrecorded[index] = true;
		outcome_log(message, delivery);
	}
}

/* --- recording --- */

struct record {
	struct queue_update update;
	struct message *message;
	struct buffer control;
	struct buffer bounce;
	const char **services;
	uint32_t *deliveries; /* indexes of those whose outcome is in it */
	uint32_t delivery_count;
};

static bool has_service(const struct record *record, const char *name)
{
	for (size_t i = 0; i < record->update.link_service_count; i++)
		if (strcmp(record->services[i], name) == 0)
			return true;
	return false;
}

/* The places that hold deliveries which are not done. */
static void add_links(struct manager *manager, struct record *record)
{
	const struct queue_control *control = record->message->control;

	record->services = memory_alloc(control->delivery_count * sizeof(char *) + sizeof(char *));
	for (size_t i = 0; i < control->delivery_count; i++) {
		const struct queue_delivery *delivery = &control->deliveries[i];
		struct stage *stage;

		if (delivery->outcome == QUEUE_DONE || delivery->outcome == QUEUE_FAIL)
			continue;
		if (delivery->route == QUEUE_ROUTE_REMOTE)
			record->update.link_remote = true;
		if (delivery->route != QUEUE_ROUTE_LOCAL)
			continue;
		stage = stage_find(manager, delivery->service);
		if (stage != NULL && !has_service(record, stage->name))
			record->services[record->update.link_service_count++] = stage->name;
	}
	record->update.link_services = record->services;
}

static int add_delays(struct record *record)
{
	const struct queue_control *control = record->message->control;
	int error = 0;

	for (size_t i = 0; error == 0 && i < control->delivery_count; i++)
		if (control->deliveries[i].delayed_us > 0)
			error = queue_control_write_delayed(&record->control,
							    &control->deliveries[i]);
	return error;
}

static int add_outcomes(struct record *record)
{
	const struct message *message = record->message;
	const struct queue_control *control = message->control;

	record->deliveries = memory_alloc((control->delivery_count + 1) * sizeof(uint32_t));
	for (uint32_t i = 0; i < control->delivery_count; i++) {
		int error;

		if (!message->unrecorded[i])
			continue;
		record->deliveries[record->delivery_count++] = i;
		error = queue_control_write_outcome(&record->control, &control->deliveries[i]);
		if (error == 0 && notice_is_at_end(message, &control->deliveries[i]))
			error = queue_control_write_outcome(&record->bounce,
							    &control->deliveries[i]);
		if (error < 0)
			return error;
	}
	return message->is_delay_unrecorded ? add_delays(record) : 0;
}

static void record_free(struct record *record)
{
	buffer_clear(&record->control);
	buffer_clear(&record->bounce);
	free(record->services);
	free(record->deliveries);
	free(record);
}

static int record_fill(struct manager *manager, struct record *record)
{
	struct message *message = record->message;
	int error = 0;

	record->update.number = message->number;
	record->update.born_us = message->born_us;
	record->update.is_queued = message->is_queued;
	record->update.stage = message->stage;
	record->update.preprocess = message->is_queued;
	if (message->is_queued)
		add_links(manager, record);
	if (message->is_queued) /* a second block, after an interruption, is ignored */
		error = queue_control_write_map(&record->control, message->control->deliveries,
						message->control->delivery_count,
						message->directory_version);
	if (error == 0)
		error = add_outcomes(record);
	record->update.control = buffer_view(&record->control);
	record->update.bounce = buffer_view(&record->bounce);
	return error;
}

/* Tried again after a while; what happened is still in memory. */
static void record_failed(struct manager *manager, struct message *message, int error)
{
	log_event(EVENT_QUEUE_ERROR, log_id(message->control->envelope->id),
		  log_string("operation", "record"), log_error(error));
	message->state = MESSAGE_BUSY;
	message->record_at_us = os_clock_monotonic_us() + 10 * SECOND_US;
	DL_APPEND2(manager->to_record, message, record_previous, record_next);
	if (!os_timer_is_running(manager->record_timer))
		os_timer_start(manager->record_timer, SECOND_US);
}

void outcome_record_cancel(struct manager *manager, struct message *message)
{
	if (message->record_at_us == 0)
		return;
	DL_DELETE2(manager->to_record, message, record_previous, record_next);
	message->record_at_us = 0;
}

void outcome_record(struct manager *manager, struct message *message)
{
	struct record *record = memory_alloc_zero(1, sizeof *record);
	int error;

	if (message->state != MESSAGE_BUSY) /* its control file may be another message's soon */
		panic("message %llu is recorded in state %d", (unsigned long long)message->number,
		      (int)message->state);
	outcome_record_cancel(manager, message);
	record->message = message;
	error = record_fill(manager, record);
	if (error < 0) {
		record_free(record);
		record_failed(manager, message, error);
		return;
	}
	message->state = MESSAGE_RECORDING;
	manager->updating++;
	queue_group_add(manager->updates, record);
}

void outcome_record_later(struct manager *manager, struct message *message)
{
	if (message->record_at_us != 0)
		return;
	message->record_at_us = os_clock_monotonic_us() + RECORD_DELAY_US;
	DL_APPEND2(manager->to_record, message, record_previous, record_next);
	if (!os_timer_is_running(manager->record_timer))
		os_timer_start(manager->record_timer, RECORD_DELAY_US);
}

void outcome_record_due(void *context)
{
	struct manager *manager = context;
	int64_t now_us = os_clock_monotonic_us();
	struct message *message;
	struct message *next;

	DL_FOREACH_SAFE2 (manager->to_record, message, next, record_next)
		if (message->state != MESSAGE_BUSY) /* what goes on there looks again */
			outcome_record_cancel(manager, message);
		else if (message->record_at_us <= now_us)
			outcome_record(manager, message);
	if (manager->to_record != NULL)
		os_timer_start(manager->record_timer, RECORD_DELAY_US / 4);
}

static void group_work(void *context, void **items, size_t count)
{
	struct manager *manager = context;
	struct queue_update **updates = memory_alloc(count * sizeof *updates);

	for (size_t i = 0; i < count; i++)
		updates[i] = &((struct record *)items[i])->update;
	queue_update_commit_group(manager->store, updates, count);
	free(updates);
}

static void leave_finished_places(struct manager *manager, const struct message *message)
{
	for (struct stage *stage = manager->stages; stage != NULL; stage = stage->next) {
		bool had = false;
		bool has = false;
		int error;

		for (size_t i = 0; i < message->control->delivery_count; i++) {
			const struct queue_delivery *delivery = &message->control->deliveries[i];
			bool is_here = stage->is_remote ? delivery->route == QUEUE_ROUTE_REMOTE
							: delivery->route == QUEUE_ROUTE_LOCAL &&
								  str_equal(delivery->service,
									    str_from(stage->name));

			had |= is_here;
			has |= is_here && delivery->outcome != QUEUE_DONE &&
			       delivery->outcome != QUEUE_FAIL;
		}
		if (!had || has)
			continue;
		error = queue_update_leave(manager->store, message->number,
					   stage->is_remote ? NULL : stage->name);
		if (error < 0)
			log_event(EVENT_QUEUE_ERROR, log_id(message->control->envelope->id),
				  log_string("operation", "leave"), log_error(error));
	}
}

static void record_done(struct manager *manager, struct record *record)
{
	struct message *message = record->message;
	bool was_queued = message->is_queued;

	manager->updating--;
	if (record->update.result < 0) {
		record_failed(manager, message, record->update.result);
		return;
	}
	for (uint32_t i = 0; i < record->delivery_count; i++)
		message->unrecorded[record->deliveries[i]] = false;
	message->is_delay_unrecorded = false;
	message->is_recorded = true;
	message->is_queued = false;
	message->has_bounce |= record->bounce.length > 0;
	if (was_queued) {
		log_event(EVENT_MESSAGE_PREPROCESSED, log_id(message->control->envelope->id));
		removal_ask(manager, message, QUEUE_REMOVE_TODO);
	}
	leave_finished_places(manager, message);
	if (message->state == MESSAGE_RECORDING)
		message->state = MESSAGE_BUSY;
	message_continue(manager, message);
}

static void group_done(void *context, void **items, size_t count)
{
	struct manager *manager = context;

	for (size_t i = 0; i < count; i++) {
		struct record *record = items[i];

		record_done(manager, record);
		record_free(record);
	}
	manager_check_stopped(manager);
}

const struct queue_group_handler outcome_group_handler = {group_work, group_done};
