// SPDX-License-Identifier: ISC
/* Starts jobs with helpers, and ends them. */
#include "base/checksum.h"
#include "base/panic.h"
#include "log/event.h"
#include "manager/internal.h"
#include "manager/notice.h"
#include "manager/outcome.h"
#include "manager/package.h"
#include "manager/start.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "os/random.h"
#include "queue/message.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* --- the end of a job --- */

struct outcome_terms dispatch_terms(const struct manager *manager, const struct job *job)
{
	return (struct outcome_terms){
		.start_us = mail_envelope_start_us(job->message->control->envelope),
		.deadline = job->message->control->envelope->deadline,
		.lifetime_us = manager->config->queuelifetime_us,
		.skip = transport_skip(job_transport(job)),
		.now_us = os_clock_wall_us(),
		.random = os_random_u64(),
		.is_handed = *package_group_of(manager, job) != '\0',
	};
}

/* Whether JOB has a turn, and came to nothing. */
static bool loses_turn(const struct manager *manager, const struct job *job)
{
	const struct message *message = job->message;

	for (uint32_t i = 0; i < job->delivery_count; i++)
		if (!outcome_is_open(&message->control->deliveries[job->deliveries[i].index]))
			return false;
	return triggers_turn_of(manager->triggers, message) != NULL;
}

/* JOB is over, and its message does not go on yet. */
static void take_job_off(struct manager *manager, struct job *job)
{
	struct message *message = job->message;

	message->lost_turn = loses_turn(manager, job);
	triggers_probe_ended(manager->triggers, message);
	DL_DELETE2(message->job_list, job, of_message_previous, of_message_next);
	transport_job_ended(job, os_clock_monotonic_us());
	message->jobs--;
	os_loop_defer(manager->loop, &manager->dispatch_task);
}

void dispatch_end(struct manager *manager, struct job *job)
{
	struct message *message = job->message;

	take_job_off(manager, job);
	life_event(manager, message, MESSAGE_JOB_ENDED);
}

/* Deliveries that were not reported: the helper ended, or finished the job without a report. */
static void interrupt_rest(struct manager *manager, struct job *job)
{
	struct message *message = job->message;
	const struct outcome_terms terms = dispatch_terms(manager, job);

	for (uint32_t i = 0; i < job->delivery_count; i++) {
		uint32_t index = job->deliveries[i].index;

		if (job->deliveries[i].is_reported)
			continue;
		job->deliveries[i].is_reported = true;
		outcome_interrupt(message->control->envelope->arena,
				  &message->control->deliveries[index], &terms);
		message->news[index] |= RECORDER_OUTCOME;
		outcome_log(message->control->envelope, &message->control->deliveries[index], NULL);
	}
}

/* It has waited for its turn until its message's deadline. */
static void miss_deadline(struct manager *manager, struct job *job)
{
	struct message *message = job->message;
	struct mail_envelope *envelope = message->control->envelope;

	for (uint32_t i = 0; i < job->delivery_count; i++) {
		uint32_t index = job->deliveries[i].index;
		struct queue_delivery *delivery = &message->control->deliveries[index];

		job->deliveries[i].is_reported = true;
		outcome_miss(envelope->arena, delivery, &envelope->deadline, os_clock_wall_us());
		message->news[index] |= RECORDER_OUTCOME;
		outcome_log(envelope, delivery, NULL);
	}
	dispatch_end(manager, job);
}

/* Jobs that have waited until their messages must be looked at. */
static void end_overdue(struct manager *manager)
{
	int64_t now_us = os_clock_wall_us();
	struct job *job;

	while ((job = transports_overdue(manager->transports, now_us)) != NULL) {
		if (outcome_is_missed(&job->message->control->envelope->deadline, now_us)) {
			miss_deadline(manager, job);
			continue;
		}
		job->message->is_delay_due = true;
		dispatch_end(manager, job);
	}
}

void dispatch_on_ended(void *context, void *subject)
{
	struct manager *manager = context;

	interrupt_rest(manager, subject);
	dispatch_end(manager, subject);
}

/* --- starting --- */

_Static_assert((int)IPC_JOB_CONTENT_MAX == (int)QUEUE_BY_VALUE_MAX,
	       "a file that is used again would be handed out");

