// SPDX-License-Identifier: ISC
/* Which deliveries of a message must be tried now, and the jobs made of them. */
#include "ipc/job.h"
#include "log/event.h"
#include "mail/unicode.h"
#include "mail/verp.h"
#include "manager/internal.h"
#include "manager/outcome.h"
#include "manager/package.h"
#include "manager/wait/schedule.h"
#include "os/clock.h"
#include <stdio.h>
#include <string.h>
#include <utlist.h>

static const int64_t UNCONFIGURED_US = 10 * MINUTE_US;

/* --- what blocks it --- */

/* The event that the whole message waits for: named by its hold, or by its envelope. */
static struct trigger *event_awaited_by_message(struct manager *manager,
						const struct message *message)
{
	struct trigger *hold = hold_find_any(manager, message->id);
	struct trigger *event = NULL;

	if (hold != NULL)
		event = triggers_find(manager->triggers, triggers_until(manager->triggers, hold));
	return event != NULL
		       ? event
		       : triggers_find(manager->triggers, message->control->envelope->trigger);
}

static struct str domain_of_recipient(struct str address, struct mail_domain *name)
{
	mail_domain_form(str_skip(address, (size_t)(str_find_last(address, '@') + 1)), name);
	return mail_domain_view(name);
}

static struct transport *transport_of(struct manager *manager,
				      const struct queue_delivery *delivery)
{
	return transports_find(manager->transports, delivery->route == QUEUE_ROUTE_REMOTE
							    ? STR("remote")
							    : delivery->service);
}

/* The destination within the delivery's transport, copied to NAME if it is a domain: "" for a
 * service's own server, and for the nodes of a group. */
static struct str destination_of(const struct manager *manager,
				 const struct queue_delivery *delivery, struct mail_domain *name)
{
	if (*package_group_of_delivery(manager, delivery) != '\0')
		return STR("");
	if (delivery->route == QUEUE_ROUTE_REMOTE)
		return domain_of_recipient(delivery->address, name);
	return delivery->server.length > 0 ? delivery->server : STR("");
}

static struct trigger *obstacle_of(struct manager *manager, const struct queue_delivery *delivery)
{
	struct transport *transport = transport_of(manager, delivery);
	struct mail_domain name;

	if (transport == NULL)
		return NULL;
	return (struct trigger *)(uintptr_t)transport_obstacle(
		transport, destination_of(manager, delivery, &name));
}

void deliver_note_wait(const struct queue_delivery *delivery, struct trigger *trigger)
{
	struct mail_domain name;

	if (delivery->route == QUEUE_ROUTE_REMOTE)
		trigger_note_domain(trigger, domain_of_recipient(delivery->address, &name));
}

/* What another node is to deliver does not wait for what this one could not reach. */
static bool is_awaited_trigger(const struct manager *manager, const struct queue_delivery *delivery)
{
	enum queue_trigger_kind kind;

	if (*package_group_of_delivery(manager, delivery) == '\0')
		return true;
	kind = queue_trigger_kind(delivery->trigger);
	return kind == QUEUE_TRIGGER_NODES || kind == QUEUE_TRIGGER_NODE;
}

struct trigger *deliver_blocked_by(struct manager *manager, const struct message *message,
				   const struct queue_delivery *delivery)
{
	struct trigger *trigger = event_awaited_by_message(manager, message);

	if (trigger == NULL && delivery->outcome == QUEUE_WAIT && delivery->trigger.length > 0 &&
	    is_awaited_trigger(manager, delivery))
		trigger = triggers_find(manager->triggers, delivery->trigger);
	if (trigger == NULL)
		trigger = obstacle_of(manager, delivery);
	return trigger != NULL && !trigger_is_probe(trigger, message) ? trigger : NULL;
}

bool deliver_paused_by(struct manager *manager, const struct message *message,
		       struct transport_pause *pause_out)
{
	const struct queue_control *control = message->control;

