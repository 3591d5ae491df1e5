// SPDX-License-Identifier: ISC
/* Which deliveries of a message are to be tried now, and the jobs made of them. */
#include "base/panic.h"
#include "ipc/job.h"
#include "ipc/pack.h"
#include "mail/verp.h"
#include "manager/destination.h"
#include "manager/internal.h"
#include "manager/schedule.h"
#include "os/clock.h"
#include <stdlib.h>

static void domain_of(struct str address, char name[256])
{
	ptrdiff_t at = str_find_last(address, '@');
	struct str domain = str_skip(address, (size_t)(at + 1));

	if (domain.length > 255)
		domain.length = 255;
	memcpy(name, domain.data, domain.length);
	name[domain.length] = '\0';
	str_lower(name, domain.length);
}

static struct stage *stage_of(struct manager *manager, const struct queue_delivery *delivery)
{
	return stage_find(manager, delivery->route == QUEUE_ROUTE_REMOTE ? STR("remote")
									 : delivery->service);
}

/* Finds or makes the destination of a delivery. */
static struct destination *destination_of(struct stage *stage,
					  const struct queue_delivery *delivery, bool make)
{
	char name[256] = "";

	if (stage->is_remote)
		domain_of(delivery->address, name);
	return make ? destination_get(stage, str_from(name))
		    : destination_find(stage, str_from(name));
}

/* What a bound cuts off cannot be sent anyway: only a file that was not written by
 * the SMTP server has it. */
static struct str bounded(struct str text, size_t bound)
{
	return text.length <= bound ? text : STR("");
}

static size_t packed_size(const struct message *message, const struct queue_delivery *delivery)
{
	const struct mail_recipient *recipient =
		mail_envelope_find(message->control->envelope, delivery->recipient);

	return IPC_JOB_RECIPIENT_OVERHEAD + delivery->address.length +
	       bounded(recipient->original, MAIL_ORCPT_MAX).length;
}

static void add_to_job(struct message *message, struct stage *stage, uint32_t index)
{
	const struct queue_delivery *delivery = &message->control->deliveries[index];
	struct destination *destination = destination_of(stage, delivery, true);
	size_t size = packed_size(message, delivery);
	struct job *job = destination_add_job(destination, message, delivery->attempts > 0, size);

	job->size += size;
	if ((job->delivery_count & (job->delivery_count - 1)) == 0)
		job->deliveries =
			memory_resize(job->deliveries, (size_t)(job->delivery_count + 1) * 2 *
							       sizeof(*job->deliveries));
	job->deliveries[job->delivery_count++] = (struct job_delivery){.index = index};
	destination_update(destination);
}

/* A service that is no longer configured: not now. */
static void put_off(struct message *message, uint32_t index, int64_t now_us)
{
	struct queue_delivery *delivery = &message->control->deliveries[index];

	delivery->outcome = QUEUE_WAIT;
	delivery->changed_us = now_us;
	delivery->until_us = now_us + 10 * MINUTE_US;
	delivery->status = STR("4.3.5");
	delivery->text = STR("the service is not configured");
	delivery->trigger = STR("");
	message->unrecorded[index] = true;
}

struct trigger *stage_blocked_by(struct manager *manager, const struct message *message,
				 const struct queue_delivery *delivery)
{
	struct stage *stage = stage_of(manager, delivery);
	struct trigger *trigger = NULL;

	if (delivery->outcome == QUEUE_WAIT && delivery->trigger.length > 0)
		trigger = trigger_find(manager, delivery->trigger);
	if (trigger == NULL && stage != NULL && stage->is_remote && manager->triggers != NULL) {
		const struct destination *destination = destination_of(stage, delivery, false);

		trigger = destination != NULL ? destination->blocked : NULL;
	}
	return trigger != NULL && !trigger_is_probe(trigger, message) ? trigger : NULL;
}

