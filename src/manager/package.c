// SPDX-License-Identifier: ISC
#include "manager/package.h"
#include "base/panic.h"
#include "mail/package.h"
#include "manager/outcome.h"
#include "os/clock.h"
#include "queue/control/checksum.h"
#include <stdlib.h>
#include <string.h>

enum { SETTLED_AT_ONCE = 1000 }; /* deliveries in one message to the helper */

const char *package_group_of_delivery(const struct manager *manager,
				      const struct queue_delivery *delivery)
{
	char name[QUEUE_SERVICE_MAX + 1];

	if (delivery->route == QUEUE_ROUTE_REMOTE)
		return handed_group_of(manager->handed, "remote");
	if (delivery->route != QUEUE_ROUTE_LOCAL || delivery->service.length >= sizeof name)
		return "";
	memcpy(name, delivery->service.data, delivery->service.length);
	name[delivery->service.length] = '\0';
	return handed_group_of(manager->handed, name);
}

const char *package_group_of(const struct manager *manager, const struct job *job)
{
	return handed_group_of(manager->handed, transport_name(job_transport(job)));
}

void package_update_transports(struct manager *manager)
{
	struct transport *transport = NULL;

	while ((transport = transports_next(manager->transports, transport)) != NULL)
		transport_hand_over(transport, *handed_group_of(manager->handed,
								transport_name(transport)) != '\0');
}

static bool is_at_s4(const struct message *message)
{
	return message->facts.place == MESSAGE_AT_S4;
}

/* --- numbers --- */

static bool have_same_transport(const struct queue_delivery *a, const struct queue_delivery *b)
{
	return a->route == b->route && str_equal(a->service, b->service);
}

/* Whether another node has other deliveries of the same message. These may come here, too, and one
 * after the other under the same number: they have the same birth, and so the same id. What is handed
 * over of each is told apart by the numbers of its deliveries. */
static bool is_part_of_message(const struct message *message)
{
	struct mail_package package;
	struct str name;

	return mail_package_split(message->control->envelope->handed, NULL, &name) &&
	       mail_package_parse(name, &package) && package.first > 0;
}

bool package_must_be_recorded(struct manager *manager, const struct message *message)
{
	const struct queue_control *control = message->control;
	bool is_handed = false;
	bool is_one = control->delivery_count <= IPC_JOB_RECIPIENTS_MAX &&
		      !is_part_of_message(message);

	if (!is_at_s4(message) || !handed_is_configured(manager->handed))
		return false;
	for (size_t i = 0; i < control->delivery_count; i++) {
		const struct queue_delivery *delivery = &control->deliveries[i];

		is_handed |= outcome_is_open(delivery) &&
			     *package_group_of_delivery(manager, delivery) != '\0';
		is_one &= outcome_is_open(delivery) &&
			  have_same_transport(delivery, &control->deliveries[0]);
	}
	return is_handed && !is_one;
}

static bool is_whole_package(const struct job *job)
{
	return is_at_s4(job->message) && !is_part_of_message(job->message) &&
	       job->delivery_count == job->message->control->delivery_count;
}

bool package_may_go(const struct job *job)
{
	return is_whole_package(job) || job->message->facts.place == MESSAGE_AT_S5 ||
	       job->message->facts.place == MESSAGE_AT_S5_TODO;
}

/* --- the control text --- */

size_t package_size_of(const struct mail_recipient *recipient,
		       const struct queue_delivery *delivery)
{
	enum { RECORDS = 320 }; /* their words, numbers, times and checksums */

	return RECORDS + delivery->status.length + delivery->text.length +
	       recipient->address.length + recipient->original.length + delivery->address.length +
	       delivery->service.length + delivery->server.length;
}

static int compare_package_deliveries(const void *a, const void *b)
{
	const struct queue_delivery *left = a;
	const struct queue_delivery *right = b;

	return left->number < right->number ? -1 : left->number > right->number;
}

/* What delayed a delivery here, but not on the way to its destination: the other node goes on with
 * that. Whether this one could be reached is nobody else's business. */
