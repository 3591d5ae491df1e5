// SPDX-License-Identifier: ISC
/* "queue" at its socket, and the bounces that it takes. */
#include "base/panic.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "model.h"
#include "queue/client/client.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct model_disk model_disk = {.is_up = false};

struct model_message *model_find(uint64_t number)
{
	for (size_t i = 0; i < model_disk.capacity; i++)
		if (model_disk.messages[i].is_present && model_disk.messages[i].id.number == number)
			return &model_disk.messages[i];
	return NULL;
}

/* --- "queue" at its socket --- */

static struct {
	const struct ipc_client_handler *handler;
	void *context;
	bool is_connected;
	struct buffer removals; /* numbers to be answered */
	struct buffer found;    /* what was asked about */
	bool is_unsure;         /* of something that was asked about */
	bool is_told_clean;
} link_end;

/* The channel of the link has no address of its own: it only says that there is one. */
static int channel_to_queue;

struct ipc_client *ipc_client_new(struct os_loop *loop, const char *path,
				  const struct ipc_client_handler *handler, void *context)
{
	model_check_loop(loop);
	(void)path;
	link_end.handler = handler;
	link_end.context = context;
	return (struct ipc_client *)(void *)&link_end;
}

void ipc_client_free(struct ipc_client *client)
{
	(void)client;
	buffer_clear(&link_end.removals);
	buffer_clear(&link_end.found);
}

struct ipc_channel *ipc_client_channel(struct ipc_client *client)
{
	(void)client;
	return link_end.is_connected ? (struct ipc_channel *)(void *)&channel_to_queue : NULL;
}

void model_tell(enum queue_protocol type, struct str body)
{
	struct ipc_message message = {.type = (uint16_t)type, .body = body};

	link_end.handler->message(link_end.context, &message);
}

static void vanish(struct model_message *m)
{
	model_check_over(m);
	m->is_present = false;
	m->is_queued = false;
	buffer_clear(&m->envelope);
	buffer_clear(&m->control);
	model_disk.alive--;
}

static void remove_one(enum queue_remove kind, enum mail_stage stage, uint64_t number)
{
	struct model_message *m = model_find(number);

	if (m == NULL)
		return;
	if (kind != QUEUE_REMOVE_DATA && stage != m->stage)
		model_fail("%" PRIu64 " is to be removed from another stage", number);
	if (kind == QUEUE_REMOVE_TODO) {
		if (!m->is_at_s5)
			model_fail("todo/%" PRIu64 " goes before S5", number);
		m->is_queued = false;
		return;
	}
	if (kind == QUEUE_REMOVE_DATA && (m->is_at_s5 || m->is_queued))
		model_fail("the data of %" PRIu64 " go while it has names", number);
	vanish(m);
}

/* Called by model_helpers.c, which has all other channels. */
bool model_queue_hears(const struct ipc_channel *channel, uint16_t type, struct str body);
bool model_queue_hears(const struct ipc_channel *channel, uint16_t type, struct str text)
{
	struct unpack body = {text, false};

	if ((const void *)channel != &channel_to_queue)
		return false;
	if (type == QUEUE_PROTOCOL_MANAGE)
		model_tell(QUEUE_PROTOCOL_MANAGED, STR(""));
	if (type == QUEUE_PROTOCOL_CLEANED)
		link_end.is_told_clean = true;
	if (type == QUEUE_PROTOCOL_FOUND && model_once_in(20))
		link_end.is_unsure = true;
	else if (type == QUEUE_PROTOCOL_FOUND && !model_once_in(20))
		buffer_append_str(&link_end.found, text);
	while (type == QUEUE_PROTOCOL_REMOVE && body.rest.length > 0) {
		uint32_t kind = unpack_u32(&body);
		enum mail_stage stage = (enum mail_stage)unpack_u32(&body);
		uint64_t number = unpack_u64(&body);

		remove_one((enum queue_remove)kind, stage, number);
		pack_u64(&link_end.removals, number);
	}
	return true;
}

void model_answer_removals(void)
{
	struct buffer removals = link_end.removals;
	struct buffer found = link_end.found;

	link_end.removals = (struct buffer){0};
	link_end.found = (struct buffer){0};
	if (link_end.is_connected && found.length > 0)
		model_tell(QUEUE_PROTOCOL_STANDS, buffer_view(&found));
	buffer_clear(&found);
	if (link_end.is_connected && link_end.is_unsure)
		model_tell(QUEUE_PROTOCOL_UNKNOWN, STR(""));
	link_end.is_unsure = false;
	if (link_end.is_connected && removals.length > 0)
		model_tell(QUEUE_PROTOCOL_REMOVED, buffer_view(&removals));
	buffer_clear(&removals);
	model_run_tasks();
}

