// SPDX-License-Identifier: ISC
/* The end of a message: its bounce, if anything failed, then its names. */
#include "base/panic.h"
#include "bounce/report.h"
#include "log/event.h"
#include "manager/internal.h"
#include "os/clock.h"
#include "os/file.h"
#include <errno.h>
#include <stdlib.h>

static const int64_t TRY_AGAIN_US = MINUTE_US;

struct bounce_job {
	struct manager *manager;
	struct message *message; /* NULL: forgotten meanwhile */
	struct queue_client_message queue;
	struct mail_envelope *envelope;
	struct buffer content;
};

static void job_free(struct bounce_job *job)
{
	queue_client_abandon(&job->queue);
	mail_envelope_free(job->envelope);
	buffer_clear(&job->content);
	free(job);
}

void failure_abandon(struct message *message)
{
	if (message->bounce == NULL)
		return;
	job_free(message->bounce);
	message->bounce = NULL;
}

static void try_again(struct manager *manager, struct message *message, const char *operation,
		      int error)
{
	log_event(EVENT_QUEUE_ERROR, log_id(message->control->envelope->id),
		  log_string("operation", operation), log_error(error));
	message_sleep(manager, message, os_clock_wall_us() + TRY_AGAIN_US);
}

/* S5 to S2, then "queue" does the rest. */
static void finish(struct manager *manager, struct message *message)
{
	const char *services[STAGE_SERVICES_MAX];
	size_t count = stage_services(manager, services);
	int error;

	if (message->has_todo) { /* goes on when "queue" has removed it */
		message->has_bounce = false;
		message->state = MESSAGE_BUSY;
		return;
	}
	error = queue_update_finish(manager->store, message->number, services, count);
	if (error < 0)
		try_again(manager, message, "finish", error);
	else
		removal_ask(manager, message, QUEUE_REMOVE_DATA);
}

static void finish_bounce(struct manager *manager, struct message *message)
{
	int error = queue_update_bounced(manager->store, message->number);

	if (error < 0) {
		try_again(manager, message, "remove bounce", error);
		return;
	}
	message->has_bounce = false;
	finish(manager, message);
}

/* --- the report --- */

static const struct mail_recipient *recipient_of(const struct mail_envelope *envelope,
						 const struct queue_delivery *delivery)
{
	for (size_t i = 0; i < envelope->recipient_count; i++)
		if (envelope->recipients[i].number == delivery->recipient)
			return &envelope->recipients[i];
	return NULL;
}

/* The failures that the sender wants to hear of, in the envelope's arena. */
static struct bounce_failure *collect(const struct message *message, size_t *count_out)
{
	const struct queue_control *control = message->control;
	struct bounce_failure *failures = arena_alloc(
		control->envelope->arena, (control->delivery_count + 1) * sizeof *failures);
	size_t count = 0;

	for (size_t i = 0; i < control->delivery_count; i++) {
		const struct queue_delivery *delivery = &control->deliveries[i];
		const struct mail_recipient *recipient = recipient_of(control->envelope, delivery);

		if (delivery->outcome != QUEUE_FAIL ||
		    (recipient != NULL && !bounce_is_wanted(recipient->notify)))
			continue;
		failures[count++] = (struct bounce_failure){
			.address = delivery->address,
			.original = recipient != NULL ? recipient->original : STR(""),
			.status = delivery->status,
			.text = delivery->text,
			.failed_us = delivery->changed_us,
		};
	}
	*count_out = count;
	return failures;
}

/* As much of the original as may be returned. */
static int read_original(struct manager *manager, const struct message *message, struct buffer *out)
{
	enum { PIECE = 65536 };
	uint64_t limit = message->control->envelope->size;
	int file = queue_update_open_data(manager->store, message->number);
	ssize_t count = 1;

	if (file < 0)
		return file;
	if (manager->config->bouncemaxbytes > 0 && limit > manager->config->bouncemaxbytes + PIECE)
		limit = manager->config->bouncemaxbytes + PIECE;
	while (count > 0 && out->length < limit) {
		uint64_t wanted = limit - out->length < PIECE ? limit - out->length : PIECE;

		count = os_file_read(file, buffer_reserve(out, PIECE), wanted, out->length);
		if (count > 0)
			buffer_commit(out, (size_t)count);
	}
	os_file_close(file);
	return count < 0 ? (int)count : 0;
}