static bool was_tried_here(const struct queue_delivery *delivery)
{
	enum queue_trigger_kind kind = queue_trigger_kind(delivery->trigger);

	return delivery->outcome == QUEUE_WAIT && delivery->attempts > 0 &&
	       kind != QUEUE_TRIGGER_NODES && kind != QUEUE_TRIGGER_NODE;
}

/* The deliveries of JOB as the other node gets them. A trigger is set here, not there. */
static struct queue_delivery *copy_deliveries(const struct job *job)
{
	struct queue_delivery *copies = memory_alloc(job->delivery_count * sizeof *copies);

	for (uint32_t i = 0; i < job->delivery_count; i++) {
		const struct queue_delivery *delivery =
			&job->message->control->deliveries[job->deliveries[i].index];

		copies[i] = (struct queue_delivery){.number = delivery->number,
						    .recipient = delivery->recipient,
						    .route = delivery->route,
						    .service = delivery->service,
						    .server = delivery->server,
						    .address = delivery->address,
						    .trigger = STR(""),
						    .delayed_us = delivery->delayed_us};
		if (!was_tried_here(delivery))
			continue;
		copies[i].outcome = QUEUE_WAIT;
		copies[i].attempts = delivery->attempts;
		copies[i].changed_us = delivery->changed_us;
		copies[i].until_us = delivery->until_us;
		copies[i].status = delivery->status;
		copies[i].text = delivery->text;
	}
	qsort(copies, job->delivery_count, sizeof *copies, compare_package_deliveries);
	return copies;
}

static bool has_recipient(const struct queue_delivery *deliveries, size_t count, uint32_t number)
{
	for (size_t i = 0; i < count; i++)
		if (deliveries[i].recipient == number)
			return true;
	return false;
}

/* The envelope with the recipients of DELIVERIES only. */
static int write_envelope_for(const struct queue_control *control,
			      const struct queue_delivery *deliveries, size_t count, bool is_held,
			      struct buffer *out)
{
	struct mail_envelope envelope = *control->envelope;
	int error;

	envelope.is_held = is_held;
	envelope.recipients = memory_alloc(envelope.recipient_count * sizeof *envelope.recipients);
	envelope.recipient_count = 0;
	for (size_t i = 0; i < control->envelope->recipient_count; i++)
		if (has_recipient(deliveries, count, control->envelope->recipients[i].number))
			envelope.recipients[envelope.recipient_count++] =
				control->envelope->recipients[i];
	error = queue_control_write_envelope(out, &envelope);
	free(envelope.recipients);
	return error;
}

/* A stage's package has no map: what was tried was to hand it over. */
static int write_package_records(const struct job *job, struct queue_delivery *deliveries,
				 struct buffer *out)
{
	const struct queue_control *control = job->message->control;
	enum mail_stage stage;
	bool is_mapped = !mail_stage_parse(str_from(transport_name(job_transport(job))), &stage);
	struct queue_control tried = {.deliveries = deliveries,
				      .delivery_count = is_mapped ? job->delivery_count : 0};
	int error = 0;

	if (is_mapped)
		error = queue_control_write_map(out, deliveries, job->delivery_count,
						control->directory_version);
	return error == 0 ? queue_control_write_tried(out, &tried) : error;
}

static int write_package_text(const struct job *job, struct queue_delivery *deliveries,
			      bool is_held, struct buffer *out)
{
	const struct queue_control *control = job->message->control;
	size_t end;
	int error = write_envelope_for(control, deliveries, job->delivery_count, is_held, out);

	if (error < 0)
		return error;
	queue_checksum_add_head(out, buffer_view(out), control->data_checksum);
	end = out->length;
	error = write_package_records(job, deliveries, out);
	queue_checksum_add_records(out, end, control->envelope->id.born_us);
	return error;
}

