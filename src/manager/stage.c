// SPDX-License-Identifier: ISC
/*
 * Which delivery is started when: a stage has destinations, a destination has
 * jobs that wait. Destinations with room take turns, one job each, so that none
 * holds up another.
 */
#include "base/panic.h"
#include "ipc/job.h"
#include "ipc/pack.h"
#include "log/event.h"
#include "manager/internal.h"
#include "manager/schedule.h"
#include "os/clock.h"
#include "os/file.h"
#include <errno.h>
#include <stdlib.h>

struct stage *stage_find(struct manager *manager, struct str name)
{
	for (struct stage *stage = manager->stages; stage != NULL; stage = stage->next)
		if (str_equal(name, str_from(stage->name)))
			return stage;
	return NULL;
}

static struct stage *stage_add(struct manager *manager, const char *name)
{
	struct stage *stage = memory_alloc_zero(1, sizeof *stage);

	stage->manager = manager;
	stage->name = memory_copy_string(name);
	stage->is_remote = strcmp(name, "remote") == 0;
	stage->skip = stage->is_remote ? SCHEDULE_SKIP_REMOTE : SCHEDULE_SKIP_LOCAL;
	stage->next = manager->stages;
	manager->stages = stage;
	return stage;
}

static void stage_configure(struct stage *stage, const struct config_stage *config)
{
	stage->concurrency = config->concurrency;
	stage->destination_concurrency =
		stage->is_remote ? config->destination_concurrency : config->concurrency;
	stage->is_paused = config->paused;
}

/* A stage that the configuration no longer has stays, for the mail it has. */
void stage_configure_all(struct manager *manager)
{
	for (size_t i = 0; i < manager->config->stage_count; i++) {
		const struct config_stage *config = &manager->config->stages[i];
		struct stage *stage = stage_find(manager, str_from(config->name));

		if (stage == NULL)
			stage = stage_add(manager, config->name);
		stage_configure(stage, config);
	}
	os_loop_defer(manager->loop, &manager->dispatch_task);
}

/* --- destinations --- */

static struct destination *destination_get(struct stage *stage, struct str name)
{
	struct destination *destination;

	HASH_FIND(hh, stage->destinations, name.data, name.length, destination);
	if (destination != NULL)
		return destination;
	destination = memory_alloc_zero(1, sizeof *destination);
	destination->stage = stage;
	destination->name = memory_alloc(name.length + 1);
	memcpy(destination->name, name.data, name.length);
	destination->name[name.length] = '\0';
	HASH_ADD_KEYPTR(hh, stage->destinations, destination->name, name.length, destination);
	return destination;
}

static void destination_free(struct destination *destination)
{
	HASH_DELETE(hh, destination->stage->destinations, destination);
	free(destination->name);
	free(destination);
}

/* In the ring exactly while one of its jobs may start. */
static void destination_update(struct destination *destination)
{
	struct stage *stage = destination->stage;
	bool is_ready = destination->waiting != NULL &&
			destination->in_flight < stage->destination_concurrency;

	if (is_ready && !destination->is_ready)
		DL_APPEND2(stage->ready, destination, previous, next);
	else if (!is_ready && destination->is_ready)
		DL_DELETE2(stage->ready, destination, previous, next);
	destination->is_ready = is_ready;
	if (destination->waiting == NULL && destination->in_flight == 0)
		destination_free(destination);
}

/* --- jobs --- */

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

static struct job *job_new(struct message *message, struct destination *destination)
{
	struct job *job = memory_alloc_zero(1, sizeof *job);

	job->message = message;
	job->destination = destination;
	DL_APPEND2(destination->waiting, job, previous, next);
	message->jobs++;
	return job;
}

/* Recipients at one host share a transaction; a mailbox service delivers once for
 * each, but a job may hold them together. */
static struct job *job_with_room(const struct message *message, struct destination *destination)
{
	struct job *last = destination->waiting != NULL ? destination->waiting->previous : NULL;

	if (last != NULL && last->message == message &&
	    last->delivery_count < IPC_JOB_RECIPIENTS_MAX)
		return last;
	return NULL;
}

static void add_to_job(struct manager *manager, struct message *message, struct stage *stage,
		       uint32_t index)
{
	const struct queue_delivery *delivery = &message->control->deliveries[index];
	struct destination *destination;
	struct job *job;
	char name[256] = "";

	(void)manager;
	if (stage->is_remote)
		domain_of(delivery->address, name);
	destination = destination_get(stage, str_from(name));
	job = job_with_room(message, destination);
	if (job == NULL)
		job = job_new(message, destination);
	if ((job->delivery_count & (job->delivery_count - 1)) == 0)
		job->deliveries =
			memory_resize(job->deliveries, (size_t)(job->delivery_count + 1) * 2 *
							       sizeof(*job->deliveries));
	job->deliveries[job->delivery_count++] = (struct job_delivery){.index = index};
	destination_update(destination);
}

static bool is_due(const struct queue_delivery *delivery, int64_t now_us)
{
	return delivery->outcome == QUEUE_PENDING ||
	       (delivery->outcome == QUEUE_WAIT && delivery->until_us <= now_us);
}