static int write_report(struct manager *manager, const struct message *message,
			struct bounce_job *job, struct str recipient,
			const struct bounce_failure *failures, size_t failure_count)
{
	const struct mail_envelope *envelope = message->control->envelope;
	struct buffer original = {0};
	int error = read_original(manager, message, &original);
	const struct bounce_report report = {
		.recipient = recipient,
		.hostname = str_from(manager->config->hostname),
		.from = str_from(manager->config->bouncefrom),
		.id = envelope->id,
		.now_us = os_clock_wall_us(),
		.envid = envelope->envid,
		.ret = envelope->ret,
		.failures = failures,
		.failure_count = failure_count,
		.message = buffer_view(&original),
		.message_size = envelope->size,
		.max_bytes = manager->config->bouncemaxbytes,
	};

	if (error == 0)
		bounce_report_write(&report, &job->content);
	buffer_clear(&original);
	return error;
}

/* --- queueing it --- */

static void commit(struct bounce_job *job)
{
	struct mail_envelope *envelope = job->envelope;
	int error =
		os_file_write(job->queue.file, buffer_data(&job->content), job->content.length, 0);

	envelope->id = (struct mail_id){job->queue.number, os_clock_wall_us()};
	envelope->size = job->content.length;
	if (error < 0) {
		queue_client_abandon(&job->queue);
		job->queue.done(job, error);
		return;
	}
	queue_client_commit(&job->queue, envelope);
}

static void on_queue_done(void *context, int result)
{
	struct bounce_job *job = context;
	struct manager *manager = job->manager;
	struct message *message = job->message;

	if (result == 0 && job->queue.state == QUEUE_CLIENT_OPEN) {
		commit(job);
		return;
	}
	if (result == 0) {
		char id[MAIL_ID_SIZE];

		mail_id_format(job->envelope->id, id);
		log_event(EVENT_BOUNCED, log_id(message->control->envelope->id),
			  log_string("bounce", id),
			  log_str("to", job->envelope->recipients[0].address));
	}
	message->bounce = NULL;
	job_free(job);
	if (result == 0)
		finish_bounce(manager, message);
	else
		try_again(manager, message, "queue bounce", result);
}

static void start(struct manager *manager, struct message *message, struct str sender,
		  struct str recipient, const struct bounce_failure *failures, size_t count)
{
	struct bounce_job *job = memory_alloc_zero(1, sizeof *job);
	int error = write_report(manager, message, job, recipient, failures, count);

	job->manager = manager;
	job->message = message;
	job->queue.done = on_queue_done;
	job->queue.context = job;
	job->envelope = mail_envelope_new();
	if (error < 0) {
		job_free(job);
		try_again(manager, message, "read message", error);
		return;
	}
	job->envelope->stage = MAIL_STAGE_SUBMIT;
	job->envelope->sender = arena_copy_str(job->envelope->arena, sender);
	job->envelope->received = STR("bounce");
	mail_envelope_add(job->envelope, recipient);
	message->bounce = job;
	message->state = MESSAGE_BOUNCING;
	queue_client_open(manager->bounce_queue, &job->queue);
}

void failure_bounce(struct manager *manager, struct message *message)
{
	const struct bounce_failure *failures;
	struct str recipient;
	struct str sender;
	size_t count;

	if (!message->has_bounce) {
		finish(manager, message);
		return;
	}
	failures = collect(message, &count);
	if (count == 0) {
		finish_bounce(manager, message);
		return;
	}
	if (bounce_route(message->control->envelope->sender, manager->config, &sender,
			 &recipient) == BOUNCE_SEND) {
		start(manager, message, sender, recipient, failures, count);
		return;
	}
	log_event(EVENT_BOUNCE_DROPPED, log_id(message->control->envelope->id),
		  log_str("from", message->control->envelope->sender));
	finish_bounce(manager, message);
}
