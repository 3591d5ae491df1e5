// SPDX-License-Identifier: ISC
/*
 * Which delivery is started when: a stage has destinations, a destination has
 * jobs that wait. Destinations with room take turns, one job each, so that none
 * holds up another.
 */
#include "base/panic.h"
#include "ipc/job.h"
#include "log/event.h"
#include "manager/destination.h"
#include "manager/internal.h"
#include "manager/schedule.h"
#include "os/clock.h"
#include "os/file.h"
#include "queue/message.h"
#include <errno.h>
#include <stdlib.h>

struct stage *stage_find(struct manager *manager, struct str name)
{
	for (struct stage *stage = manager->stages; stage != NULL; stage = stage->next)
		if (str_equal(name, str_from(stage->name)))
			return stage;
	return NULL;
}

size_t stage_services(struct manager *manager, const char *names[STAGE_SERVICES_MAX])
{
	size_t count = 0;

	for (struct stage *stage = manager->stages; stage != NULL; stage = stage->next)
		if (!stage->is_remote && count < STAGE_SERVICES_MAX)
			names[count++] = stage->name;
	return count;
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

void stage_job_ended(struct manager *manager, struct job *job)
{
	struct destination *destination = job->destination;

	if (job->helper != NULL) {
		DL_DELETE2(job->helper->jobs, job, previous, next);
		HASH_DELETE(hh, manager->jobs, job);
		job->helper->in_flight--;
		destination->stage->in_flight--;
		destination->in_flight--;
		destination_learn(destination, !job->is_unreached);
	} else {
		destination_remove_job(destination, job);
	}
	trigger_probe_ended(manager, job->message);
	job->message->jobs--;
	destination_update(destination);
	free(job->deliveries);
	free(job);
	os_loop_defer(manager->loop, &manager->dispatch_task);
}

static void put_in_flight(struct manager *manager, struct job *job, struct helper *helper)
{
	struct destination *destination = job->destination;

	destination_remove_job(destination, job);
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

_Static_assert((int)IPC_JOB_CONTENT_MAX == (int)QUEUE_BY_VALUE_MAX,
	       "a file that is used again would be handed out");

/* A large message goes by its file's descriptor, others by value (queue/spare.c). */
static int open_content(struct manager *manager, const struct message *message,
			struct buffer *content)
{
	const enum mail_stage *stage = message->is_queued ? &message->stage : NULL;
	uint64_t size = message->control->envelope->size;

	if (size > QUEUE_BY_VALUE_MAX)
		return queue_update_open_data(manager->store, stage, message->number);
	return queue_update_read_data(manager->store, stage, message->number, size, content);
}

static void start_job(struct manager *manager, struct job *job, struct helper *helper)
{
	struct buffer body CLEANUP(buffer_clear) = {0};
	struct buffer content CLEANUP(buffer_clear) = {0};
	int file = open_content(manager, job->message, &content);

	if (file < 0) {
		cannot_start(manager, job, file);
		return;
	}
	put_in_flight(manager, job, helper);
	stage_pack_job(job, &body);
	if (job->message->control->envelope->size <= QUEUE_BY_VALUE_MAX) {
		ipc_job_send_start(helper->channel, job->tag, &body, buffer_view(&content));
		return;
	}
	pack_str(&body, STR(""));
	ipc_channel_send(helper->channel, IPC_JOB_START, job->tag, buffer_view(&body), &file, 1);
	os_file_close(file);
}

/* The next destination's next job; false when that has to wait. */
static bool dispatch_destination(struct stage *stage, struct helper *helper)
{
	struct destination *destination = stage->ready;
	struct job *job = destination_next_job(destination);

	/* to the end of the ring: the others' turn */
	DL_DELETE2(stage->ready, destination, previous, next);
	DL_APPEND2(stage->ready, destination, previous, next);
	if (job->is_retry && !wake_may_start_retry(stage->manager)) {
		if (destination->turn == NULL)
			return false;
		job = destination_next_job(destination); /* new mail's turn, then */
	}
	destination->in_flight++; /* keeps it while its job is started */
	start_job(stage->manager, job, helper);
	destination->in_flight--;
	destination_update(destination);
	return true;
}

/* Until nothing more may start: all that are ready were asked in vain. */
static void dispatch_stage(struct stage *stage)
{
	const struct destination *refused = NULL;

	while (!stage->is_paused && stage->ready != NULL && stage->ready != refused &&
	       stage->in_flight < stage->concurrency) {
		struct destination *destination = stage->ready;
		struct helper *helper = helper_for_stage(stage);

		if (helper == NULL)
			break;
		if (dispatch_destination(stage, helper))
			refused = NULL;
		else if (refused == NULL)
			refused = destination;
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
	while (destination->waiting > 0) {
		struct job *job = destination_next_job(destination);
		struct message *message = job->message;

		stage_job_ended(manager, job);
		message_continue(manager, message);
	}
	destination->in_flight--;
	destination_update(destination);
}

void stage_destination_blocked(struct destination *destination, struct trigger *trigger)
{
	destination->blocked = trigger;
	/* only other hosts' mail is kept back by it: what is for a service would be made a job
	 * again at once, without end */
	if (destination->stage->is_remote)
		drop_destination_jobs(destination->stage->manager, destination);
}

void stage_unblock(struct manager *manager, const struct trigger *trigger)
{
	for (struct stage *stage = manager->stages; stage != NULL; stage = stage->next) {
		struct destination *destination;
		struct destination *next;

		HASH_ITER (hh, stage->destinations, destination, next) {
			if (destination->blocked != trigger)
				continue;
			destination->blocked = NULL;
			destination_update(destination);
		}
	}
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
		struct destination *destination;
		struct destination *next;

		HASH_ITER (hh, stage->destinations, destination, next) {
			destination->blocked = NULL; /* the last that holds it */
			destination_update(destination);
		}
		manager->stages = stage->next;
		destination_free_all(stage);
		free(stage->name);
		free(stage);
	}
}
