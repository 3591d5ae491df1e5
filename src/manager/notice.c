// SPDX-License-Identifier: ISC
/*
 * Whom is told what: RFC 3461. A failure unless it was declined; a success where it
 * was asked for and the next host does not tell; a delay once for a message.
 */
#include "base/panic.h"
#include "bounce/report.h"
#include "mail/address.h"
#include "manager/internal.h"
#include "os/clock.h"

/* Of those who ask for it on a node that does not do it by itself. */
static const int64_t DELAY_US = 4 * HOUR_US;

static const struct mail_recipient *recipient_of(const struct message *message,
						 const struct queue_delivery *delivery)
{
	return mail_envelope_find(message->control->envelope, delivery->recipient);
}

static bool is_waiting(const struct queue_delivery *delivery)
{
	return delivery->outcome == QUEUE_WAIT || delivery->outcome == QUEUE_PENDING;
}

/* Nobody is told of a report's success or delay. */
bool notice_is_success_wanted(const struct message *message, const struct queue_delivery *delivery)
{
	return !mail_sender_is_null(message->control->envelope->sender) &&
	       bounce_is_success_wanted(recipient_of(message, delivery)->notify);
}

bool notice_is_at_end(const struct message *message, const struct queue_delivery *delivery)
{
	if (delivery->outcome == QUEUE_DONE)
		return !delivery->is_quiet && notice_is_success_wanted(message, delivery);
	return delivery->outcome == QUEUE_FAIL &&
	       bounce_is_wanted(recipient_of(message, delivery)->notify);
}

bool notice_has_any_at_end(const struct message *message)
{
	for (size_t i = 0; i < message->control->delivery_count; i++)
		if (notice_is_at_end(message, &message->control->deliveries[i]))
			return true;
	return false;
}

static bool is_delay_wanted(const struct manager *manager, const struct message *message,
			    const struct queue_delivery *delivery)
{
	return is_waiting(delivery) &&
	       bounce_is_delay_wanted(recipient_of(message, delivery)->notify,
				      manager->config->delaynotice_us > 0);
}

int64_t notice_delay_due_us(const struct manager *manager, const struct message *message)
{
	int64_t delay_us =
		manager->config->delaynotice_us > 0 ? manager->config->delaynotice_us : DELAY_US;
	bool is_wanted = false;

	if (mail_sender_is_null(message->control->envelope->sender) ||
	    delay_us >= manager->config->queuelifetime_us)
		return INT64_MAX;
	for (size_t i = 0; i < message->control->delivery_count; i++) {
		const struct queue_delivery *delivery = &message->control->deliveries[i];

		if (delivery->delayed_us > 0)
			return INT64_MAX;
		is_wanted |= is_delay_wanted(manager, message, delivery);
	}
	return is_wanted ? message->born_us + delay_us : INT64_MAX;
}

static struct bounce_outcome *collect(const struct message *message, size_t *count_out)
{
	*count_out = 0;
	return arena_alloc(message->control->envelope->arena,
			   (message->control->delivery_count + 1) * sizeof(struct bounce_outcome));
}

static struct bounce_outcome outcome_of(const struct message *message,
					const struct queue_delivery *delivery)
{
	static const enum bounce_action actions[] = {
		[QUEUE_PENDING] = BOUNCE_DELAYED,
		[QUEUE_WAIT] = BOUNCE_DELAYED,
		[QUEUE_FAIL] = BOUNCE_FAILED,
		[QUEUE_DONE] = BOUNCE_DELIVERED,
	};
	struct bounce_outcome outcome = {
		.action = actions[delivery->outcome],
		.address = delivery->address,
		.original = recipient_of(message, delivery)->original,
		.status = delivery->status,
		.text = delivery->text,
		.changed_us = delivery->changed_us,
	};

	if (outcome.action == BOUNCE_DELIVERED && delivery->route == QUEUE_ROUTE_REMOTE)
		outcome.action = BOUNCE_RELAYED;
	return outcome;
}

struct bounce_outcome *notice_collect_end(const struct message *message, size_t *count_out)
{
	struct bounce_outcome *outcomes = collect(message, count_out);

	for (size_t i = 0; i < message->control->delivery_count; i++)
		if (notice_is_at_end(message, &message->control->deliveries[i]))
			outcomes[(*count_out)++] =
				outcome_of(message, &message->control->deliveries[i]);
	return outcomes;
}

struct bounce_outcome *notice_collect_delay(const struct manager *manager,
					    const struct message *message, size_t *count_out)
{
	struct bounce_outcome *outcomes = collect(message, count_out);

	for (size_t i = 0; i < message->control->delivery_count; i++)
		if (is_delay_wanted(manager, message, &message->control->deliveries[i]))
			outcomes[(*count_out)++] =
				outcome_of(message, &message->control->deliveries[i]);
	return outcomes;
}

void notice_delay_reported(const struct manager *manager, struct message *message, int64_t now_us)
{
	for (size_t i = 0; i < message->control->delivery_count; i++)
		if (is_delay_wanted(manager, message, &message->control->deliveries[i]))
			message->control->deliveries[i].delayed_us = now_us;
	message->is_delay_unrecorded = true;
}
