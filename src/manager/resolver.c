// SPDX-License-Identifier: ISC
/*
 * Asking resolve what becomes of a message's recipients, in parts. While the directory does
 * not answer, trigger/directory stands: what needs it sleeps, and resolve says when it is
 * back.
 */
#include "base/panic.h"
#include "ipc/pack.h"
#include "manager/internal.h"

/* Recipients that resolve is asked for at once, unless they are of one message. */
enum { ASKED_MAX = 50000 };

static void keep_for_later(struct manager *manager, struct message *message)
{
	size_t kept = manager->unresolved_count - manager->unresolved_first;

	if (manager->unresolved_count == manager->unresolved_capacity &&
	    manager->unresolved_first > 0) {
		memmove(manager->unresolved, manager->unresolved + manager->unresolved_first,
			kept * sizeof(*manager->unresolved));
		manager->unresolved_first = 0;
		manager->unresolved_count = kept;
	}
	if (manager->unresolved_count == manager->unresolved_capacity) {
		manager->unresolved_capacity =
			manager->unresolved_capacity > 0 ? manager->unresolved_capacity * 2 : 64;
		manager->unresolved =
			memory_resize(manager->unresolved,
				      manager->unresolved_capacity * sizeof(*manager->unresolved));
	}
	manager->unresolved[manager->unresolved_count++] = message;
}

static bool may_ask(struct manager *manager, const struct message *message)
{
	return helper_resolve(manager) != NULL &&
	       (manager->asked == 0 ||
		manager->asked + message->control->envelope->recipient_count <= ASKED_MAX);
}

/* Those that were kept, in their order. */
static void ask_kept(struct manager *manager)
{
	while (manager->unresolved_first < manager->unresolved_count &&
	       may_ask(manager, manager->unresolved[manager->unresolved_first])) {
		struct message *message = manager->unresolved[manager->unresolved_first++];

		if (manager->unresolved_first == manager->unresolved_count)
			manager->unresolved_first = manager->unresolved_count = 0;
		resolver_ask(manager, message);
	}
}

void resolver_done(struct manager *manager, struct message *message)
{
	manager->asked -= message->asked;
	message->asked = 0;
	if (!manager->is_stopping)
		ask_kept(manager);
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
	pack_u32(body, manager->next_question++);
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

	message_weigh(manager, message, 0);
	message->mapping_count = 0;
	message->resolving = 0;
	message->is_unresolved = false;
	message->is_overfull = false;
	message->question = manager->next_question;
	manager->asked -= message->asked;
	message->asked = 0;
	if (!may_ask(manager, message)) {
		keep_for_later(manager, message);
		return;
	}
	message->asked = total;
	manager->asked += total;
	for (size_t first = 0; first < total; first += IPC_JOB_RECIPIENTS_MAX) {
		size_t count = total - first;

		if (count > IPC_JOB_RECIPIENTS_MAX)
			count = IPC_JOB_RECIPIENTS_MAX;
		ask_part(manager, message, first, count);
		message->resolving++;
	}
	message->question_count = message->resolving;
}

void resolver_await(struct manager *manager)
{
	struct helper *helper = helper_resolve(manager);

	if (helper == NULL || manager->is_awaiting)
		return;
	ipc_channel_send(helper->channel, IPC_JOB_AWAIT, 0, STR(""), NULL, 0);
	manager->is_awaiting = true;
}

void resolver_back(struct manager *manager)
{
	manager->is_awaiting = false;
	trigger_release(manager, STR(TRIGGER_DIRECTORY));
}

void resolver_connected(struct manager *manager)
{
	ask_kept(manager);
	if (trigger_find(manager, STR(TRIGGER_DIRECTORY)) != NULL) /* since before we both began */
		resolver_await(manager);
}

/* What resolve had been asked it will not answer: ask the next one. */
void resolver_lost(struct manager *manager)
{
	struct message *message;
	struct message *next;

	buffer_reset(&manager->questions);
	manager->is_awaiting = false;
	HASH_ITER (hh, manager->messages, message, next)
		if (message->state == MESSAGE_RESOLVING && message->resolving > 0)
			resolver_ask(manager, message);
}