/* Whether the delivery is to be tried now. */
static bool is_due(struct manager *manager, struct message *message, uint32_t index, int64_t now_us)
{
	struct queue_delivery *delivery = &message->control->deliveries[index];

	if (delivery->outcome != QUEUE_PENDING && delivery->outcome != QUEUE_WAIT)
		return false;
	if (stage_blocked_by(manager, message, delivery) != NULL) {
		if (now_us - message->born_us < manager->config->queuelifetime_us)
			return false;
		outcome_expire(message, delivery);
		outcome_log(message, delivery);
		message->unrecorded[index] = true;
		return false;
	}
	if (delivery->outcome == QUEUE_PENDING)
		return true;
	return message->is_released ||
	       schedule_until(delivery->changed_us, delivery->until_us, now_us) <= now_us;
}

/* A message with one delivery can sleep where its destination is crowded. */
static struct destination *crowded_destination(struct manager *manager,
					       const struct message *message)
{
	const struct queue_delivery *delivery = &message->control->deliveries[0];
	struct stage *stage = stage_of(manager, delivery);
	struct destination *destination;

	if (stage == NULL || message->control->delivery_count != 1)
		return NULL;
	destination = destination_of(stage, delivery, false);
	return destination != NULL && destination_is_crowded(destination, delivery->attempts > 0)
		       ? destination
		       : NULL;
}

size_t stage_add_jobs(struct manager *manager, struct message *message,
		      struct destination **crowded_out)
{
	int64_t now_us = os_clock_wall_us();
	size_t added = 0;

	*crowded_out = NULL;
	for (uint32_t i = 0; i < message->control->delivery_count; i++) {
		struct stage *stage;

		if (!is_due(manager, message, i, now_us))
			continue;
		*crowded_out = crowded_destination(manager, message);
		if (*crowded_out != NULL)
			return 0;
		stage = stage_of(manager, &message->control->deliveries[i]);
		if (stage == NULL) {
			put_off(message, i, now_us);
			continue;
		}
		add_to_job(message, stage, i);
		added++;
	}
	message->is_released = false;
	return added;
}

/* By the recipient as the sender knows him: that is who is to be found by a bounce. */
static void pack_sender(const struct job *job, struct buffer *body)
{
	const struct queue_control *control = job->message->control;
	struct buffer sender CLEANUP(buffer_clear) = {0};
	uint32_t recipient = control->deliveries[job->deliveries[0].index].recipient;

	if (!mail_verp_is(control->envelope->sender)) {
		pack_str(body, control->envelope->sender);
		return;
	}
	mail_verp_expand(control->envelope->sender,
			 mail_envelope_find(control->envelope, recipient)->address, &sender);
	pack_str(body, buffer_view(&sender));
}

void stage_pack_job(const struct job *job, struct buffer *body)
{
	const struct message *message = job->message;
	const struct mail_envelope *envelope = message->control->envelope;

	pack_u64(body, message->number);
	pack_u64(body, (uint64_t)message->born_us);
	pack_sender(job, body);
	pack_u64(body, envelope->size);
	pack_u32(body, envelope->utf8);
	pack_u32(body, envelope->ret);
	pack_str(body, bounded(envelope->envid, MAIL_ENVID_MAX));
	pack_str(body, job->destination->stage->is_remote
			       ? str_from(job->destination->name)
			       : str_from(job->destination->stage->name));
	pack_u32(body, job->delivery_count);
	for (uint32_t i = 0; i < job->delivery_count; i++) {
		const struct queue_delivery *delivery =
			&message->control->deliveries[job->deliveries[i].index];
		const struct mail_recipient *recipient =
			mail_envelope_find(envelope, delivery->recipient);

		pack_u32(body, delivery->number);
		pack_u32(body, recipient->notify);
		pack_str(body, delivery->address);
		pack_str(body, bounded(recipient->original, MAIL_ORCPT_MAX));
	}
}
