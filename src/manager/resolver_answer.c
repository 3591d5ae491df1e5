// SPDX-License-Identifier: ISC
/* What resolve answers, which is not believed: the deliveries that a message becomes. */
#include "base/panic.h"
#include "manager/internal.h"
#include "os/clock.h"
#include <stdlib.h>

/* Of one message, besides one for each recipient: what a control file holds, and memory. */
enum { DELIVERIES_MAX = 100000 };

static const int64_t ASK_AGAIN_US = 2 * SECOND_US;
static const int64_t ASK_AGAIN_MAX_US = MINUTE_US;

static struct queue_delivery *add_delivery(struct message *message)
{
	struct arena *arena = message->control->envelope->arena;

	if (message->mapping_count == message->mapping_capacity) {
		size_t capacity = message->mapping_capacity > 0 ? message->mapping_capacity * 2 : 4;
		struct queue_delivery *mapping = arena_alloc(arena, capacity * sizeof *mapping);

		if (message->mapping_count > 0)
			memcpy(mapping, message->mapping, message->mapping_count * sizeof *mapping);
		message->mapping = mapping;
		message->mapping_capacity = capacity;
	}
	return &message->mapping[message->mapping_count++];
}

static enum queue_outcome outcome_of(struct str status)
{
	if (status.length == 0 || status.data[0] == '4')
		return QUEUE_PENDING;
	return status.data[0] == '2' ? QUEUE_DONE : QUEUE_FAIL;
}

/* Whether TARGET is one of MESSAGE's, and a control file can hold it. What is decided goes
 * nowhere, and nothing else does. */
static bool is_acceptable(const struct message *message, const struct ipc_job_target *target)
{
	const struct queue_delivery delivery = {.number = target->recipient,
						.recipient = target->recipient,
						.route = (enum queue_route)target->route,
						.service = target->service,
						.address = target->address};

	return target->route <= QUEUE_ROUTE_NONE &&
	       message->mapping_count <
		       DELIVERIES_MAX + message->control->envelope->recipient_count &&
	       (target->route == QUEUE_ROUTE_NONE) == (target->status.length > 0) &&
	       (target->route == QUEUE_ROUTE_LOCAL) == (target->service.length > 0) &&
	       queue_delivery_is_writable(&delivery) &&
	       mail_envelope_find(message->control->envelope, target->recipient) != NULL;
}

static bool is_too_old(const struct manager *manager, const struct message *message)
{
	return os_clock_wall_us() - message->born_us >= manager->config->queuelifetime_us;
}

/* A message with more deliveries could not be kept: all those of the recipient become one
 * that has failed, as do the recipients that follow. */
static void refuse_recipient(struct message *message, uint32_t recipient)
{
	struct queue_delivery *delivery;
	size_t count = message->mapping_count;

	if (message->is_overfull && count > 0 && message->mapping[count - 1].recipient == recipient)
		return;
	while (count > 0 && message->mapping[count - 1].recipient == recipient)
		count--;
	message->is_overfull = true;
	message->mapping_count = count;
	delivery = add_delivery(message);
	*delivery = (struct queue_delivery){
		.recipient = recipient,
		.route = QUEUE_ROUTE_NONE,
		.address = mail_envelope_find(message->control->envelope, recipient)->address,
		.outcome = QUEUE_FAIL,
		.status = STR("5.4.6"),
		.text = STR("the message becomes too many deliveries"),
		.changed_us = os_clock_wall_us(),
	};
}

static void take_target(struct manager *manager, struct message *message,
			const struct ipc_job_target *target)
{
	struct arena *arena = message->control->envelope->arena;
	struct queue_delivery *delivery;

	if (message->is_overfull || message->mapping_count == DELIVERIES_MAX) {
		refuse_recipient(message, target->recipient);
		return;
	}
	delivery = add_delivery(message);
	message_weigh(manager, message, message->mapping_count);
	*delivery = (struct queue_delivery){
		.recipient = target->recipient,
		.route = (enum queue_route)target->route,
		.service = arena_copy_str(arena, target->service),
		.address = arena_copy_str(arena, target->address),
		.outcome = outcome_of(target->status),
		.status = arena_copy_str(arena, target->status),
		.text = arena_copy_str(arena, target->text),
	};
	if (delivery->outcome != QUEUE_PENDING)
		delivery->changed_us = os_clock_wall_us();
	if (target->status.length == 0 || target->status.data[0] != '4')
		return;
	if (is_too_old(manager, message))
		outcome_expire(message, delivery);
	else if (message->order == MESSAGE_ORDER_NONE) /* else it is given up, whatever it is */
		message->is_unresolved = true;
}

static int compare_deliveries(const void *a, const void *b)
{
	const struct queue_delivery *one = a;
	const struct queue_delivery *other = b;

	if (one->recipient != other->recipient)
		return one->recipient < other->recipient ? -1 : 1;
	return one->number < other->number ? -1 : 1;
}

/* Parts are answered in any order. */
static void sort_deliveries(struct message *message)
{
	bool is_sorted = true;

	for (size_t i = 0; i < message->mapping_count; i++) {
		message->mapping[i].number = (uint32_t)i;
		is_sorted &= i == 0 ||
			     message->mapping[i - 1].recipient <= message->mapping[i].recipient;
	}
	if (!is_sorted)
		qsort(message->mapping, message->mapping_count, sizeof *message->mapping,
		      compare_deliveries);
}

