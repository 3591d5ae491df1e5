// SPDX-License-Identifier: ISC
#include "manager/message.h"
#include "base/panic.h"
#include "log/event.h"
#include "manager/internal.h"
#include "manager/link/remap.h"
#include "manager/notice.h"
#include "os/clock.h"
#include "os/file/file.h"
#include <errno.h>
#include <stdlib.h>

struct message *message_find(const struct manager *manager, uint64_t number)
{
	struct message *message;

	HASH_FIND(hh, manager->messages, &number, sizeof number, message);
	return message;
}

struct message *message_new(struct manager *manager, uint64_t number, struct message_facts facts)
{
	struct message *message = memory_alloc_zero(1, sizeof *message);

	message->id.number = number;
	message->facts = facts;
	message->facts.rest = MESSAGE_RESTS_FOR_TIME;
	message->recording.message = message;
	message->state = MESSAGE_READING;
	manager->in_state[MESSAGE_READING]++;
	HASH_ADD(hh, manager->messages, id.number, sizeof message->id.number, message);
	return message;
}

void message_weigh(struct manager *manager, struct message *message, size_t units, bool is_mapping)
{
	struct share *share = &manager->share;

	share->used += units;
	share->used -= message->units;
	if (message->is_mapping)
		share->mapping -= message->units;
	if (is_mapping)
		share->mapping += units;
	message->units = units;
	message->is_mapping = is_mapping;
}

void message_free(struct manager *manager, struct message *message)
{
	if (message->jobs > 0)
		panic("message %llu is forgotten while %u jobs have it",
		      (unsigned long long)message->id.number, message->jobs);
	manager->in_state[message->state]--;
	message_weigh(manager, message, 0, false);
	recorder_cancel(manager->recorder, &message->recording);
	report_abandon(message->report);
	manager->content_bytes -= message->content.length;
	buffer_clear(&message->content);
	queue_control_free(message->control);
	free(message->news);
	HASH_DELETE(hh, manager->messages, message);
	free(message);
}

/* --- its control file --- */

bool message_is_damage(int error)
{
	return error == -EBADMSG || error == -ENODATA || error == -EFBIG || error == -EINVAL;
}

static int load_control_of_message(struct manager *manager, struct message *message,
				   struct str text)
{
	enum mail_stage stage = (enum mail_stage)message->facts.stage;
	unsigned line = 0;
	int error;

	if (text.length > 0)
		error = queue_control_parse_queued(text, &message->control, &line);
	else
		error = queue_update_load(manager->store,
					  message_facts_are_s4(message->facts) ? &stage : NULL,
					  message->id.number, &message->control, &line);
	if (error == 0 && message->control->damaged > 0)
		log_event(EVENT_RECORDS_DAMAGED, log_id(message->control->envelope->id),
			  log_from(message->control->envelope->sender),
			  log_number(recipients,
				     (int64_t)message->control->envelope->recipient_count),
			  log_number(records, message->control->damaged));
	if (message_is_damage(error))
		log_event(EVENT_MESSAGE_DAMAGED, log_number(number, (int64_t)message->id.number),
			  log_number(line, line), log_error(error));
	else if (error == -EPROTO)
		log_event(EVENT_QUEUE_ERROR, log_number(number, (int64_t)message->id.number),
			  log_string(operation, "read message"),
			  log_string(error, "its control file is not of format 1 or 2: a later "
					    "version of Stagepost has written it"));
	else if (error < 0 && error != -ENOENT)
		log_event(EVENT_QUEUE_ERROR, log_number(number, (int64_t)message->id.number),
			  log_string(operation, "read message"), log_error(error));
	return error;
}

static void take_mapped_deliveries(struct manager *manager, struct message *message,
				   struct queue_delivery *deliveries, size_t count)
{
	free(message->news);
	message->control->deliveries = deliveries;
	message->control->delivery_count = count;
	message->control->is_mapped = true;
	message->news = memory_alloc_zero(count + 1, sizeof *message->news);
	message_weigh(manager, message, share_of_message(count), false);
}

