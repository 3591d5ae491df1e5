// SPDX-License-Identifier: ISC
/* A message that can do nothing now: what it waits for, and when it is looked at again. */
#include "log/event.h"
#include "manager/internal.h"
#include "manager/notice.h"
#include "manager/outcome.h"
#include "manager/wait/schedule.h"
#include "os/clock.h"

static const int64_t BLOCKED_DELAY_US = 5 * MINUTE_US;

/* When one that is postponed is looked at again: no file's time may be further ahead than a wait
 * after an attempt (wait/scan/scan.c). */
static int64_t time_of_next_look(const struct manager *manager, int64_t release_us, int64_t now_us)
{
	int64_t latest_us = now_us + schedule_longest_us(manager->config->queuelifetime_us);

	return release_us < latest_us ? release_us : latest_us;
}

int64_t await_return_due(const struct message *message)
{
	const struct mail_deadline *deadline = &message->control->envelope->deadline;

	return deadline->mode == MAIL_DEADLINE_RETURN ? deadline->at_us : INT64_MAX;
}

int64_t await_due(struct manager *manager, const struct message *message)
{
	const struct mail_envelope *envelope = message->control->envelope;
	const int64_t release_us = envelope->release_us;
	const int64_t now_us = os_clock_wall_us();
	int64_t due_us = INT64_MAX;

	for (size_t i = 0; i < message->control->delivery_count; i++) {
		const struct queue_delivery *delivery = &message->control->deliveries[i];
		int64_t until_us =
			delivery->outcome == QUEUE_WAIT
				? schedule_until(delivery->changed_us, delivery->until_us, now_us)
				: 0;

		if (!outcome_is_open(delivery))
			continue;
		if (outcome_is_postponed(delivery, release_us, now_us))
			until_us = time_of_next_look(manager, release_us, now_us);
		else if (until_us < now_us + BLOCKED_DELAY_US &&
			 deliver_blocked_by(manager, message, delivery) != NULL)
			until_us = now_us + BLOCKED_DELAY_US;
		if (until_us < due_us)
			due_us = until_us;
	}
	return await_return_due(message) < due_us ? await_return_due(message) : due_us;
}

/* The trigger that one of its waiting deliveries waits for, of a class of hosts; or NULL. */
static struct trigger *class_trigger(struct manager *manager, const struct message *message)
{
	for (size_t i = 0; i < message->control->delivery_count; i++) {
		const struct queue_delivery *delivery = &message->control->deliveries[i];
		struct trigger *trigger = NULL;

		if (outcome_is_open(delivery))
			trigger = deliver_blocked_by(manager, message, delivery);
		if (trigger != NULL && trigger_is_of_class(trigger))
			return trigger;
	}
	return NULL;
}

/* Whether it was told to come later, and its host or service has got that trigger since: then the
 * release of that makes it no earlier. */
static bool waits_for_time(const struct queue_delivery *delivery, const struct trigger *trigger,
			   int64_t now_us)
{
	enum queue_trigger_kind kind = queue_trigger_kind(trigger_name(trigger));

	return (kind == QUEUE_TRIGGER_HOST || kind == QUEUE_TRIGGER_SERVICE) &&
	       delivery->outcome == QUEUE_WAIT &&
	       !str_equal(delivery->trigger, trigger_name(trigger)) &&
	       schedule_until(delivery->changed_us, delivery->until_us, now_us) > now_us;
}

/* The trigger that all of its waiting deliveries wait for, or NULL. What is postponed waits for
 * none: it could not be a probe. */
static struct trigger *common_trigger(struct manager *manager, const struct message *message)
{
	int64_t release_us = message->control->envelope->release_us;
	int64_t now_us = os_clock_wall_us();
	struct trigger *common = NULL;

