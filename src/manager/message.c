// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "log/event.h"
#include "manager/internal.h"
#include "manager/schedule.h"
#include "os/clock.h"
#include <errno.h>
#include <stdlib.h>

static const int64_t BLOCKED_DELAY_US = 5 * MINUTE_US;
static const int64_t UNREADABLE_DELAY_US = 10 * MINUTE_US;

struct message *message_find(struct manager *manager, uint64_t number)
{
	struct message *message;

	HASH_FIND(hh, manager->messages, &number, sizeof number, message);
	return message;
}

struct message *message_new(struct manager *manager, uint64_t number, bool is_queued,
			    enum mail_stage stage)
{
	struct message *message = memory_alloc_zero(1, sizeof *message);

	message->number = number;
	message->is_queued = is_queued;
	message->stage = stage;
	message->has_bounce = !is_queued;
	HASH_ADD(hh, manager->messages, number, sizeof message->number, message);
	return message;
}

struct message *message_take(struct manager *manager, struct sleeper *sleeper)
{
	struct message *message = message_new(manager, sleeper->number, sleeper->is_queued,
					      (enum mail_stage)sleeper->stage);

	message->has_todo = sleeper->has_todo;
	message->has_names = sleeper->has_names;
	message->order = (enum message_order)sleeper->order;
	message->is_released = sleeper->is_released;
	message->is_found = sleeper->is_found;
	sleepers_remove(&manager->sleepers, sleeper);
	return message;
}

void message_weigh(struct manager *manager, struct message *message, size_t deliveries)
{
	manager->deliveries += deliveries;
	manager->deliveries -= message->weight;
	message->weight = deliveries;
}

static void discard(struct manager *manager, struct message *message)
{
	message_weigh(manager, message, 0);
	resolver_done(manager, message);
	trigger_probe_ended(manager, message);
	failure_abandon(message);
	record_cancel(manager, message);
	if (message->is_retry)
		manager->wake.retries--;
	if (message->control != NULL)
		manager->awake--;
	queue_control_free(message->control);
	free(message->unrecorded);
	HASH_DELETE(hh, manager->messages, message);
	free(message);
}

/* NULL when it is left to the scans: what somebody waits for, or has still to
 * happen to it, nothing on the disk tells. */
static struct sleeper *add_sleeper(struct manager *manager, const struct message *message,
				   const struct waiters *waiters, int64_t due_us)
{
	struct sleeper *sleeper;

	if (waiters == NULL && !message->is_queued && !message->has_todo &&
	    message->order == MESSAGE_ORDER_NONE && scan_will_find(manager, due_us))
		return NULL;
	wake_check_clock(manager);
	sleeper = sleepers_add(&manager->sleepers, message->number, due_us);
	sleeper->is_queued = message->is_queued;
	sleeper->stage = (unsigned)message->stage & 15U;
	sleeper->has_todo = message->has_todo;
	sleeper->has_names = message->has_names;
	sleeper->order = (unsigned)message->order & 3U;
	return sleeper;
}

void message_sleep_with(struct manager *manager, struct message *message, struct waiters *waiters,
			int64_t latest_us)
{
	struct sleeper *sleeper = add_sleeper(manager, message, waiters, latest_us);

	if (waiters != NULL)
		sleepers_wait(&manager->sleepers, sleeper, waiters);
	message_free(manager, message);
}

void message_sleep(struct manager *manager, struct message *message, int64_t due_us)
{
	message_sleep_with(manager, message, NULL, due_us);
}

void message_free(struct manager *manager, struct message *message)
{
	discard(manager, message);
	wake_schedule(manager);
	manager_check_stopped(manager);
}

/* The message's text is at fault, and not the disk or this process. */
static bool is_damage(int error)
{
	return error == -EBADMSG || error == -ENODATA || error == -EFBIG || error == -EINVAL;
}

