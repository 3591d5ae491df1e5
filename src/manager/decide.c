// SPDX-License-Identifier: ISC
/* Decides what a message needs next. */
#include "log/event.h"
#include "manager/internal.h"
#include "manager/link/remap.h"
#include "manager/notice.h"
#include "manager/outcome.h"
#include "manager/package.h"
#include "os/clock.h"

static const int64_t TRY_AGAIN_US = MINUTE_US;
static const int64_t MAP_AGAIN_US = SECOND_US;
static const int64_t RECORD_AGAIN_US = 10 * SECOND_US;
static const int64_t RECORD_AGAIN_MAX_US = 10 * MINUTE_US;

/* --- its end --- */

static enum message_state remove_all(struct manager *manager, struct message *message,
				     enum queue_remove kind)
{
	struct trigger *hold = hold_find_any(manager, message->id);

	log_event(EVENT_MESSAGE_DONE, log_id(message->id));
	if (hold != NULL)
		triggers_release(manager->triggers, hold);
	recorder_cancel(manager->recorder, &message->recording);
	if (handed_is_configured(
		    manager->handed)) /* another node may have some of it, and is told */
		kind |= QUEUE_REMOVE_DURABLY;
	queue_link_remove(manager->queue, kind, (enum mail_stage)message->facts.stage,
			  message->id.number);
	return MESSAGE_REMOVING;
}

/* What was delivered must be on disk before the message may be read again. */
enum message_state decide_again(struct manager *manager, struct message *message,
				const char *operation, int error)
{
	log_event(EVENT_QUEUE_ERROR, log_id(message->id), log_string(operation, operation),
		  log_error(error));
	if (message_has_news(message)) {
		recorder_soon(manager->recorder, &message->recording, recorder_delay_us());
		return MESSAGE_OWING;
	}
	message->facts.rest = MESSAGE_RESTS_UNRECORDED;
	return message_sleep(manager, message, NULL, os_clock_wall_us() + TRY_AGAIN_US);
}

/* S5 to S2; "queue" does the rest. */
enum message_state decide_end(struct manager *manager, struct message *message)
{
	const char *const *services;
	size_t count = transports_services(manager->transports, &services);
	int error = queue_update_bounced(manager->store, message->id.number);

	if (error < 0)
		return decide_again(manager, message, "remove bounce", error);
	if (message->facts.place != MESSAGE_AT_S5)
		return MESSAGE_ENDING;
	error = queue_update_finish(manager->store, message->id, services, count);
	if (error < 0)
		return decide_again(manager, message, "finish", error);
	return remove_all(manager, message, QUEUE_REMOVE_DATA);
}

/* --- the disk --- */

enum message_state decide_record(struct manager *manager, struct message *message)
{
	struct recorder_work work = message_work(message);
	int error = recorder_write(manager->recorder, message, &work);

	recorder_cancel(manager->recorder, &message->recording);
	if (error < 0) {
		log_event(EVENT_QUEUE_ERROR, log_id(message->id), log_string(operation, "record"),
			  log_error(error));
		return decide_record_failed(manager, message);
	}
	if (message->facts.place == MESSAGE_AT_S4)
		message->facts.place = MESSAGE_AT_S4_NAMED; /* also if this fails */
	return MESSAGE_RECORDING;
}

/* Written together with the news of others: syncs are what slows new mail down. */
static enum message_state record_soon(struct manager *manager, struct message *message)
{
	if (message->record_failures == 0 &&
	    (!message->is_retry || manager->is_stopping || wake_is_quiet(manager->wake)))
		return decide_record(manager, message);
	recorder_soon(manager->recorder, &message->recording, recorder_delay_us());
	return MESSAGE_OWING;
}

enum message_state decide_record_failed(struct manager *manager, struct message *message)
{
	const struct recorder_work work = message_work(message);
	int64_t delay_us = RECORD_AGAIN_US
			   << (message->record_failures < 6 ? message->record_failures : 6);