/* At S4 they come from another node, with what it has tried: the control file has yet to say so. */
static void take_written_deliveries(struct manager *manager, struct message *message)
{
	const struct queue_control *control = message->control;

	take_mapped_deliveries(manager, message, control->deliveries, control->delivery_count);
	if (!message_facts_are_s4(message->facts))
		return;
	for (size_t i = 0; i < control->delivery_count; i++) {
		if (control->deliveries[i].outcome != QUEUE_PENDING)
			message->news[i] |= RECORDER_OUTCOME;
		if (control->deliveries[i].delayed_us > 0)
			message->news[i] |= RECORDER_DELAY;
	}
}

/* Whether an order maps it again. What was mapped to "none" only because the directory was away was
 * at no host, and waits behind others. */
static bool had_route(const struct queue_control *control)
{
	for (size_t i = 0; i < control->delivery_count; i++)
		if (control->deliveries[i].is_requeued &&
		    !outcome_is_redirected(&control->deliveries[i]) &&
		    control->deliveries[i].route != QUEUE_ROUTE_NONE)
			return true;
	return false;
}

static void take_remapping(struct manager *manager, struct message *message,
			   const struct queue_delivery *fresh, size_t count)
{
	struct remap remap = remap_merge(message->control, fresh, count, os_clock_wall_us());

	message->is_requeued = had_route(message->control);
	message->former = message->control->deliveries;
	message->former_count = message->control->delivery_count;
	take_mapped_deliveries(manager, message, remap.deliveries, remap.count);
	for (size_t i = 0; i < remap.count; i++)
		if (remap.is_new[i] && remap.deliveries[i].outcome != QUEUE_PENDING)
			message->news[i] |= RECORDER_OUTCOME;
	message->news[0] |= RECORDER_MAP;
}

void message_take_mapping(struct manager *manager, struct message *message,
			  struct queue_delivery *deliveries, size_t count)
{
	if (message->control->is_mapped) {
		take_remapping(manager, message, deliveries, count);
		return;
	}
	take_mapped_deliveries(manager, message, deliveries, count);
	for (size_t i = 0; i < count; i++)
		if (deliveries[i].outcome != QUEUE_PENDING)
			message->news[i] |= RECORDER_OUTCOME;
}

int message_accept_data(struct manager *manager, struct message *message)
{
	enum mail_stage stage = (enum mail_stage)message->facts.stage;
	const enum mail_stage *place = message_facts_are_s4(message->facts) ? &stage : NULL;
	uint32_t checksum = 0;
	int file = queue_update_open_data(manager->store, place, message->id.number);
	int error = file < 0 ? file
			     : queue_update_checksum_data(file, message->control->envelope->size,
							  &checksum);

	os_file_close(file);
	if (error < 0)
		return error;
	if (queue_control_has_data(message->control, checksum))
		return 0;
	log_event(EVENT_DATA_ACCEPTED, log_id(message->id));
	queue_control_take_data(message->control, checksum);
	for (size_t i = 0; i < message->control->delivery_count; i++) {
		struct queue_delivery *delivery = &message->control->deliveries[i];

		if (!outcome_is_open(delivery))
			continue;
		delivery->until_us = os_clock_wall_us();
		message->news[i] |= RECORDER_OUTCOME;
	}
	return 0;
}

int message_read(struct manager *manager, struct message *message, struct str text)
{
	int error = load_control_of_message(manager, message, text);

	if (error < 0)
		return error;
	message->id.born_us = message->control->envelope->id.born_us;
	if (message->facts.is_found)
		log_event(EVENT_MESSAGE_FOUND, log_id(message->control->envelope->id),
			  log_str(received, message->control->envelope->received),
			  log_from(message->control->envelope->sender),
			  log_number(recipients,
				     (int64_t)message->control->envelope->recipient_count),
			  log_number(size, (int64_t)message->control->envelope->size));
	message->facts.is_found = false;
	if (message->control->envelope->trigger.length > 0) /* set by whoever queued it */
		triggers_look(manager->triggers, message->control->envelope->trigger);
	if (message->control->is_mapped)
		take_written_deliveries(manager, message);
	else
		message_weigh(manager, message,
			      share_of_message(message->control->envelope->recipient_count), true);
	return 0;
}