/* From TEXT, or when that is empty from the disk: 0 or -errno. */
static int load(struct manager *manager, struct message *message, struct str text)
{
	unsigned line = 0;
	int error;

	if (text.length > 0)
		error = queue_control_parse(text, &message->control, &line);
	else
		error = queue_update_load(manager->store,
					  message->is_queued ? &message->stage : NULL,
					  message->number, &message->control, &line);
	if (is_damage(error))
		log_event(EVENT_MESSAGE_DAMAGED, log_number("number", (int64_t)message->number),
			  log_number("line", line), log_error(error));
	else if (error < 0 && error != -ENOENT)
		log_event(EVENT_QUEUE_ERROR, log_number("number", (int64_t)message->number),
			  log_string("operation", "read message"), log_error(error));
	return error;
}

static void prepare_deliveries(struct manager *manager, struct message *message)
{
	message_weigh(manager, message, message->control->delivery_count);
	message->unrecorded = memory_alloc_zero(message->control->delivery_count + 1, 1);
	message->is_recorded = message->control->is_mapped;
	message->has_names |= message->is_recorded;
	message->has_bounce |= message->is_recorded;
}

/* Whoever queued it may have had no log to write to. */
static void log_found(const struct mail_envelope *envelope)
{
	log_event(EVENT_MESSAGE_FOUND, log_id(envelope->id),
		  log_str("received", envelope->received), log_str("from", envelope->sender),
		  log_number("recipients", (int64_t)envelope->recipient_count),
		  log_number("size", (int64_t)envelope->size));
}

void message_wake(struct manager *manager, struct message *message, struct str text)
{
	int error = load(manager, message, text);

	if (error == -ENOENT) {
		message_free(manager, message);
		return;
	}
	if (error < 0) {
		message_sleep(manager, message, os_clock_wall_us() + UNREADABLE_DELAY_US);
		return;
	}
	manager->awake++;
	if (message->is_found)
		log_found(message->control->envelope);
	message->born_us = message->control->envelope->id.born_us;
	if (message->control->is_mapped) {
		prepare_deliveries(manager, message);
		message->state = MESSAGE_BUSY;
		if (message->is_queued) /* preprocessing was interrupted: finish it */
			record_write(manager, message);
		else
			message_continue(manager, message);
		return;
	}
	message->state = MESSAGE_RESOLVING;
	resolver_ask(manager, message);
}

void message_mapped(struct manager *manager, struct message *message)
{
	message->control->deliveries = message->mapping;
	message->control->delivery_count = message->mapping_count;
	message->mapping = NULL;
	prepare_deliveries(manager, message);
	message->control->is_mapped = true;
	for (size_t i = 0; i < message->control->delivery_count; i++) {
		message->unrecorded[i] = message->control->deliveries[i].outcome != QUEUE_PENDING;
		if (message->unrecorded[i])
			outcome_log(message, &message->control->deliveries[i]);
	}
	message->state = MESSAGE_BUSY;
	message_continue(manager, message);
}

/* And nobody has to hear of it. */
static bool is_all_delivered(const struct message *message)
{
	for (size_t i = 0; i < message->control->delivery_count; i++)
		if (message->control->deliveries[i].outcome != QUEUE_DONE)
			return false;
	return !notice_has_any_at_end(message);
}

bool message_has_unrecorded(const struct message *message)
{
	for (size_t i = 0; i < message->control->delivery_count; i++)
		if (message->unrecorded[i])
			return true;
	return message->is_delay_unrecorded;
}

/* When the first of its waiting deliveries is due. One that is blocked is looked at
 * again after a while. */
static int64_t next_due(struct manager *manager, const struct message *message)
{
	const int64_t now_us = os_clock_wall_us();
	int64_t due_us = INT64_MAX;

	for (size_t i = 0; i < message->control->delivery_count; i++) {
		const struct queue_delivery *delivery = &message->control->deliveries[i];
		int64_t until_us =
			delivery->outcome == QUEUE_WAIT
				? schedule_until(delivery->changed_us, delivery->until_us, now_us)
				: 0;

		if (delivery->outcome != QUEUE_WAIT && delivery->outcome != QUEUE_PENDING)
			continue;
		if (stage_blocked_by(manager, message, delivery) != NULL &&
		    until_us < now_us + BLOCKED_DELAY_US)
			until_us = now_us + BLOCKED_DELAY_US;
		if (until_us < due_us)
			due_us = until_us;
	}
	return due_us;
}

/* The trigger that all of its waiting deliveries wait for, or NULL. */
static struct trigger *common_trigger(struct manager *manager, const struct message *message)
{
	struct trigger *common = NULL;