	message->record_failures++;
	if (message->jobs == 0 && !manager->is_stopping && recorder_only_waits(&work)) {
		int64_t again_us = os_clock_wall_us() + delay_us;
		int64_t notice_us = notice_delay_due_us(message->control, manager->config);
		int64_t due_us = await_due(manager, message);

		if (notice_us < due_us)
			due_us = notice_us;
		message->facts.rest = MESSAGE_RESTS_UNRECORDED;
		return message_sleep(manager, message, NULL, due_us > again_us ? due_us : again_us);
	}
	recorder_soon(manager->recorder, &message->recording,
		      delay_us < RECORD_AGAIN_MAX_US ? delay_us : RECORD_AGAIN_MAX_US);
	return message->jobs > 0 ? MESSAGE_DELIVERING : MESSAGE_OWING;
}

/* --- what next --- */

static enum message_state start_report_of_message(struct manager *manager, struct message *message,
						  enum report_kind kind)
{
	const struct report_subject subject = message_subject(message);
	int error = reporter_start(manager->reporter, message, &subject, kind, &message->report);

	return error < 0 ? decide_again(manager, message, "read message", error)
			 : MESSAGE_REPORTING;
}

/* Nothing of it is in flight, and everything is on disk. */
static enum message_state conclude_message(struct manager *manager, struct message *message)
{
	const struct report_subject subject = message_subject(message);

	if (queue_control_is_finished(message->control))
		return !message->facts.is_reported && reporter_has_end(manager->reporter, &subject)
			       ? start_report_of_message(manager, message, REPORT_OF_END)
			       : decide_end(manager, message);
	message->reported_us = os_clock_wall_us();
	if (!manager->is_stopping &&
	    notice_delay_due_us(message->control, manager->config) <= message->reported_us)
		return start_report_of_message(manager, message, REPORT_OF_DELAY);
	return await(manager, message);
}

/* And no report is due. */
static bool is_all_delivered(const struct message *message)
{
	for (size_t i = 0; i < message->control->delivery_count; i++)
		if (message->control->deliveries[i].outcome != QUEUE_DONE)
			return false;
	return !notice_has_any_at_end(message->control);
}

static void give_up_open_deliveries(struct message *message)
{
	for (size_t i = 0; i < message->control->delivery_count; i++) {
		struct queue_delivery *delivery = &message->control->deliveries[i];

		if (!outcome_is_open(delivery))
			continue;
		outcome_give_up(delivery, message->facts.order == MESSAGE_ORDER_BOUNCE,
				os_clock_wall_us());
		message->news[i] |= RECORDER_OUTCOME;
		log_event(EVENT_OPERATOR, log_id(message->id), log_str(to, delivery->address),
			  log_str(text, delivery->text));
	}
	message->facts.order = MESSAGE_ORDER_NONE;
}

/* An order is confirmed only when it is durable: the recipients are mapped again when that is on
 * the disk. */
static void requeue_open_deliveries(struct message *message)
{
	log_event(EVENT_REQUEUED, log_id(message->id));
	for (size_t i = 0; i < message->control->delivery_count; i++) {
		struct queue_delivery *delivery = &message->control->deliveries[i];

		if (!outcome_is_open(delivery) || delivery->is_requeued)
			continue;
		delivery->is_requeued = true;
		message->news[i] |= RECORDER_REQUEUE;
	}
	message->facts.order = MESSAGE_ORDER_NONE;
}

/* From now on what the disk has made of its data is the message. That is durable, with the next
 * record, before it is tried. */
static void accept_data(struct manager *manager, struct message *message)
{
	int error = message_accept_data(manager, message);

	message->facts.order = MESSAGE_ORDER_NONE;
	if (error < 0)
		log_event(EVENT_QUEUE_ERROR, log_id(message->id),
			  log_string(operation, "read data"), log_error(error));
}

static void carry_out_order(struct manager *manager, struct message *message)
{
	if (message->facts.order == MESSAGE_ORDER_REQUEUE)
		requeue_open_deliveries(message);
	else if (message->facts.order == MESSAGE_ORDER_ACCEPT)
		accept_data(manager, message);
	else if (message->facts.order != MESSAGE_ORDER_NONE)
		give_up_open_deliveries(message);
}

static bool is_delay_to_report(const struct manager *manager, const struct message *message)
{
	return notice_delay_due_us(message->control, manager->config) <= os_clock_wall_us();
}