	for (size_t i = 0; i < message->control->delivery_count; i++) {
		const struct queue_delivery *delivery = &message->control->deliveries[i];
		struct trigger *trigger;

		if (!outcome_is_open(delivery))
			continue;
		if (outcome_is_postponed(delivery, release_us, now_us))
			return NULL;
		trigger = deliver_blocked_by(manager, message, delivery);
		if (trigger == NULL || (common != NULL && common != trigger) ||
		    waits_for_time(delivery, trigger, now_us))
			return NULL;
		common = trigger;
	}
	return common;
}

/* The control file's modification time tells a later process when to look at the message: at
 * once if it waits for an event, which is recorded nowhere else. */
static void note_due(struct manager *manager, const struct message *message, int64_t due_us)
{
	int error;

	if (message_facts_are_s4(message->facts))
		return;
	error = queue_update_set_due(manager->store, message->id.number, due_us);
	if (error < 0)
		log_event(EVENT_QUEUE_ERROR, log_id(message->id), log_string(operation, "due"),
			  log_error(error));
}

enum message_state await_with(struct manager *manager, struct message *message,
			      struct waiters *waiters, int64_t due_us)
{
	note_due(manager, message, waiters != NULL ? os_clock_wall_us() : due_us);
	return message_sleep(manager, message, waiters, due_us);
}

/* Who had its turn, and found that others were faster, has the next one. */
static enum message_state await_trigger(struct manager *manager, struct message *message,
					struct trigger *trigger, int64_t due_us)
{
	uint64_t number = message->id.number;
	bool is_first = message->lost_turn && trigger_is_of_class(trigger);
	enum message_state state;
	struct sleeper *sleeper;

	for (size_t i = 0; i < message->control->delivery_count; i++)
		if (outcome_is_open(&message->control->deliveries[i]))
			deliver_note_wait(&message->control->deliveries[i], trigger);
	state = await_with(manager, message, trigger_waiters(trigger), due_us);
	sleeper = is_first ? sleepers_find(&manager->sleepers, number) : NULL;
	if (sleeper != NULL && sleeper->waiters == trigger_waiters(trigger))
		sleepers_go_first(&manager->sleepers, sleeper);
	return state;
}

/* A hold lasts until it is released. But one whose file could not be read may be one that ends with
 * another trigger, whose release would not wake this message. */
static int64_t hold_due(const struct message *message, const struct trigger *hold)
{
	int64_t return_us = await_return_due(message);
	int64_t again_us = os_clock_wall_us() + BLOCKED_DELAY_US;

	return trigger_knows_until(hold) || return_us < again_us ? return_us : again_us;
}

/* Held mail waits only to be released, but on a node that is drained: for other nodes, too. */
static bool awaits_nodes(const struct trigger *trigger)
{
	enum queue_trigger_kind kind =
		trigger != NULL ? queue_trigger_kind(trigger_name(trigger)) : QUEUE_TRIGGER_OTHER;

	return kind == QUEUE_TRIGGER_NODES || kind == QUEUE_TRIGGER_NODE;
}

enum message_state await(struct manager *manager, struct message *message)
{
	struct trigger *trigger = common_trigger(manager, message);
	struct trigger *hold = hold_find(manager, message->id);
	int64_t notice_us = notice_delay_due_us(message->control, manager->config);
	int64_t latest_us = message_latest_us(manager, message);
	int64_t due_us = await_due(manager, message);

	message->facts.is_partial = false;
	if (notice_us < due_us)
		due_us = notice_us;
	if (notice_us < latest_us)
		latest_us = notice_us;
	if (hold != NULL && !awaits_nodes(trigger))
		return await_with(manager, message, trigger_waiters(hold), hold_due(message, hold));
	if (trigger != NULL)
		return await_trigger(manager, message, trigger, latest_us);
	trigger = class_trigger(manager, message);
	message->facts.is_partial = trigger != NULL;
	if (trigger != NULL)
		return await_trigger(manager, message, trigger, due_us);
	return await_with(manager, message, NULL, due_us);
}