size_t stage_add_jobs(struct manager *manager, struct message *message)
{
	int64_t now_us = os_clock_wall_us();
	size_t added = 0;

	for (uint32_t i = 0; i < message->control->delivery_count; i++) {
		struct queue_delivery *delivery = &message->control->deliveries[i];
		struct stage *stage;

		if (!is_due(delivery, now_us))
			continue;
		stage = stage_find(manager, delivery->route == QUEUE_ROUTE_REMOTE
						    ? STR("remote")
						    : delivery->service);
		if (stage == NULL) { /* a service that is no longer configured */
			delivery->outcome = QUEUE_WAIT;
			delivery->changed_us = now_us;
			delivery->until_us = now_us + 10 * MINUTE_US;
			delivery->status = STR("4.3.5");
			delivery->text = STR("the service is not configured");
			message->unrecorded[i] = true;
			continue;
		}
		add_to_job(manager, message, stage, i);
		added++;
	}
	return added;
}

void stage_job_ended(struct manager *manager, struct job *job)
{
	struct destination *destination = job->destination;

	if (job->helper != NULL) {
		DL_DELETE2(job->helper->jobs, job, previous, next);
		HASH_DELETE(hh, manager->jobs, job);
		job->helper->in_flight--;
		destination->stage->in_flight--;
		destination->in_flight--;
	} else {
		DL_DELETE2(destination->waiting, job, previous, next);
	}
	job->message->jobs--;
	destination_update(destination);
	free(job->deliveries);
	free(job);
	os_loop_defer(manager->loop, &manager->dispatch_task);
}

static void pack_job(const struct job *job, struct buffer *body)
{
	const struct message *message = job->message;
	const struct mail_envelope *envelope = message->control->envelope;

	pack_u64(body, message->number);
	pack_u64(body, (uint64_t)message->born_us);
	pack_str(body, envelope->sender);
	pack_u64(body, envelope->size);
	pack_str(body, job->destination->stage->is_remote
			       ? str_from(job->destination->name)
			       : str_from(job->destination->stage->name));
	pack_u32(body, job->delivery_count);
	for (uint32_t i = 0; i < job->delivery_count; i++) {
		const struct queue_delivery *delivery =
			&message->control->deliveries[job->deliveries[i].index];

		pack_u32(body, delivery->number);
		pack_str(body, delivery->address);
	}
}

static void put_in_flight(struct manager *manager, struct job *job, struct helper *helper)
{
	struct destination *destination = job->destination;

	DL_DELETE2(destination->waiting, job, previous, next);
	job->helper = helper;
	do
		job->tag = ++manager->next_tag;
	while (job->tag == 0);
	HASH_ADD(hh, manager->jobs, tag, sizeof job->tag, job);
	DL_APPEND2(helper->jobs, job, previous, next);
	helper->in_flight++;
	destination->in_flight++;
	destination->stage->in_flight++;
}

/* The data cannot be opened: that is no reason to lose the message. */
static void cannot_start(struct manager *manager, struct job *job, int error)
{
	struct message *message = job->message;

	log_event(EVENT_QUEUE_ERROR, log_id(message->control->envelope->id),
		  log_string("operation", "open data"), log_error(error));
	outcome_lost(manager, job);
	stage_job_ended(manager, job);
	message_continue(manager, message);
}

static void start_job(struct manager *manager, struct job *job, struct helper *helper)
{
	struct buffer body = {0};
	int file = queue_update_open_data(manager->store, job->message->number);

	if (file < 0) {
		cannot_start(manager, job, file);
		return;
	}
	put_in_flight(manager, job, helper);
	pack_job(job, &body);
	ipc_channel_send(helper->channel, IPC_JOB_START, job->tag, buffer_view(&body), &file, 1);
	os_file_close(file);
	buffer_clear(&body);
}

static void dispatch_stage(struct stage *stage)
{
	while (!stage->is_paused && stage->ready != NULL && stage->in_flight < stage->concurrency) {
		struct destination *destination = stage->ready;
		struct helper *helper = helper_for_stage(stage);

		if (helper == NULL)
			break;
		/* to the end of the ring: the others' turn */
		DL_DELETE2(stage->ready, destination, previous, next);
		DL_APPEND2(stage->ready, destination, previous, next);
		destination->in_flight++; /* keeps it while its job is started */
		start_job(stage->manager, destination->waiting, helper);
		destination->in_flight--;
		destination_update(destination);
	}
}

void stage_dispatch(void *context)
{
	struct manager *manager = context;

	if (manager->is_stopping)
		return;
	for (struct stage *stage = manager->stages; stage != NULL; stage = stage->next)
		dispatch_stage(stage);
}

static void drop_destination_jobs(struct manager *manager, struct destination *destination)
{
	destination->in_flight++; /* keeps it until the end of the loop */
	while (destination->waiting != NULL) {
		struct message *message = destination->waiting->message;

		stage_job_ended(manager, destination->waiting);
		message_continue(manager, message);
	}
	destination->in_flight--;
	destination_update(destination);
}

void stage_drop_waiting(struct manager *manager)
{
	for (struct stage *stage = manager->stages; stage != NULL; stage = stage->next) {
		struct destination *destination;
		struct destination *next;

		HASH_ITER (hh, stage->destinations, destination, next)
			drop_destination_jobs(manager, destination);
	}
}

void stage_free_all(struct manager *manager)
{
	while (manager->stages != NULL) {
		struct stage *stage = manager->stages;

		manager->stages = stage->next;
		free(stage->name);
		free(stage);
	}
}