/* A large message is passed as its file's descriptor, a small one by value (queue/intake/spare.c):
 * 0 or -errno; *FILE_OUT may be invalid. */
static int read_content_for_job(struct manager *manager, struct message *message,
				struct buffer *content, int *file_out)
{
	enum mail_stage stage = (enum mail_stage)message->facts.stage;
	const enum mail_stage *place = message_facts_are_s4(message->facts) ? &stage : NULL;
	uint64_t size = message->control->envelope->size;
	bool is_by_value =
		size <= QUEUE_BY_VALUE_MAX; /* it passes here: it is compared each time */
	uint32_t checksum = 0;
	int error = 0;

	if (is_by_value) {
		error = queue_update_read_data(manager->store, place, message->id.number, size,
					       content);
		if (error == 0)
			checksum = checksum_extend(0, buffer_data(content), content->length);
	} else {
		*file_out = queue_update_open_data(manager->store, place, message->id.number);
		if (*file_out < 0)
			return *file_out;
		if (!message->is_sound)
			error = queue_update_checksum_data(*file_out, size, &checksum);
	}
	if (error == 0 && (is_by_value || !message->is_sound) &&
	    !queue_control_has_data(message->control, checksum))
		error = -EBADMSG;
	message->is_sound = error == 0;
	return error;
}

/* What is not as it was queued is not delivered as if it were. */
static void hold_damaged(struct manager *manager, struct job *job)
{
	struct message *message = job->message;
	const struct mail_envelope *envelope = message->control->envelope;
	const struct outcome_terms terms = dispatch_terms(manager, job);

	log_event(EVENT_DATA_DAMAGED, log_id(message->id), log_from(envelope->sender),
		  log_number(recipients, (int64_t)envelope->recipient_count),
		  log_number(size, (int64_t)envelope->size));
	for (uint32_t i = 0; i < job->delivery_count; i++) {
		uint32_t index = job->deliveries[i].index;

		job->deliveries[i].is_reported = true;
		outcome_damage(&message->control->deliveries[index], &terms);
		message->news[index] |= RECORDER_OUTCOME;
		outcome_log(envelope, &message->control->deliveries[index], NULL);
	}
	dispatch_end(manager, job);
}

/* A part of a message whose numbers are not on the disk is deferred, and so goes there. */
static void give_job(struct manager *manager, struct job *job, struct helper *helper,
		     struct str content, int file)
{
	struct buffer body CLEANUP(buffer_clear) = {0};
	struct message *message = job->message;
	int error = 0;

	if (*package_group_of(manager, job) == '\0') {
		start_pack(job, triggers_turn_of(manager->triggers, message) != NULL, &body);
		helper_start(helper, IPC_JOB_START, job, &body, content, file);
		return;
	}
	if (package_may_go(job))
		error = package_pack(manager, job, &body);
	if (error == 0 && package_may_go(job)) {
		message->is_handed = true;
		helper_start(helper, IPC_JOB_HAND, job, &body, content, file);
		return;
	}
	if (error < 0)
		log_event(EVENT_QUEUE_ERROR, log_id(message->id),
			  log_string(operation, "hand over"), log_error(error));
	dispatch_on_ended(manager, job);
}

/* If the data cannot be read the message is deferred, not lost. */
static void start_job(struct manager *manager, struct job *job, struct helper *helper)
{
	struct buffer content CLEANUP(buffer_clear) = {0};
	struct message *message = job->message;
	bool is_kept = message->content.length > 0 &&
		       message->content.length == message->control->envelope->size;
	int file = -1;
	int error;

	error = is_kept ? 0 : read_content_for_job(manager, message, &content, &file);
	if (error == -EBADMSG || error == -ENODATA) { /* the latter: nothing is left of them */
		os_file_close(file);
		hold_damaged(manager, job);
		return;
	}
	if (error < 0) {
		log_event(EVENT_QUEUE_ERROR, log_id(message->id),
			  log_string(operation, "open data"), log_error(error));
		dispatch_on_ended(manager, job);
		return;
	}
	give_job(manager, job, helper, buffer_view(is_kept ? &message->content : &content), file);
	if (file >= 0)
		os_file_close(file);
}