int package_pack(struct manager *manager, const struct job *job, struct buffer *body)
{
	const struct message *message = job->message;
	struct queue_delivery *deliveries = copy_deliveries(job);
	struct buffer text CLEANUP(buffer_clear) = {0};
	char name[MAIL_PACKAGE_SIZE];
	int error =
		write_package_text(job, deliveries, hold_find(manager, message->id) != NULL, &text);

	mail_package_format((struct mail_package){message->id,
						  is_whole_package(job) ? 0 : deliveries[0].number},
			    name);
	pack_u64(body, message->id.number);
	pack_u64(body, (uint64_t)message->id.born_us);
	pack_u64(body, message->control->envelope->size);
	pack_u32(body, message->is_new && !message->is_handed ? IPC_JOB_HAND_NEW : 0);
	pack_str(body, str_from(package_group_of(manager, job)));
	pack_str(body, str_from(name));
	pack_str(body, buffer_view(&text));
	pack_u32(body, job->delivery_count);
	for (uint32_t i = 0; i < job->delivery_count; i++)
		pack_u32(body, deliveries[i].number);
	free(deliveries);
	return error;
}

/* --- mapping --- */

/* A delivery of each recipient to SERVICE; empty: to nowhere. */
static void map_to(struct manager *manager, struct message *message, const char *service)
{
	struct queue_control *control = message->control;

	message_map_nowhere(manager, message);
	for (size_t i = 0; i < control->delivery_count && *service != '\0'; i++) {
		control->deliveries[i].route = QUEUE_ROUTE_LOCAL;
		control->deliveries[i].service = str_from(service);
	}
}

static void take_kept_deliveries(struct manager *manager, struct message *message)
{
	const struct ipc_job_report report = {.status = STR("2.0.0"),
					      .text = STR("another node has it")};
	struct outcome_terms terms = {.now_us = os_clock_wall_us()};

	map_to(manager, message, "");
	message->is_handed = true;
	for (size_t i = 0; i < message->control->delivery_count; i++) {
		struct queue_delivery *delivery = &message->control->deliveries[i];

		outcome_report(message->control->envelope->arena, delivery, &report, &terms);
		delivery->is_quiet = true;
		message->news[i] |= RECORDER_OUTCOME;
		outcome_log(message->control->envelope, delivery, &report);
	}
}

bool package_map(struct manager *manager, struct message *message)
{
	const char *stage = mail_stage_name(message->control->envelope->stage);
	struct buffer trigger CLEANUP(buffer_clear) = {0};

	if (!message->is_new && handed_is_kept(manager->handed, message->id)) {
		take_kept_deliveries(manager, message);
		return true;
	}
	if (*handed_group_of(manager->handed, stage) == '\0' ||
	    (!message->is_new && handed_is_doubtful(manager->handed, &trigger)))
		return false;
	map_to(manager, message, stage);
	return true;
}

void package_take_back(struct manager *manager, struct message *message)
{
	struct queue_control *control = message->control;

	for (size_t i = 0; i < control->delivery_count; i++) {
		struct queue_delivery *delivery = &control->deliveries[i];
		enum mail_stage stage;

		if (delivery->route != QUEUE_ROUTE_LOCAL || !outcome_is_open(delivery) ||
		    delivery->is_requeued || !mail_stage_parse(delivery->service, &stage) ||
		    *handed_group_of(manager->handed, mail_stage_name(stage)) != '\0')
			continue;
		delivery->is_requeued = true;
		message->news[i] |= RECORDER_REQUEUE;
	}
}

void package_settle_recorded(struct manager *manager, const struct message *message)
{
	const struct queue_control *control = message->control;
	uint32_t numbers[SETTLED_AT_ONCE];
	size_t count = 0;

	for (size_t i = 0; i < control->delivery_count; i++) {
		if (outcome_is_open(&control->deliveries[i]) || message->news[i] != 0)
			continue;
		numbers[count++] = control->deliveries[i].number;
		if (count == SETTLED_AT_ONCE) {
			handed_settle(manager->handed, message->id, numbers, count);
			count = 0;
		}
	}
	if (count > 0)
		handed_settle(manager->handed, message->id, numbers, count);
}