	for (size_t i = 0; control != NULL && i < control->delivery_count; i++) {
		const struct queue_delivery *delivery = &control->deliveries[i];
		const struct transport *transport = transport_of(manager, delivery);
		struct mail_domain name;

		if (transport != NULL && outcome_is_open(delivery) &&
		    transport_pause_of(transport, destination_of(manager, delivery, &name),
				       os_clock_monotonic_us(), pause_out))
			return true;
	}
	return false;
}

void deliver_probe(struct manager *manager, struct message *message)
{
	struct trigger *obstacle = NULL;

	message->is_requeued = false;
	for (size_t i = 0; obstacle == NULL && i < message->control->delivery_count; i++) {
		if (outcome_is_open(&message->control->deliveries[i]))
			obstacle = obstacle_of(manager, &message->control->deliveries[i]);
		if (obstacle != NULL && trigger_is_of_class(obstacle))
			obstacle = NULL; /* for a place it waits like others */
	}
	if (obstacle != NULL)
		trigger_probe(manager->triggers, obstacle, message);
}

/* Whether it is too old to wait any longer. */
static bool is_too_old_to_wait(const struct manager *manager, const struct message *message,
			       int64_t now_us)
{
	return now_us - mail_envelope_start_us(message->control->envelope) >=
	       manager->config->queuelifetime_us;
}

static void expire_delivery(struct message *message, uint32_t index, int64_t now_us)
{
	struct queue_delivery *delivery = &message->control->deliveries[index];
	const struct mail_envelope *envelope = message->control->envelope;

	if (outcome_is_missed(&envelope->deadline, now_us))
		outcome_miss(envelope->arena, delivery, &envelope->deadline, now_us);
	else
		outcome_expire(envelope->arena, delivery, now_us);
	outcome_log(message->control->envelope, delivery, NULL);
	message->news[index] |= RECORDER_OUTCOME;
}

/* Whether another node is to have it, and not only try it: that may be done at any time. */
static bool is_leaving(const struct manager *manager, const struct queue_delivery *delivery)
{
	return handed_is_draining(manager->handed) &&
	       *package_group_of_delivery(manager, delivery) != '\0';
}

/* Whether the delivery must be tried now. */
static bool is_delivery_due(struct manager *manager, struct message *message, uint32_t index,
			    int64_t now_us)
{
	const struct queue_delivery *delivery = &message->control->deliveries[index];
	const struct mail_envelope *envelope = message->control->envelope;
	bool leaves = is_leaving(manager, delivery);

	if (!outcome_is_open(delivery))
		return false;
	if (outcome_is_missed(&envelope->deadline, now_us)) {
		expire_delivery(message, index, now_us);
		return false;
	}
	if (!leaves && (outcome_is_postponed(delivery, envelope->release_us, now_us) ||
			(handed_is_draining(manager->handed) && /* else decide() has looked */
			 hold_find(manager, message->id) != NULL)))
		return false;
	if (deliver_blocked_by(manager, message, delivery) != NULL) {
		if (is_too_old_to_wait(manager, message, now_us))
			expire_delivery(message, index, now_us);
		return false;
	}
	return leaves || delivery->outcome == QUEUE_PENDING ||
	       schedule_until(delivery->changed_us, delivery->until_us, now_us) <= now_us;
}

/* --- jobs --- */

struct str deliver_via(const struct mail_recipient *recipient,
		       const struct queue_delivery *delivery)
{
	if (mail_unicode_is_address(recipient->address, delivery->address))
		return STR("");
	return recipient->address;
}

static size_t packed_size(const struct manager *manager, const struct mail_recipient *recipient,
			  const struct queue_delivery *delivery)
{
	size_t original =
		recipient->original.length <= MAIL_ORCPT_MAX ? recipient->original.length : 0;

	if (*package_group_of_delivery(manager, delivery) != '\0')
		return package_size_of(recipient, delivery);
	return IPC_JOB_RECIPIENT_OVERHEAD + delivery->address.length + original +
	       deliver_via(recipient, delivery).length;
}

/* With a sender for each recipient there is a job for each delivery. What an address leads to
 * another host goes on with that address, which is nobody else's business: only its own deliveries
 * may be in the job. */
