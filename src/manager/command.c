// SPDX-License-Identifier: ISC
/* What operators and programs ask for. */
#include "manager/internal.h"
#include "queue/trigger.h"

/* A message that is not done: awake, or else asleep. */
struct subject {
	struct mail_id id;
	struct message *message;
	struct sleeper *sleeper;
};

/* Of one that sleeps the birth is in its control file alone. */
static bool learn_birth(struct manager *manager, struct subject *subject)
{
	const struct message_facts facts = subject->sleeper->facts;
	enum mail_stage stage = (enum mail_stage)facts.stage;
	struct queue_control *control;

	if (queue_update_load(manager->store, message_facts_are_s4(facts) ? &stage : NULL,
			      subject->id.number, &control, NULL) < 0)
		return false;
	subject->id.born_us = control->envelope->id.born_us;
	queue_control_free(control);
	return true;
}

static bool find_subject(struct manager *manager, struct mail_id id, struct subject *subject)
{
	*subject = (struct subject){.id.number = id.number};
	subject->message = message_find(manager, id.number);
	if (subject->message != NULL)
		subject->id.born_us = subject->message->id.born_us;
	else
		subject->sleeper = scan_find(manager->scan, id.number);
	if (subject->sleeper != NULL && !learn_birth(manager, subject))
		return false;
	return (subject->message != NULL || subject->sleeper != NULL) &&
	       (id.born_us == 0 || id.born_us == subject->id.born_us);
}

/* UNTIL: the trigger with whose release it ends, which is set for that; or empty. */
static const char *hold(struct manager *manager, const struct subject *subject, struct str until)
{
	char id[MAIL_ID_SIZE];
	struct buffer name CLEANUP(buffer_clear) = {0};

	if (until.length > 0 &&
	    (!queue_trigger_name_is_valid(until) || queue_trigger_name_is_ours(until)))
		return "that is no name of a trigger to wait for";
	if (deliver_any_hold_of(manager, subject->id) != NULL)
		return until.length > 0 ? "it is held" : NULL;
	if (until.length > 0 &&
	    triggers_set(manager->triggers, until, STR("messages are held until it")) == NULL)
		return "the trigger cannot be set";
	mail_id_format(subject->id, id);
	buffer_append_format(&name, "hold.%s", id);
	return triggers_set_until(manager->triggers, buffer_view(&name),
				  STR("held by the operator"), until) != NULL
		       ? NULL
		       : "the hold cannot be recorded";
}

static const char *release(struct manager *manager, const struct subject *subject)
{
	struct trigger *trigger = deliver_any_hold_of(manager, subject->id);

	if (trigger == NULL)
		return "it is not held";
	triggers_release(manager->triggers, trigger);
	return NULL;
}

static const char *retry(struct manager *manager, const struct subject *subject)
{
	struct trigger *probe;

	if (deliver_hold_of(manager, subject->id) != NULL)
		return "it is held";
	if (subject->message != NULL) {
		subject->message->facts.is_released = true;
		return NULL;
	}
	probe = triggers_of_waiters(manager->triggers, subject->sleeper->waiters);
	subject->sleeper->facts.is_released = true;
	life_wake(manager, subject->sleeper, false, probe);
	return NULL;
}

/* Whether a message that was woken for an order sleeps on with it, because it cannot be read: then
 * the order would be known to this process alone. */
static bool take_order_back(struct manager *manager, uint64_t number)
{
	struct sleeper *sleeper = sleepers_find(&manager->sleepers, number);

	if (sleeper == NULL || sleeper->facts.order == MESSAGE_ORDER_NONE)
		return false;
	sleeper->facts.order = MESSAGE_ORDER_NONE;
	return true;
}

/* What is not done is given up, or its addresses are looked up anew, when the message has its
 * deliveries in memory and none is in flight. That is news on its way to the disk when this
 * returns; where the disk does not take news, nobody is told that it was accepted. */
static const char *intervene(struct manager *manager, const struct subject *subject,
			     enum message_order order)
{
	if (subject->message == NULL) {
		subject->sleeper->facts.order = order & 3U;
		life_wake(manager, subject->sleeper, false, NULL);
		return take_order_back(manager, subject->id.number) ? "it cannot be read; ask again"
								    : NULL;
	}
	if (subject->message->state == MESSAGE_OWING && subject->message->record_failures > 0)
		return "the disk does not take what became of it; ask again";
	if (subject->message->state == MESSAGE_OWING) { /* carried out when the disk has it */
		subject->message->facts.order = order & 3U;
		return NULL;
	}
	if (subject->message->jobs > 0)
		return "a delivery is under way; ask again";
	return "it is being worked on; ask again";
}

/* Of one that is awake nothing is told: it does not wait, or does so for its turn. */
static const char *why(const struct manager *manager, const struct subject *subject,
		       struct buffer *told)
{
	struct trigger *trigger = NULL;

	if (subject->sleeper != NULL)
		trigger = triggers_of_waiters(manager->triggers, subject->sleeper->waiters);
	if (trigger != NULL)
		buffer_append_str(told, trigger_name(trigger));
	return NULL;
}

static const char *on_message(struct manager *manager, const struct order *order,
			      struct buffer *told)
{
	struct subject subject;

	if (!find_subject(manager, order->id, &subject))
		return "no such message";
	switch (order->kind) {
	case ORDER_RETRY:
		return retry(manager, &subject);
	case ORDER_HOLD:
		return hold(manager, &subject, order->name);
	case ORDER_RELEASE:
		return release(manager, &subject);
	case ORDER_BOUNCE:
		return intervene(manager, &subject, MESSAGE_ORDER_BOUNCE);
	case ORDER_REMOVE:
		return intervene(manager, &subject, MESSAGE_ORDER_REMOVE);
	case ORDER_REQUEUE:
		return intervene(manager, &subject, MESSAGE_ORDER_REQUEUE);
	case ORDER_WHY:
		return why(manager, &subject, told);
	default:
		return "unknown command";
	}
}

static const char *on_trigger(struct manager *manager, struct str name)
{
	struct trigger *trigger = triggers_find(manager->triggers, name);

	if (trigger == NULL)
		return "nothing waits for that";
	triggers_release(manager->triggers, trigger);
	return NULL;
}

static const char *on_wait(struct manager *manager, const struct order *order)
{
	if (!queue_trigger_name_is_valid(order->name))
		return "that is no name of a trigger";
	return triggers_set(manager->triggers, order->name, order->reason) != NULL
		       ? NULL
		       : "the trigger cannot be set";
}

const char *command_carry_out(void *context, const struct order *order, struct buffer *told)
{
	struct manager *manager = context;

	if (!queue_link_is_up(manager->queue))
		return "the queue is not there yet";
	switch (order->kind) {
	case ORDER_QUEUED:
		os_loop_defer(manager->loop, &manager->scan_task);
		return NULL;
	case ORDER_TRIGGER:
		return on_trigger(manager, order->name);
	case ORDER_WAIT:
		return on_wait(manager, order);
	default:
		return on_message(manager, order, told);
	}
}
