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
#include "manager/destination.h"
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
	return delivery->until_us <= now_us || message->is_released;
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
	return destination != NULL && destination_is_crowded(destination) ? destination : NULL;
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

static void pack_job(const struct job *job, struct buffer *body)
{
	const struct message *message = job->message;
	const struct mail_envelope *envelope = message->control->envelope;

	pack_u64(body, message->number);
	pack_u64(body, (uint64_t)message->born_us);
	pack_str(body, envelope->sender);
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
		start_job(stage->manager, destination_next_job(destination), helper);
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