static uint32_t apart_of(const struct manager *manager, const struct mail_envelope *envelope,
			 const struct mail_recipient *recipient,
			 const struct queue_delivery *delivery)
{
	if (*package_group_of_delivery(manager, delivery) != '\0')
		return 0; /* the node that delivers it keeps them apart */
	if (mail_verp_is(envelope->sender))
		return delivery->number;
	if (delivery->route == QUEUE_ROUTE_REMOTE && deliver_via(recipient, delivery).length > 0)
		return recipient->number;
	return 0;
}

/* Its destination, if a domain, is in NAME. LOOK_US: message_look_us(). */
static struct transport_delivery transport_delivery_of(const struct manager *manager,
						       struct message *message, uint32_t index,
						       int64_t look_us, struct mail_domain *name)
{
	const struct mail_envelope *envelope = message->control->envelope;
	const struct queue_delivery *delivery = &message->control->deliveries[index];
	const struct mail_recipient *recipient = mail_envelope_find(envelope, delivery->recipient);

	return (struct transport_delivery){
		.message = message,
		.index = index,
		.destination = destination_of(manager, delivery, name),
		.sender = envelope->sender,
		.size = packed_size(manager, recipient, delivery),
		.is_retry = delivery->attempts > 0,
		.urgency = envelope->priority > 0   ? URGENCY_HIGH
			   : envelope->priority < 0 ? URGENCY_LOW
						    : URGENCY_ORDINARY,
		.apart = apart_of(manager, envelope, recipient, delivery),
		.look_us = look_us,
	};
}

/* Whether it waits for its turn now; otherwise *WAITERS_OUT is set. */
static bool add_to_job(const struct manager *manager, struct transport *transport,
		       struct message *message, uint32_t index, int64_t look_us,
		       struct waiters **waiters_out)
{
	struct mail_domain name;
	const struct transport_delivery subject =
		transport_delivery_of(manager, message, index, look_us, &name);
	struct job *job;
	int result = transport_add(transport, &subject, &job, waiters_out);

	if (result > 0) {
		message->jobs++;
		DL_APPEND2(message->job_list, job, of_message_previous, of_message_next);
	}
	return result >= 0;
}

/* A service that is no longer configured: deferred, because it may be configured again. But not
 * for ever: the age of a delivery that is never tried is checked only here. */
static void defer_unconfigured(const struct manager *manager, struct message *message,
			       uint32_t index, int64_t now_us)
{
	outcome_defer(&message->control->deliveries[index], now_us, now_us + UNCONFIGURED_US,
		      "4.3.5", "the service is not configured");
	message->news[index] |= RECORDER_OUTCOME;
	if (is_too_old_to_wait(manager, message, now_us))
		expire_delivery(message, index, now_us);
}

void deliver_make_due(struct manager *manager, struct message *message, int64_t now_us)
{
	const struct trigger *turn = triggers_turn_of(manager->triggers, message);
	int64_t release_us = message->control->envelope->release_us;

	for (size_t i = 0; i < message->control->delivery_count; i++) {
		struct queue_delivery *delivery = &message->control->deliveries[i];

		if (turn != NULL && !str_equal(delivery->trigger, trigger_name(turn)))
			continue;
		if (delivery->outcome == QUEUE_WAIT && delivery->until_us > now_us &&
		    !outcome_is_postponed(delivery, release_us, now_us))
			delivery->until_us = now_us;
	}
	message->facts.is_released = false;
	message->was_released = true;
}

/* --- before its release --- */

/* An operator releases it: that is news, so that it is not postponed again if it must wait for
 * room, or after a crash. */
static void hurry_delivery(struct message *message, struct queue_delivery *delivery, int64_t now_us)
{
	outcome_defer(delivery, now_us, now_us, "", "released by the operator");
	log_event(EVENT_HURRIED, log_id(message->id), log_number(delivery, delivery->number),
		  log_str(to, delivery->address));
}

