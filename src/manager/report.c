// SPDX-License-Identifier: ISC
/* What helpers report of jobs, which is trusted only as far as it can be checked. */
#include "manager/internal.h"
#include "manager/notice.h"
#include "manager/outcome.h"
#include "manager/package.h"
#include "os/clock.h"
#include <string.h>

static struct job_delivery *find_delivery_of_job(struct job *job, uint32_t number)
{
	for (uint32_t i = 0; i < job->delivery_count; i++)
		if (job->message->control->deliveries[job->deliveries[i].index].number == number)
			return &job->deliveries[i];
	return NULL;
}

static bool is_of_service(struct str trigger)
{
	enum queue_trigger_kind kind = queue_trigger_kind(trigger);

	return kind == QUEUE_TRIGGER_SERVICE || kind == QUEUE_TRIGGER_NODES;
}

/* Jobs that wait for the same host or service are dropped; their messages sleep until the trigger
 * is released. What a program or a list waits for is not what others of its service would. */
static void block_destination(struct manager *manager, struct job *job, struct trigger *trigger)
{
	struct job *beside;

	if (job_obstacle(job) != NULL ||
	    (*job_destination(job) == '\0' && !is_of_service(trigger_name(trigger))))
		return;
	transport_block(job, trigger);
	while ((beside = job_waiting_beside(job)) != NULL)
		dispatch_end(manager, beside);
}

/* What waits for its turn in a class of hosts does so although the host answers. */
static void release_answered(struct manager *manager, struct trigger *trigger)
{
	if (trigger != NULL && queue_trigger_kind(trigger_name(trigger)) != QUEUE_TRIGGER_CLASS)
		triggers_release(manager->triggers, trigger);
}

/* A report that names a trigger means that the server was not reached. Any other report proves
 * that the event which this delivery or its destination waited for has happened. */
static void learn_from_report(struct manager *manager, struct job *job,
			      const struct queue_delivery *delivery,
			      const struct ipc_job_report *report)
{
	if (delivery->trigger.length > 0 && !str_equal(delivery->trigger, report->trigger))
		release_answered(manager, triggers_find(manager->triggers, delivery->trigger));
	if (report->trigger.length > 0) {
		struct trigger *trigger =
			triggers_set(manager->triggers, report->trigger, report->text);
		enum queue_trigger_kind kind = queue_trigger_kind(report->trigger);

		/* a program that names a trigger has answered */
		job->is_unreached = kind != QUEUE_TRIGGER_PIPE;
		job->is_held = kind == QUEUE_TRIGGER_CLASS || kind == QUEUE_TRIGGER_NODE;
		if (kind == QUEUE_TRIGGER_DIRECTORY)
			resolver_await(manager->resolver);
		if (trigger != NULL) {
			deliver_note_wait(delivery, trigger);
			block_destination(manager, job, trigger);
		}
	} else {
		release_answered(manager, (struct trigger *)(uintptr_t)job_obstacle(job));
	}
}

/* Whether TRIGGER begins with PREFIX, the name of TRANSPORT, and a dot. */
static bool is_trigger_of_transport(const struct transport *transport, struct str trigger,
				    struct str prefix)
{
	struct str name = str_from(transport_name(transport));

	if (!str_starts_with(trigger, prefix))
		return false;
	trigger = str_skip(trigger, prefix.length);
	return str_starts_with(trigger, name) && trigger.length > name.length + 1 &&
	       trigger.data[name.length] == '.';
}

/* "service.NAME" of the job's service, optionally followed by a dot and the server that the
 * directory named. */
static bool is_of_server(const struct job *job, struct str trigger)
{
	struct buffer name CLEANUP(buffer_clear) = {0};
	const char *server = job_destination(job);

	buffer_append_format(&name, "service.%s%s%s", transport_name(job_transport(job)),
			     *server != '\0' ? "." : "", server);
	return str_equal(trigger, buffer_view(&name));
}

