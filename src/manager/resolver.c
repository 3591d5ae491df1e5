// SPDX-License-Identifier: ISC
/* Asking resolve what becomes of a message's recipients, in parts. */
#include "base/panic.h"
#include "ipc/pack.h"
#include "manager/internal.h"
#include "os/clock.h"

static const int64_t ASK_AGAIN_US = MINUTE_US;

static void keep_for_later(struct manager *manager, struct message *message)
{
	if (manager->unresolved_count == manager->unresolved_capacity) {
		manager->unresolved_capacity =
			manager->unresolved_capacity > 0 ? manager->unresolved_capacity * 2 : 64;
		manager->unresolved =
			memory_resize(manager->unresolved,
				      manager->unresolved_capacity * sizeof(*manager->unresolved));
	}
	manager->unresolved[manager->unresolved_count++] = message;
}

/* Without resolve nothing is lost: the next one is asked again. */
void resolver_flush(void *context)
{
	struct manager *manager = context;
	struct helper *helper = helper_resolve(manager);

	if (manager->questions.length > 0 && helper != NULL)
		ipc_channel_send(helper->channel, IPC_JOB_RESOLVE, 0,
				 buffer_view(&manager->questions), NULL, 0);
	buffer_reset(&manager->questions);
}

/* Questions of a turn go together, as many as a packet holds. */
static void ask_part(struct manager *manager, const struct message *message, size_t first,
		     size_t count)
{
	const struct mail_envelope *envelope = message->control->envelope;
	struct buffer *body = &manager->questions;
	size_t size = IPC_JOB_RESOLVE_OVERHEAD + envelope->sender.length;

	for (size_t i = first; i < first + count; i++)
		size += IPC_JOB_RECIPIENT_OVERHEAD + envelope->recipients[i].address.length;
	if (body->length + size > IPC_BODY_MAX)
		resolver_flush(manager);
	pack_u64(body, message->number);
	pack_str(body, envelope->sender);
	pack_u32(body, (uint32_t)count);
	for (size_t i = first; i < first + count; i++) {
		pack_u32(body, envelope->recipients[i].number);
		pack_str(body, envelope->recipients[i].address);
	}
	os_loop_defer(manager->loop, &manager->questions_task);
}

void resolver_ask(struct manager *manager, struct message *message)
{
	size_t total = message->control->envelope->recipient_count;

	message->mapping_count = 0;
	message->resolving = 0;
	if (helper_resolve(manager) == NULL) {
		keep_for_later(manager, message);
		return;
	}
	for (size_t first = 0; first < total; first += IPC_JOB_RECIPIENTS_MAX) {
		size_t count = total - first;

		if (count > IPC_JOB_RECIPIENTS_MAX)
			count = IPC_JOB_RECIPIENTS_MAX;
		ask_part(manager, message, first, count);
		message->resolving++;
	}
}

void resolver_connected(struct manager *manager)
{
	size_t count = manager->unresolved_count;
	struct message **messages = manager->unresolved;

	manager->unresolved = NULL;
	manager->unresolved_count = 0;
	manager->unresolved_capacity = 0;
	for (size_t i = 0; i < count; i++)
		resolver_ask(manager, messages[i]);
	free(messages);
}

/* What resolve had been asked it will not answer: ask the next one. */
void resolver_lost(struct manager *manager)
{
	struct message *message;
	struct message *next;

	buffer_reset(&manager->questions);
	HASH_ITER (hh, manager->messages, message, next)
		if (message->state == MESSAGE_RESOLVING && message->resolving > 0)
			resolver_ask(manager, message);
}

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
	       (target->route == QUEUE_ROUTE_NONE) == (target->status.length > 0) &&
	       (target->route == QUEUE_ROUTE_LOCAL) == (target->service.length > 0) &&
	       queue_delivery_is_writable(&delivery) &&
	       mail_envelope_find(message->control->envelope, target->recipient) != NULL;
}

static void take_target(struct message *message, const struct ipc_job_target *target)
{
	struct arena *arena = message->control->envelope->arena;
	struct queue_delivery *delivery = add_delivery(message);

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
}

/* A recipient that becomes one delivery keeps its number; others get new ones. */
static void number_deliveries(struct message *message)
{
	const struct mail_envelope *envelope = message->control->envelope;
	uint32_t next = envelope->recipients[envelope->recipient_count - 1].number + 1;

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

/* The deliveries of one part are taken; the message may be mapped now. */
static bool finish_answer(struct manager *manager, struct message *message, bool is_unknown,
			  uint64_t version)
{
	if (message->resolving == 1 && !is_unknown && !has_all_recipients(message))
		return false;
	message->directory_version = version;
	message->resolving--;
	if (is_unknown) {
		message_sleep(manager, message, os_clock_wall_us() + ASK_AGAIN_US);
	} else if (message->resolving == 0) {
		number_deliveries(message);
		message_mapped(manager, message);
	}
	return true;
}

/* False when it is malformed. What nobody waits for any more is passed over. */
static bool read_answer(struct manager *manager, struct unpack *body)
{
	struct message *message = message_find(manager, unpack_u64(body));
	uint64_t version = unpack_u64(body);
	uint32_t count = unpack_u32(body);
	bool is_unknown = false;

	if (message != NULL && (message->state != MESSAGE_RESOLVING || message->resolving == 0))
		message = NULL;
	for (uint32_t i = 0; i < count; i++) {
		struct ipc_job_target target;

		if (!ipc_job_take_target(body, &target) ||
		    (message != NULL && !is_acceptable(message, &target)))
			return false;
		is_unknown |= target.status.length > 0 && target.status.data[0] == '4';
		if (message != NULL)
			take_target(message, &target);
	}
	return !body->failed &&
	       (message == NULL || finish_answer(manager, message, is_unknown, version));
}

bool resolver_answered(struct manager *manager, struct str text)
{
	struct unpack body = {text, false};
	bool is_good = true;

	while (is_good && body.rest.length > 0)
		is_good = read_answer(manager, &body);
	return is_good;
}
