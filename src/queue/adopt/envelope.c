// SPDX-License-Identifier: ISC
/* What is left to do for a message that is adopted. */
#include "queue/adopt/internal.h"

static void add_adopted_recipient(struct mail_envelope *out, const struct mail_recipient *recipient,
				  struct str address, unsigned notify)
{
	struct mail_recipient *added = mail_envelope_add(out, address);

	added->notify = notify;
	added->original = recipient->original;
}

/* A delay is not reported twice. */
static unsigned notify_left(const struct queue_delivery *delivery, unsigned notify)
{
	if (delivery->delayed_us == 0)
		return notify;
	if (notify == 0) /* the default, RFC 3461 section 4.1 */
		return MAIL_NOTIFY_FAILURE;
	notify &= ~(unsigned)MAIL_NOTIFY_DELAY;
	return notify != 0 ? notify : MAIL_NOTIFY_NEVER;
}

/* A failure that is not reported yet is reported from here: the recipient fails again here. */
static bool is_delivery_left(const struct queue_delivery *delivery, bool has_bounce)
{
	return delivery->outcome == QUEUE_PENDING || delivery->outcome == QUEUE_WAIT ||
	       (delivery->outcome == QUEUE_FAIL && has_bounce);
}

struct mail_envelope *adopt_remaining(const struct queue_control *control, bool has_bounce)
{
	const struct mail_envelope *envelope = control->envelope;
	struct mail_envelope *out = mail_envelope_new();

	out->stage = envelope->stage;
	out->ret = envelope->ret;
	out->binary = envelope->binary;
	out->utf8 = envelope->utf8;
	out->require_tls = envelope->require_tls;
	out->sender = envelope->sender;
	out->envid = envelope->envid;
	out->received = envelope->received;
	out->trigger = envelope->trigger;
	out->release_us = envelope->release_us;
	out->priority = envelope->priority;
	out->deadline = envelope->deadline;
	out->deadline.is_told = queue_control_is_deadline_told(control);
	out->size = envelope->size;
	for (size_t i = 0; !control->is_mapped && i < envelope->recipient_count; i++)
		add_adopted_recipient(out, &envelope->recipients[i],
				      envelope->recipients[i].address,
				      envelope->recipients[i].notify);
	for (size_t i = 0; control->is_mapped && i < control->delivery_count; i++) {
		const struct queue_delivery *delivery = &control->deliveries[i];
		const struct mail_recipient *recipient =
			mail_envelope_find(envelope, delivery->recipient);

		if (is_delivery_left(delivery, has_bounce))
			add_adopted_recipient(out, recipient, delivery->address,
					      notify_left(delivery, recipient->notify));
	}
	return out;
}