/* A recipient that becomes one delivery keeps its number; others get new ones. */
static void number_deliveries(struct message *message)
{
	const struct mail_envelope *envelope = message->control->envelope;
	uint32_t next = envelope->recipients[envelope->recipient_count - 1].number + 1;

	sort_deliveries(message);
	for (size_t i = 0; i < message->mapping_count; i++) {
		struct queue_delivery *delivery = &message->mapping[i];
		bool is_alone =
			(i == 0 || message->mapping[i - 1].recipient != delivery->recipient) &&
			(i + 1 == message->mapping_count ||
			 message->mapping[i + 1].recipient != delivery->recipient);

		delivery->number = is_alone ? delivery->recipient : next++;
	}
}

/* A recipient without a delivery would be forgotten. */
static bool has_all_recipients(const struct message *message)
{
	const struct mail_envelope *envelope = message->control->envelope;
	bool *is_there = arena_alloc(envelope->arena, envelope->recipient_count * sizeof *is_there);
	size_t count = 0;

	for (size_t i = 0; i < message->mapping_count; i++) {
		const struct mail_recipient *recipient =
			mail_envelope_find(envelope, message->mapping[i].recipient);
		bool *is_this = &is_there[recipient - envelope->recipients];

		count += !*is_this;
		*is_this = true;
	}
	return count == envelope->recipient_count;
}

/* What is not known for another reason is asked for less and less often. */
static int64_t ask_again_us(const struct message *message)
{
	int64_t now_us = os_clock_wall_us();
	int64_t delay_us = (now_us - message->born_us) / 2;

	if (delay_us < ASK_AGAIN_US)
		delay_us = ASK_AGAIN_US;
	return now_us + (delay_us < ASK_AGAIN_MAX_US ? delay_us : ASK_AGAIN_MAX_US);
}

/* Asleep until the directory is back, or else for a while. */
static void put_off(struct manager *manager, struct message *message, bool is_away, struct str text)
{
	struct trigger *trigger;

	if (is_away) {
		trigger_set(manager, STR(TRIGGER_DIRECTORY), text);
		resolver_await(manager);
	}
	trigger = is_away ? trigger_find(manager, STR(TRIGGER_DIRECTORY)) : NULL;
	if (trigger != NULL)
		message_sleep_with(manager, message, trigger_waiters(trigger),
				   message->born_us + manager->config->queuelifetime_us);
	else
		message_sleep(manager, message, ask_again_us(message));
}

/* That somebody is answered is what who waits for the directory wants to know. */
static void learn(struct manager *manager, const struct message *message)
{
	struct trigger *trigger =
		manager->triggers != NULL ? trigger_find(manager, STR(TRIGGER_DIRECTORY)) : NULL;

	if (trigger != NULL && trigger_is_probe(trigger, message))
		trigger_release_this(manager, trigger);
}

/* The deliveries of one part are taken; the message may be mapped now. TEXT: of a target that
 * is not known. */
static bool finish_answer(struct manager *manager, struct message *message,
			  const struct ipc_job_resolved *answer, struct str text)
{
	if (answer->version > message->directory_version)
		message->directory_version = answer->version;
	if (answer->flags & IPC_JOB_RESOLVED_MORE)
		return true;
	if (message->resolving == 1 && !message->is_unresolved && !has_all_recipients(message))
		return false;
	message->resolving--;
	if (message->is_unresolved) {
		put_off(manager, message, answer->flags & IPC_JOB_RESOLVED_AWAY, text);
	} else if (message->resolving == 0) {
		resolver_done(manager, message);
		number_deliveries(message);
		learn(manager, message);
		message_mapped(manager, message);
	}
	return true;
}

/* What nobody waits for any more is passed over. */
static struct message *find_asked(struct manager *manager, const struct ipc_job_resolved *answer)
{
	struct message *message = message_find(manager, answer->number);

	if (message == NULL || message->state != MESSAGE_RESOLVING || message->resolving == 0 ||
	    answer->question - message->question >= message->question_count)
		return NULL;
	return message;
}

/* False when it is malformed. */
static bool read_answer(struct manager *manager, struct unpack *body)
{
	struct ipc_job_resolved answer;
	struct message *message;
	struct str text = STR("");

	if (!ipc_job_take_resolved(body, &answer))
		return false;
	message = find_asked(manager, &answer);
	for (uint32_t i = 0; i < answer.count; i++) {
		struct ipc_job_target target;

		if (!ipc_job_take_target(body, &target) ||
		    (message != NULL && !is_acceptable(message, &target)))
			return false;
		if (target.status.length > 0 && target.status.data[0] == '4')
			text = target.text;
		if (message != NULL)
			take_target(manager, message, &target);
	}
	return message == NULL || finish_answer(manager, message, &answer, text);
}

bool resolver_answered(struct manager *manager, struct str text)
{
	struct unpack body = {text, false};
	bool is_good = true;

	while (is_good && body.rest.length > 0)
		is_good = read_answer(manager, &body);
	return is_good;
}