/* It has waited for its turn until then. */
static bool must_report_delay(const struct manager *manager, struct message *message)
{
	message->is_delay_due = message->is_delay_due && is_delay_to_report(manager, message);
	return message->is_delay_due;
}

/* Maps the recipients in ENVELOPE. If there are many such messages they wait until there is
 * room, like new ones. */
static enum message_state map_anew(struct manager *manager, struct message *message,
				   struct mail_envelope *envelope)
{
	if (message_has_news(message))
		return record_soon(manager, message);
	if (must_report_delay(manager, message))
		return conclude_message(manager, message);
	if (!share_may_map(&manager->share, false)) {
		message->facts.rest = MESSAGE_RESTS_FOR_ROOM;
		return await_with(manager, message, NULL, os_clock_wall_us() + MAP_AGAIN_US);
	}
	message_weigh(manager, message, message->units, true);
	resolver_ask(manager->resolver, message, message->id.number, envelope);
	return MESSAGE_MAPPING;
}

/* When everything is delivered, the message ends without a record: a power failure before the
 * end is durable causes a second delivery, as one before a record would. But not if its end has to
 * wait for "queue" to remove it from todo/. */
static enum message_state settle_message(struct manager *manager, struct message *message)
{
	bool is_over = is_all_delivered(message);

	if (is_over && message->facts.place == MESSAGE_AT_S4)
		return remove_all(manager, message, QUEUE_REMOVE_QUEUED);
	if (is_over && message->facts.place == MESSAGE_AT_S5)
		return conclude_message(manager, message);
	return message_has_news(message) ? record_soon(manager, message)
					 : conclude_message(manager, message);
}

/* When one that is crowded out is looked at although there is no room yet. */
static int64_t crowded_due(const struct manager *manager, const struct message *message)
{
	int64_t notice_us = notice_delay_due_us(message->control, manager->config);

	return notice_us < await_return_due(message) ? notice_us : await_return_due(message);
}

/* What an event or an order has made due before its time is so on the disk, too, before the message
 * sleeps until there is a place: when it wakes, what was tried meanwhile is not due. */
static void record_release(struct message *message)
{
	for (size_t i = 0; message->was_released && i < message->control->delivery_count; i++) {
		const struct queue_delivery *delivery = &message->control->deliveries[i];

		if (delivery->outcome == QUEUE_WAIT && delivery->until_us <= os_clock_wall_us())
			message->news[i] |= RECORDER_OUTCOME;
	}
	message->was_released = false;
}

/* Another node holds it, too, if it gets it. */
static bool is_kept_by_hold(struct manager *manager, const struct message *message)
{
	return !handed_is_draining(manager->handed) &&
	       hold_find(manager, message->id) != NULL;
}

enum message_state decide(struct manager *manager, struct message *message)
{
	struct waiters *crowded = NULL;
	struct mail_envelope *requeued;
	bool is_missed;

	carry_out_order(manager, message);
	package_take_back(manager, message);
	hold_end_if_over(manager, message->id);
	is_missed = outcome_is_missed(&message->control->envelope->deadline, os_clock_wall_us());
	requeued = manager->is_stopping || is_missed ? NULL : remap_envelope(message->control);
	if (requeued != NULL)
		return map_anew(manager, message, requeued);
	if (message_has_new_map(message) || /* do not try what is not on the disk */
	    package_must_be_recorded(manager, message))
		return record_soon(manager, message);
	if (manager->is_stopping || (!is_missed && is_kept_by_hold(manager, message)) ||
	    must_report_delay(manager, message))
		return settle_message(manager, message);
	if (message->is_requeued)
		deliver_probe(manager, message);
	if (deliver(manager, message, &crowded) > 0) {
		os_loop_defer(manager->loop, &manager->dispatch_task);
		if (message_has_news(message))
			recorder_soon(manager->recorder, &message->recording, recorder_delay_us());
		return MESSAGE_DELIVERING;
	}
	if (crowded != NULL)
		record_release(message);
	if (crowded == NULL || message_has_news(message) || is_delay_to_report(manager, message))
		return settle_message(manager, message);
	message->is_crowded_out = true;
	return message_sleep(manager, message, crowded, crowded_due(manager, message));
}
