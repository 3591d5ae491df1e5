// SPDX-License-Identifier: ISC
/* Asking resolve what becomes of a message's recipients, in parts. */
#include "base/panic.h"
#include "ipc/job.h"
#include "ipc/pack.h"
#include "log/event.h"
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

/* What the answer says of one target; nothing is done with it when MESSAGE is NULL. */
static void read_delivery(struct message *message, struct unpack *body, int64_t now_us,
			  bool *is_unknown)
{
	struct queue_delivery delivery = {.recipient = unpack_u32(body)};
	struct arena *arena;

	delivery.route = (enum queue_route)unpack_u32(body);
	delivery.service = unpack_str(body);
	delivery.address = unpack_str(body);
	delivery.status = unpack_str(body);
	delivery.text = unpack_str(body);
	if (message == NULL || body->failed)
		return;
	if (mail_envelope_find(message->control->envelope, delivery.recipient) == NULL)
		body->failed = true;
	if (body->failed)
		return;
	arena = message->control->envelope->arena;
	delivery.service = arena_copy_str(arena, delivery.service);
	delivery.address = arena_copy_str(arena, delivery.address);
	delivery.status = arena_copy_str(arena, delivery.status);
	delivery.text = arena_copy_str(arena, delivery.text);
	if (delivery.status.length > 0 && delivery.status.data[0] == '4')
		*is_unknown = true;
	if (delivery.status.length > 0 && delivery.status.data[0] == '5') {
		delivery.outcome = QUEUE_FAIL;
		delivery.changed_us = now_us;
	}
	if (delivery.status.length > 0 && delivery.status.data[0] == '2') {
		delivery.outcome = QUEUE_DONE;
		delivery.changed_us = now_us;
	}
	*add_delivery(message) = delivery;
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

/* The deliveries of one part; the message may be mapped now. */
static void take_answer(struct manager *manager, struct message *message, bool is_unknown,
			uint64_t version)
{
	message->directory_version = version;
	message->resolving--;
	if (is_unknown) {
		message_sleep(manager, message, os_clock_wall_us() + ASK_AGAIN_US);
		return;
	}
	if (message->resolving > 0)
		return;
	number_deliveries(message);
	message_mapped(manager, message);
}

/* False when it is malformed. What nobody waits for any more is passed over. */
static bool read_answer(struct manager *manager, struct unpack *body)
{
	struct message *message = message_find(manager, unpack_u64(body));
	uint64_t version = unpack_u64(body);
	uint32_t count = unpack_u32(body);
	int64_t now_us = os_clock_wall_us();
	bool is_unknown = false;

	if (message != NULL && (message->state != MESSAGE_RESOLVING || message->resolving == 0))
		message = NULL;
	for (uint32_t i = 0; i < count && !body->failed; i++)
		read_delivery(message, body, now_us, &is_unknown);
	if (body->failed)
		return false;
	if (message != NULL)
		take_answer(manager, message, is_unknown, version);
	return true;
}

void resolver_answered(struct manager *manager, struct helper *helper,
		       struct ipc_message *ipc_message)
{
	struct unpack body = {ipc_message->body, false};

	while (body.rest.length > 0)
		if (!read_answer(manager, &body)) {
			log_event(EVENT_IPC_REFUSED, log_number("type", ipc_message->type));
			helper_close(helper);
			return;
		}
}