void model_queue_lost(void)
{
	if (!link_end.is_connected)
		return;
	link_end.is_connected = false;
	link_end.is_told_clean = false;
	link_end.is_unsure = false;
	model_disk.is_up = false;
	buffer_reset(&link_end.removals);
	buffer_reset(&link_end.found);
	link_end.handler->lost(link_end.context);
	model_run_tasks();
}

void model_queue_connects(void)
{
	if (link_end.is_connected)
		return;
	/* a new "queue" removes the data of what had ended */
	for (size_t i = 0; i < model_disk.capacity; i++) {
		struct model_message *m = &model_disk.messages[i];

		if (m->is_present && !m->is_queued && !m->is_at_s5)
			vanish(m);
	}
	link_end.is_connected = true;
	model_disk.is_up = true;
	link_end.handler->connected(link_end.context);
	model_run_tasks();
}

void model_check_cleaned(void)
{
	if (link_end.is_told_clean && !model_disk.is_clean)
		model_fail("\"queue\" is told that no name is left over");
	if (link_end.is_connected && model_disk.is_clean && !link_end.is_told_clean)
		model_fail("\"queue\" is not told that no name is left over");
}

void model_forget_manager(void)
{
	link_end.is_connected = false;
	link_end.is_told_clean = false;
	link_end.is_unsure = false;
	model_disk.is_clean = false;
	buffer_clear(&link_end.removals);
	buffer_clear(&link_end.found);
}

/* --- bounces --- */

static struct queue_client_message *bouncing;

struct queue_client *queue_client_new(struct os_loop *loop, const char *path, uint32_t stock)
{
	model_check_loop(loop);
	(void)path;
	(void)stock;
	return NULL;
}

void queue_client_use_reserve(struct queue_client *client)
{
	(void)client;
}

void queue_client_free(struct queue_client *client)
{
	(void)client;
}

/* The one that is being committed goes first. */
static struct queue_client_message *committing;
static struct mail_envelope *committed;

static void leave(struct queue_client_message *message)
{
	struct queue_client_message **link = &bouncing;

	while (*link != NULL && *link != message)
		link = &(*link)->next;
	if (*link == message)
		*link = message->next;
	message->state = QUEUE_CLIENT_IDLE;
	if (committing != message)
		return;
	mail_envelope_free(committed);
	committing = NULL;
}

void queue_client_open(struct queue_client *client, struct queue_client_message *message)
{
	(void)client;
	if (!model_disk.is_up || model_once_in(50)) { /* refused at once */
		message->done(message->context, -ENOTCONN);
		return;
	}
	message->state = QUEUE_CLIENT_OPENING;
	message->next = bouncing;
	bouncing = message;
}

void queue_client_abandon(struct queue_client_message *message)
{
	if (message->state != QUEUE_CLIENT_IDLE)
		leave(message);
}

void queue_client_commit(struct queue_client_message *message, const struct mail_envelope *envelope,
			 struct str data)
{
	(void)data;
	message->state = QUEUE_CLIENT_COMMITTING;
	committing = message;
	committed = mail_envelope_new();
	committed->stage = envelope->stage;
	committed->sender = arena_copy_str(committed->arena, envelope->sender);
	mail_envelope_add(committed, envelope->recipients[0].address);
}

static void refuse_bounce(struct queue_client_message *message)
{
	leave(message);
	message->done(message->context, -ENOSPC);
	model_run_tasks();
}

bool model_queue_bounce(void)
{
	struct queue_client_message *message = committing != NULL ? committing : bouncing;
	if (message == NULL)
		return false;
	if (model_disk.refuses) {
		refuse_bounce(message);
		return true;
	}
	if (message->state == QUEUE_CLIENT_OPENING) {
		message->state = QUEUE_CLIENT_OPEN;
		message->number = model_next_number();
		message->done(message->context, 0);
		model_run_tasks();
		return true;
	}
	model_add_mail(committed, true);
	leave(message);
	message->done(message->context, 0);
	model_run_tasks();
	return true;
}