/* The message is not to be delivered yet: what has not been tried waits. */
static void postpone_deliveries(struct message *message, int64_t now_us)
{
	struct queue_control *control = message->control;
	struct mail_envelope *envelope = control->envelope;

	for (size_t i = 0; i < control->delivery_count; i++) {
		struct queue_delivery *delivery = &control->deliveries[i];
		bool waits = outcome_is_postponed(delivery, envelope->release_us, now_us);

		if (delivery->outcome != QUEUE_PENDING && !(waits && message->facts.is_hurried))
			continue;
		if (message->facts.is_hurried)
			hurry_delivery(message, delivery, now_us);
		else
			outcome_postpone(envelope->arena, message->id, delivery, now_us,
					 envelope->release_us);
		message->news[i] |= RECORDER_OUTCOME;
	}
}

/* Whether it is due so soon that it is tried together with another of its message: this undoes
 * the spread of schedule_next(). */
static bool is_nearly_due(struct manager *manager, const struct message *message, uint32_t index,
			  int64_t now_us)
{
	const struct queue_delivery *delivery = &message->control->deliveries[index];

	return delivery->outcome == QUEUE_WAIT && delivery->attempts > 0 &&
	       !outcome_is_postponed(delivery, message->control->envelope->release_us, now_us) &&
	       schedule_may_join(delivery->changed_us, delivery->until_us, now_us) &&
	       deliver_blocked_by(manager, message, delivery) == NULL;
}

/* Recipients of a message that wait for the same host are tried together: a job of the message
 * that waits for its turn there takes in those that are due soon. */
static void add_company(struct manager *manager, struct message *message, int64_t now_us,
			int64_t look_us)
{
	for (uint32_t i = 0; i < message->control->delivery_count; i++) {
		struct transport *transport;
		struct transport_delivery subject;
		struct mail_domain name;

		if (!is_nearly_due(manager, message, i, now_us))
			continue;
		transport = transport_of(manager, &message->control->deliveries[i]);
		subject = transport_delivery_of(manager, message, i, look_us, &name);
		if (transport == NULL || subject.destination.length == 0)
			continue;
		transport_join(transport, &subject);
	}
}

/* An operator wants all of it tried: it probes each host, service and group of nodes that one of
 * its deliveries waits for. For a place in a class of hosts it waits like others. */
static void probe_all_obstacles(struct manager *manager, struct message *message)
{
	for (size_t i = 0; i < message->control->delivery_count; i++) {
		const struct queue_delivery *delivery = &message->control->deliveries[i];
		struct trigger *trigger = outcome_is_open(delivery)
						  ? deliver_blocked_by(manager, message, delivery)
						  : NULL;

		enum queue_trigger_kind kind = trigger != NULL
						       ? queue_trigger_kind(trigger_name(trigger))
						       : QUEUE_TRIGGER_OTHER;

		if (kind == QUEUE_TRIGGER_HOST || kind == QUEUE_TRIGGER_SERVICE ||
		    kind == QUEUE_TRIGGER_NODES)
			trigger_probe(manager->triggers, trigger, message);
	}
}

size_t deliver(struct manager *manager, struct message *message, struct waiters **crowded_out)
{
	int64_t now_us = os_clock_wall_us();
	int64_t look_us = message_look_us(manager, message, now_us); /* looks at all of them */
	size_t added = 0;

	*crowded_out = NULL;
	if (message->control->envelope->release_us > now_us &&
	    !outcome_is_missed(&message->control->envelope->deadline, now_us))
		postpone_deliveries(message, now_us);
	if (message->facts.is_hurried)
		probe_all_obstacles(manager, message);
	message->facts.is_hurried = false;
	if (message->facts.is_released)
		deliver_make_due(manager, message, now_us);
	for (uint32_t i = 0; i < message->control->delivery_count; i++) {
		struct transport *transport;
		struct waiters *waiters;

		if (!is_delivery_due(manager, message, i, now_us))
			continue;
		transport = transport_of(manager, &message->control->deliveries[i]);
		if (transport == NULL)
			defer_unconfigured(manager, message, i, now_us);
		else if (add_to_job(manager, transport, message, i, look_us, &waiters))
			added++;
		else if (*crowded_out == NULL)
			*crowded_out = waiters;
	}
	if (added > 0)
		add_company(manager, message, now_us, look_us);
	return added;
}
