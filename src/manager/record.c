// SPDX-License-Identifier: ISC
/* What became of deliveries is written into control files, many at a time. */
#include "base/panic.h"
#include "log/event.h"
#include "manager/internal.h"
#include "os/clock.h"
#include <stdlib.h>

static const int64_t RECORD_DELAY_US = SECOND_US / 4;

struct record {
	struct queue_update update;
	struct message *message;
	struct buffer control;
	struct buffer whole; /* when the control file is written anew */
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

/* Those of the deliveries that are in the report at the end. */
static int add_bounces(struct record *record)
{
	struct queue_control *control = record->message->control;
	uint32_t *indexes = memory_alloc((record->delivery_count + 1) * sizeof *indexes);
	uint32_t count = 0;
	int error;

	for (uint32_t i = 0; i < record->delivery_count; i++)
		if (notice_is_at_end(record->message, &control->deliveries[record->deliveries[i]]))
			indexes[count++] = record->deliveries[i];
	error = queue_control_write_outcomes(&record->bounce, control, indexes, count);
	free(indexes);
	return error;
}

static int add_outcomes(struct record *record)
{
	const struct message *message = record->message;
	struct queue_control *control = message->control;
	int error;

	record->deliveries = memory_alloc((control->delivery_count + 1) * sizeof(uint32_t));
	for (uint32_t i = 0; i < control->delivery_count; i++)
		if (message->unrecorded[i])
			record->deliveries[record->delivery_count++] = i;
	error = queue_control_write_outcomes(&record->control, control, record->deliveries,
					     record->delivery_count);
	if (error == 0)
		error = add_bounces(record);
	if (error == 0 && message->is_delay_unrecorded)
		error = add_delays(record);
	return error;
}

/* What has outgrown its needs is written anew. */
static void set_text(struct manager *manager, struct record *record)
{
	struct queue_update *update = &record->update;

	update->is_whole = !update->is_queued &&
			   queue_control_outgrown(record->message->control, record->control.length,
						  &record->whole);
	if (update->is_whole)
		add_links(manager, record);
	update->control = buffer_view(update->is_whole ? &record->whole : &record->control);
}

/* Nothing but when to try again: without it that would be earlier. */
static bool is_about_time(const struct record *record)
{
	const struct message *message = record->message;

	if (message->is_queued || message->is_delay_unrecorded)
		return false;
	for (uint32_t i = 0; i < record->delivery_count; i++)
		if (message->control->deliveries[record->deliveries[i]].outcome != QUEUE_WAIT)
			return false;
	return true;
}

static void record_free(struct record *record)
{
	buffer_clear(&record->control);
	buffer_clear(&record->whole);
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
	if (message->directory_version != 0)
		message->control->directory_version = message->directory_version;
	if (message->is_queued) /* a second block, after an interruption, is ignored */
		error = queue_control_write_map(&record->control, message->control->deliveries,
						message->control->delivery_count,
						message->control->directory_version);
	if (error == 0)
		error = add_outcomes(record);
	set_text(manager, record);
	record->update.bounce = buffer_view(&record->bounce);
	record->update.may_be_lost = !record->update.is_whole && is_about_time(record);
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

void record_cancel(struct manager *manager, struct message *message)
{
	if (message->record_at_us == 0)
		return;
	DL_DELETE2(manager->to_record, message, record_previous, record_next);
	message->record_at_us = 0;
}

void record_write(struct manager *manager, struct message *message)
{
	struct record *record = memory_alloc_zero(1, sizeof *record);
	int error;

	if (message->state != MESSAGE_BUSY) /* its control file may be another message's soon */
		panic("message %llu is recorded in state %d", (unsigned long long)message->number,
		      (int)message->state);
	record_cancel(manager, message);
	record->message = message;
	error = record_fill(manager, record);
	if (error < 0) {
		record_free(record);
		record_failed(manager, message, error);
		return;
	}
	message->state = MESSAGE_RECORDING;
	message->has_names = true; /* also when this fails */
	manager->updating++;
	queue_group_add(manager->updates, record);
}

void record_later(struct manager *manager, struct message *message)
{
	if (message->record_at_us != 0)
		return;
	message->record_at_us = os_clock_monotonic_us() + RECORD_DELAY_US;
	DL_APPEND2(manager->to_record, message, record_previous, record_next);
	if (!os_timer_is_running(manager->record_timer))
		os_timer_start(manager->record_timer, RECORD_DELAY_US);
}

void record_due(void *context)
{
	struct manager *manager = context;
	int64_t now_us = os_clock_monotonic_us();
	struct message *message;
	struct message *next;

	DL_FOREACH_SAFE2 (manager->to_record, message, next, record_next)
		if (message->state != MESSAGE_BUSY) /* what goes on there looks again */
			record_cancel(manager, message);
		else if (message->record_at_us <= now_us)
			record_write(manager, message);
	if (manager->to_record != NULL)
		os_timer_start(manager->record_timer, RECORD_DELAY_US / 4);
}

/* Not what is at S4 yet: "queue" would not be told any more that it is at S5. */
void record_all(struct manager *manager)
{
	struct message *message;
	struct message *next;

	DL_FOREACH_SAFE2 (manager->to_record, message, next, record_next)
		if (message->state == MESSAGE_BUSY && !message->is_queued)
			record_write(manager, message);
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
	queue_update_account(message->control, &record->update);
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

const struct queue_group_handler record_group_handler = {group_work, group_done};