	for (size_t i = 0; i < message->control->delivery_count; i++) {
		const struct queue_delivery *delivery = &message->control->deliveries[i];
		struct trigger *trigger;

		if (delivery->outcome != QUEUE_WAIT && delivery->outcome != QUEUE_PENDING)
			continue;
		trigger = stage_blocked_by(manager, message, delivery);
		if (trigger == NULL || (common != NULL && common != trigger))
			return NULL;
		common = trigger;
	}
	return common;
}

/* The control file's modification time tells a later process when to look at it:
 * at once if it waits for an event, which nothing else remembers. */
static void note_due(struct manager *manager, const struct message *message, int64_t due_us)
{
	int error;

	if (message->is_queued)
		return;
	error = queue_update_set_due(manager->store, message->number, due_us);
	if (error < 0)
		log_event(EVENT_QUEUE_ERROR, log_id(message->control->envelope->id),
			  log_string("operation", "due"), log_error(error));
}

static void wait_until_due(struct manager *manager, struct message *message)
{
	struct trigger *trigger = common_trigger(manager, message);
	struct waiters *hold = operator_hold_of(manager, message->control->envelope->id);
	int64_t notice_us = notice_delay_due_us(manager, message);
	int64_t latest_us = message->born_us + manager->config->queuelifetime_us;
	int64_t due_us = next_due(manager, message);

	if (notice_us < due_us)
		due_us = notice_us;
	if (notice_us < latest_us)
		latest_us = notice_us;
	note_due(manager, message, hold != NULL || trigger != NULL ? os_clock_wall_us() : due_us);
	if (hold != NULL)
		message_sleep_with(manager, message, hold, INT64_MAX);
	else if (trigger != NULL)
		message_sleep_with(manager, message, trigger_waiters(trigger), latest_us);
	else
		message_sleep(manager, message, due_us);
}

/* Nothing of it is in flight, and everything is on disk. */
static void conclude(struct manager *manager, struct message *message)
{
	if (queue_control_is_finished(message->control))
		failure_bounce(manager, message);
	else if (!manager->is_stopping &&
		 notice_delay_due_us(manager, message) <= os_clock_wall_us())
		failure_report_delay(manager, message);
	else
		wait_until_due(manager, message);
}

/* Delivered whole at last: instead of being recorded it ends. A power failure before
 * that is durable delivers it again, as one before a record would have been. */
static bool is_over(const struct message *message)
{
	return !message->is_queued && is_all_delivered(message);
}

/* Syncs are what new mail waits for: others share one then. */
static void record_soon(struct manager *manager, struct message *message)
{
	if (message->is_retry && !manager->is_stopping && !wake_has_spare_time(manager))
		record_later(manager, message);
	else
		record_write(manager, message);
}

static void park(struct manager *manager, struct message *message, struct destination *crowded)
{
	bool is_retry = message->control->deliveries[0].attempts > 0;

	manager->wake.has_parked |= is_retry;
	message_sleep_with(manager, message, is_retry ? &crowded->parked_retries : &crowded->parked,
			   INT64_MAX);
}

void message_continue(struct manager *manager, struct message *message)
{
	struct destination *crowded = NULL;

	if (message->state != MESSAGE_BUSY)
		return;
	if (message->jobs == 0 && message->order != MESSAGE_ORDER_NONE)
		operator_carry_out(message);
	if (message->jobs == 0 && !manager->is_stopping &&
	    operator_hold_of(manager, message->control->envelope->id) == NULL) {
		if (stage_add_jobs(manager, message, &crowded) > 0) {
			os_loop_defer(manager->loop, &manager->dispatch_task);
			return;
		}
		if (crowded != NULL) {
			park(manager, message, crowded);
			return;
		}
	}
	if (message->jobs > 0) {
		if (message_has_unrecorded(message))
			record_later(manager, message);
		return;
	}
	if (message->is_queued && !message->has_names && is_all_delivered(message))
		removal_ask(manager, message, QUEUE_REMOVE_QUEUED);
	else if (!message_has_unrecorded(message) || is_over(message))
		conclude(manager, message);
	else
		record_soon(manager, message);
}
