// SPDX-License-Identifier: ISC
/* Reports to senders, and the end of a message: its report, then its names. */
#include "base/panic.h"
#include "bounce/report.h"
#include "log/event.h"
#include "mail/verp.h"
#include "manager/internal.h"
#include "os/clock.h"
#include <errno.h>
#include <stdlib.h>

static const int64_t TRY_AGAIN_US = MINUTE_US;

struct bounce_job {
	struct manager *manager;
	struct message *message; /* NULL: forgotten meanwhile */
	struct queue_client_message queue;
	struct mail_envelope *envelope;
	struct buffer content;
	bool is_failure;
	bool is_delay; /* not of the end */
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

/* What was delivered must be on disk before the message may be read again. */
static void try_again(struct manager *manager, struct message *message, const char *operation,
		      int error)
{
	log_event(EVENT_QUEUE_ERROR, log_id(message->control->envelope->id),
		  log_string("operation", operation), log_error(error));
	if (message_has_unrecorded(message)) {
		message->state = MESSAGE_BUSY;
		record_write(manager, message);
		return;
	}
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

/* As much of the original as may be returned. */
static int read_original(struct manager *manager, const struct message *message, struct buffer *out)
{
	enum { MORE = 65536 };
	uint64_t limit = message->control->envelope->size;

	if (manager->config->bouncemaxbytes > 0 && limit > manager->config->bouncemaxbytes + MORE)
		limit = manager->config->bouncemaxbytes + MORE;
	return queue_update_read_beginning(manager->store,
					   message->is_queued ? &message->stage : NULL,
					   message->number, limit, out);
}

static int write_report(struct bounce_job *job, struct str recipient,
			const struct bounce_outcome *outcomes, size_t count)
{
	struct manager *manager = job->manager;
	const struct mail_envelope *envelope = job->message->control->envelope;
	struct buffer original = {0};
	int error = read_original(manager, job->message, &original);
	const struct bounce_report report = {
		.recipient = recipient,
		.hostname = str_from(manager->config->hostname),
		.from = str_from(manager->config->bouncefrom),
		.id = envelope->id,
		.now_us = os_clock_wall_us(),
		.retry_until_us = envelope->id.born_us + manager->config->queuelifetime_us,
		.envid = envelope->envid,
		.ret = envelope->ret,
		.outcomes = outcomes,
		.outcome_count = count,
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

	envelope->id = (struct mail_id){job->queue.number, os_clock_wall_us()};
	envelope->size = job->content.length;
	queue_client_commit(&job->queue, envelope, buffer_view(&job->content));
}

static void log_queued(const struct bounce_job *job)
{
	char id[MAIL_ID_SIZE];

	mail_id_format(job->envelope->id, id);
	log_event(job->is_failure ? EVENT_BOUNCED : EVENT_NOTIFIED,
		  log_id(job->message->control->envelope->id), log_string("bounce", id),
		  log_str("to", job->envelope->recipients[0].address));
}

static void go_on(struct manager *manager, struct message *message)
{
	notice_delay_reported(manager, message, os_clock_wall_us());
	message->state = MESSAGE_BUSY;
	message_continue(manager, message);
}

static void on_queue_done(void *context, int result)
{
	struct bounce_job *job = context;
	struct manager *manager = job->manager;
	struct message *message = job->message;
	bool is_delay;

	if (result == 0 && job->queue.state == QUEUE_CLIENT_OPEN) {
		commit(job);
		return;
	}
	if (result == 0)
		log_queued(job);
	is_delay = job->is_delay;
	message->bounce = NULL;
	job_free(job);
	if (result < 0)
		try_again(manager, message, "queue bounce", result);
	else if (is_delay)
		go_on(manager, message);
	else
		finish_bounce(manager, message);
}

static void start(struct manager *manager, struct message *message, struct str sender,
		  struct str recipient, const struct bounce_outcome *outcomes, size_t count)
{
	struct bounce_job *job = memory_alloc_zero(1, sizeof *job);
	int error;

	job->manager = manager;
	job->message = message;
	for (size_t i = 0; i < count; i++)
		job->is_failure |= outcomes[i].action == BOUNCE_FAILED;
	job->is_delay = outcomes[0].action == BOUNCE_DELAYED;
	job->queue.done = on_queue_done;
	job->queue.context = job;
	job->envelope = mail_envelope_new();
	error = write_report(job, recipient, outcomes, count);
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

void failure_report_delay(struct manager *manager, struct message *message)
{
	size_t count;
	const struct bounce_outcome *outcomes = notice_collect_delay(manager, message, &count);

	start(manager, message, STR(""), mail_verp_whole(message->control->envelope->sender),
	      outcomes, count);
}

void failure_bounce(struct manager *manager, struct message *message)
{
	const struct bounce_outcome *outcomes;
	struct str recipient;
	struct str sender;
	size_t count;

	if (!message->has_bounce) {
		finish(manager, message);
		return;
	}
	outcomes = notice_collect_end(message, &count);
	if (count == 0) {
		finish_bounce(manager, message);
		return;
	}
	if (bounce_route(message->control->envelope->sender, manager->config, &sender,
			 &recipient) == BOUNCE_SEND) {
		start(manager, message, sender, recipient, outcomes, count);
		return;
	}
	log_event(EVENT_BOUNCE_DROPPED, log_id(message->control->envelope->id),
		  log_str("from", message->control->envelope->sender));
	finish_bounce(manager, message);
}