static bool is_of_kind(const struct config_service *service, enum config_service_kind kind)
{
	return service != NULL && service->kind == kind;
}

/* Those whose helper can fail to reach a server. */
static bool has_server(enum config_service_kind kind)
{
	return kind == CONFIG_SERVICE_LMTP || kind == CONFIG_SERVICE_MAILBOX ||
	       kind == CONFIG_SERVICE_IMAP;
}

/* Another node of GROUP may have the message; or none can be reached. */
static bool is_of_group(const char *group, struct str trigger)
{
	return queue_trigger_kind(trigger) == QUEUE_TRIGGER_NODE ||
	       (queue_trigger_kind(trigger) == QUEUE_TRIGGER_NODES &&
		str_equal(str_skip(trigger, strlen("nodes.")), str_from(group)));
}

/* A helper may only name triggers of what it works for: no report can block mail of another
 * service, or for another server. */
static bool may_name_trigger(struct manager *manager, const struct job *job, struct str trigger)
{
	const struct transport *transport = job_transport(job);
	const struct config_service *service =
		config_service_find(manager->config, str_from(transport_name(transport)));

	if (trigger.length == 0)
		return true;
	if (*package_group_of(manager, job) != '\0')
		return is_of_group(package_group_of(manager, job), trigger);
	if (queue_trigger_kind(trigger) == QUEUE_TRIGGER_CLASS)
		return gate_knows(manager->gate, trigger) &&
		       (transport_is_remote(transport) || is_of_kind(service, CONFIG_SERVICE_LMTP));
	if (transport_is_remote(transport))
		return queue_trigger_kind(trigger) == QUEUE_TRIGGER_HOST;
	if (strcmp(transport_name(transport), CONFIG_LIST_SERVICE) == 0)
		return queue_trigger_kind(trigger) == QUEUE_TRIGGER_DIRECTORY;
	if (is_of_kind(service, CONFIG_SERVICE_PIPE))
		return is_trigger_of_transport(transport, trigger, STR("pipe."));
	return service != NULL && has_server(service->kind) && is_of_server(job, trigger);
}

static void count_attempt(struct manager *manager, const struct queue_delivery *delivery,
			  bool is_handed)
{
	struct tally *tally = delivery->outcome == QUEUE_WAIT   ? &manager->deferred
			      : delivery->outcome != QUEUE_DONE ? &manager->failed
			      : is_handed                       ? &manager->handed_over
								: &manager->delivered;

	tally_add(tally, os_clock_monotonic_us());
}

bool report_take(void *context, void *subject, const struct ipc_job_report *report)
{
	struct manager *manager = context;
	struct job *job = subject;
	struct message *message = job->message;
	struct job_delivery *reported = find_delivery_of_job(job, report->number);
	const struct outcome_terms terms = dispatch_terms(manager, job);
	struct queue_delivery *delivery;

	if (reported == NULL || reported->is_reported ||
	    !may_name_trigger(manager, job, report->trigger))
		return false;
	reported->is_reported = true;
	delivery = &message->control->deliveries[reported->index];
	learn_from_report(manager, job, delivery, report);
	outcome_report(message->control->envelope->arena, delivery, report, &terms);
	delivery->is_quiet = report->flags & IPC_JOB_PASSED_ON &&
			     notice_is_success_wanted(message->control, delivery);
	delivery->is_announced =
		delivery->outcome == QUEUE_DONE &&
		notice_is_relay_wanted(message->control, delivery, report->flags & IPC_JOB_TIMED);
	message->news[reported->index] |= RECORDER_OUTCOME;
	if (outcome_redirect(delivery,
			     mail_envelope_find(message->control->envelope, delivery->recipient),
			     terms.now_us))
		message->news[reported->index] |= RECORDER_REQUEUE;
	outcome_log(message->control->envelope, delivery, report);
	count_attempt(manager, delivery, terms.is_handed);
	return true;
}