static void dispatch_transport(struct manager *manager, struct transport *transport)
{
	int64_t now_us = os_clock_monotonic_us();

	while (transport_is_ready(transport, now_us)) {
		const char *name = transport_name(transport);
		bool is_handed = *handed_group_of(manager->handed, name) != '\0';
		struct helper *helper =
			helpers_with_place(manager->helpers, is_handed ? HANDED_SERVICE : name);

		if (helper == NULL || (is_handed && !handed_knows_groups(manager->handed)))
			return;
		start_job(manager, transport_start(transport, now_us), helper);
	}
}

static const int64_t LOOK_AGAIN_US = MINUTE_US; /* the time of day may be set */

/* Looks whether the load holds back mail for other hosts. */
static void check_load_average(struct manager *manager)
{
	uint32_t limit = manager->config->load_queue;
	unsigned load = limit > 0 ? os_load_average() : 0;
	bool is_loaded = limit > 0 && load >= limit * 100;

	if (is_loaded != manager->is_loaded)
		log_event_like(log_write, is_loaded ? EVENT_LOAD_HOLDS : EVENT_LOAD_RELEASES,
			       EVENT_LOAD_HOLDS, log_number(load, load / 100),
			       log_number(load_queue, limit));
	manager->is_loaded = is_loaded;
}

/* The monotonic time when a job may have waited for too long. */
static int64_t next_overdue_us(const struct manager *manager)
{
	int64_t at_us = transports_next_overdue_us(manager->transports);
	int64_t left_us;

	if (at_us == INT64_MAX)
		return INT64_MAX;
	left_us = at_us - os_clock_wall_us();
	return os_clock_monotonic_us() + (left_us < LOOK_AGAIN_US ? left_us : LOOK_AGAIN_US);
}

void dispatch(void *context)
{
	struct manager *manager = context;
	int64_t again_us;

	if (manager->is_stopping)
		return;
	end_overdue(manager);
	check_load_average(manager);
	again_us =
		manager->is_loaded ? os_clock_monotonic_us() + DISPATCH_LOAD_AGAIN_US : INT64_MAX;
	for (struct transport *t = transports_next(manager->transports, NULL); t != NULL;
	     t = transports_next(manager->transports, t)) {
		int64_t at_us;

		if (manager->is_loaded && strcmp(transport_name(t), "remote") == 0)
			continue;
		dispatch_transport(manager, t);
		at_us = transport_look_again_us(t);
		if (at_us < again_us)
			again_us = at_us;
	}
	if (next_overdue_us(manager) < again_us)
		again_us = next_overdue_us(manager);
	if (again_us == INT64_MAX)
		os_timer_stop(manager->dispatch_timer);
	else
		os_timer_start(manager->dispatch_timer, again_us - os_clock_monotonic_us());
}

void dispatch_end_waiting(struct manager *manager, const struct message *message)
{
	struct job *next;

	for (struct job *job = message->job_list; job != NULL; job = next) {
		next = job->of_message_next;
		if (job_waits(job))
			dispatch_end(manager, job);
	}
}

/* First all, and then their messages go on: these may have new jobs, which wait too. */
void dispatch_drop_waiting(struct manager *manager)
{
	struct message **idle = NULL; /* without a job */
	size_t count = 0;
	size_t capacity = 0;
	struct job *job;

	while ((job = transports_waiting(manager->transports)) != NULL) {
		struct message *message = job->message;

		take_job_off(manager, job);
		if (message->jobs > 0)
			continue; /* it goes on when these have ended */
		idle = memory_grow(idle, count, &capacity, sizeof *idle);
		idle[count++] = message;
	}
	for (size_t i = 0; i < count; i++)
		life_event(manager, idle[i], MESSAGE_JOB_ENDED);
	free(idle);
}

void dispatch_sleep_paused(struct manager *manager)
{
	struct job *job;

	while ((job = transports_paused_retry(manager->transports)) != NULL)
		dispatch_end(manager, job);
}

void dispatch_drop_retired(struct manager *manager)
{
	struct job *job;

	while ((job = transports_retired_waiting(manager->transports)) != NULL)
		dispatch_end(manager, job);
}
