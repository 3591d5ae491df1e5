// SPDX-License-Identifier: ISC
/* The body of a START (ipc/job.h): all that a helper is told of a job, but the content. */
#include "manager/start.h"
#include "ipc/pack.h"
#include "mail/verp.h"
#include "manager/internal.h"
#include "queue/message.h"

/* A limit cuts off only what could not be sent anyway: text that long occurs only in a file that
 * our SMTP server did not write. */
static struct str bounded_text(struct str text, size_t bound)
{
	return text.length <= bound ? text : STR("");
}

/* Contains the recipient as the sender wrote it, because a bounce must lead back to that. */
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

static void pack_delivery(const struct message *message, uint32_t index, struct buffer *body)
{
	const struct queue_delivery *delivery = &message->control->deliveries[index];
	const struct mail_recipient *recipient =
		mail_envelope_find(message->control->envelope, delivery->recipient);

	pack_u32(body, delivery->number);
	pack_u32(body, recipient->notify);
	pack_str(body, delivery->address);
	pack_str(body, bounded_text(recipient->original, MAIL_ORCPT_MAX));
	pack_str(body, deliver_via(recipient, delivery));
}

static uint32_t needs_of(const struct queue_control *control, bool has_turn)
{
	const struct mail_envelope *envelope = control->envelope;
	const struct mail_deadline *deadline = &envelope->deadline;

	return (envelope->utf8 ? IPC_JOB_UTF8 : 0) | (envelope->binary ? IPC_JOB_BINARY : 0) |
	       (envelope->require_tls ? IPC_JOB_REQUIRE_TLS : 0) |
	       (deadline->mode != MAIL_DEADLINE_NONE ? IPC_JOB_DEADLINE : 0) |
	       (deadline->mode == MAIL_DEADLINE_RETURN ? IPC_JOB_RETURN : 0) |
	       (deadline->is_traced ? IPC_JOB_TRACE : 0) |
	       (queue_control_is_deadline_told(control) ? IPC_JOB_TOLD : 0) |
	       (has_turn ? IPC_JOB_TURN : 0) |
	       (control->has_checksum && envelope->size > QUEUE_BY_VALUE_MAX ? IPC_JOB_CHECKSUM
									     : 0) |
	       (uint32_t)(uint8_t)envelope->priority << IPC_JOB_PRIORITY;
}

void start_pack(const struct job *job, bool has_turn, struct buffer *body)
{
	const struct message *message = job->message;
	const struct mail_envelope *envelope = message->control->envelope;

	pack_u64(body, message->id.number);
	pack_u64(body, (uint64_t)message->id.born_us);
	pack_sender(job, body);
	pack_u64(body, envelope->size);
	pack_u32(body, message->control->data_checksum);
	pack_u32(body, needs_of(message->control, has_turn));
	pack_u64(body, (uint64_t)envelope->deadline.at_us);
	pack_u32(body, envelope->ret);
	pack_str(body, bounded_text(envelope->envid, MAIL_ENVID_MAX));
	pack_str(body, str_from(job_destination(job)));
	pack_str(body, bounded_text(envelope->received, IPC_JOB_RECEIVED_MAX));
	pack_u32(body, job->delivery_count);
	for (uint32_t i = 0; i < job->delivery_count; i++)
		pack_delivery(message, job->deliveries[i].index, body);
}