void message_map_nowhere(struct manager *manager, struct message *message)
{
	const struct mail_envelope *envelope = message->control->envelope;
	struct queue_delivery *deliveries =
		arena_alloc(envelope->arena, (envelope->recipient_count + 1) * sizeof *deliveries);

	for (size_t i = 0; i < envelope->recipient_count; i++)
		deliveries[i] = (struct queue_delivery){.number = envelope->recipients[i].number,
							.recipient = envelope->recipients[i].number,
							.route = QUEUE_ROUTE_NONE,
							.address = envelope->recipients[i].address};
	take_mapped_deliveries(manager, message, deliveries, envelope->recipient_count);
}

void message_map_later(struct manager *manager, struct message *message, struct str text)
{
	const struct mail_envelope *envelope = message->control->envelope;
	int64_t now_us = os_clock_wall_us();

	message_map_nowhere(manager, message);
	for (size_t i = 0; i < message->control->delivery_count; i++) {
		struct queue_delivery *delivery = &message->control->deliveries[i];

		outcome_defer(delivery, now_us, now_us, "4.4.3", "");
		delivery->text = arena_copy_str(envelope->arena, text);
		delivery->is_requeued = true;
		message->news[i] |= RECORDER_OUTCOME | RECORDER_REQUEUE;
		outcome_log(envelope, delivery, NULL);
	}
}

int64_t message_latest_us(const struct manager *manager, const struct message *message)
{
	const struct mail_envelope *envelope = message->control->envelope;
	int64_t end_us = mail_envelope_start_us(envelope) + manager->config->queuelifetime_us;

	return envelope->deadline.mode == MAIL_DEADLINE_RETURN && envelope->deadline.at_us < end_us
		       ? envelope->deadline.at_us
		       : end_us;
}

int64_t message_look_us(const struct manager *manager, const struct message *message,
			int64_t now_us)
{
	const struct mail_deadline *deadline = &message->control->envelope->deadline;
	int64_t look_us = notice_delay_due_us(message->control, manager->config);

	if (look_us <= now_us) /* the attempt that it waits for may spare the sender that */
		look_us = now_us + MINUTE_US;
	if (deadline->mode == MAIL_DEADLINE_RETURN && deadline->at_us < look_us)
		look_us = deadline->at_us;
	return look_us < INT64_MAX ? look_us : 0;
}

bool message_has_news(const struct message *message)
{
	for (size_t i = 0; i < message->control->delivery_count; i++)
		if (message->news[i] != 0)
			return true;
	return false;
}

bool message_has_new_map(const struct message *message)
{
	return message->news[0] & RECORDER_MAP;
}

void message_keep_content(struct manager *manager, struct message *message, struct str content)
{
	enum { KEPT_MAX = 4 << 20 };

	if (manager->content_bytes + content.length > KEPT_MAX)
		return;
	buffer_append_str(&message->content, content);
	manager->content_bytes += content.length;
}

struct recorder_work message_work(const struct message *message)
{
	return (struct recorder_work){.id = message->id,
				      .facts = message->facts,
				      .control = message->control,
				      .news = message->news,
				      .former = message->former,
				      .former_count = message->former_count};
}

struct report_subject message_subject(const struct message *message)
{
	return (struct report_subject){message->id, message->facts, message->control,
				       message->reported_us, message->is_sound};
}

/* --- to sleep --- */

/* Not if it waits for something, or has yet to go through a step, that the disk does not show. */
static bool is_left_to_scans(const struct manager *manager, const struct message *message,
			     const struct waiters *waiters, int64_t due_us)
{
	return waiters == NULL && message->facts.place == MESSAGE_AT_S5 &&
	       message->facts.order == MESSAGE_ORDER_NONE && !message->facts.is_reported &&
	       scan_will_find(manager->scan, due_us);
}

enum message_state message_sleep(struct manager *manager, struct message *message,
				 struct waiters *waiters, int64_t due_us)
{
	struct sleeper *sleeper;

	if (is_left_to_scans(manager, message, waiters, due_us))
		return MESSAGE_ASLEEP;
	wake_check_clock(manager->wake);
	sleeper = sleepers_add(&manager->sleepers, message->id.number, due_us);
	sleeper->facts = message->facts;
	sleeper->facts.is_released = false;
	sleeper->facts.is_hurried = false;
	if (waiters != NULL)
		sleepers_wait(&manager->sleepers, sleeper, waiters);
	return MESSAGE_ASLEEP;
}
