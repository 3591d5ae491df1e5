// SPDX-License-Identifier: ISC
#include "manager/link/queue_link.h"
#include "base/panic.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "os/clock.h"
#include <stdlib.h>

struct queue_link {
	struct os_loop *loop;
	struct ipc_client *client;
	struct str token;
	const struct queue_link_handler *handler;
	void *context;
	bool is_up;
	struct buffer removals; /* not sent yet, like what was found */
	struct buffer found;
	struct os_task task;
	uint64_t committing_us; /* total, as reported by "queue" */
	uint64_t seen_us;       /* its value at the last queue_link_disk_load() */
	int64_t looked_us;      /* when that was called */
};

/* Without a connection nothing is lost: the next one begins with a scan. */
static void send_to_queue(struct queue_link *link, enum queue_protocol type, struct buffer *body)
{
	struct ipc_channel *channel = ipc_client_channel(link->client);

	if (body->length > 0 && channel != NULL && link->is_up)
		ipc_channel_send(channel, (uint16_t)type, 0, buffer_view(body), NULL, 0);
	buffer_reset(body);
}

void queue_link_flush(struct queue_link *link)
{
	send_to_queue(link, QUEUE_PROTOCOL_REMOVE, &link->removals);
	send_to_queue(link, QUEUE_PROTOCOL_FOUND, &link->found);
}

static void flush_queue_link(void *context)
{
	queue_link_flush(context);
}

void queue_link_remove(struct queue_link *link, enum queue_remove kind, enum mail_stage stage,
		       uint64_t number)
{
	enum { ENTRY = 16 };

	if (link->removals.length + ENTRY > IPC_BODY_MAX)
		queue_link_flush(link);
	pack_u32(&link->removals, kind);
	pack_u32(&link->removals, stage);
	pack_u64(&link->removals, number);
	os_loop_defer(link->loop, &link->task);
}

void queue_link_found(struct queue_link *link, enum mail_stage stage, uint64_t number)
{
	enum { ENTRY = 12 };

	if (link->found.length + ENTRY > IPC_BODY_MAX)
		queue_link_flush(link);
	pack_u32(&link->found, stage);
	pack_u64(&link->found, number);
	os_loop_defer(link->loop, &link->task);
}

bool queue_link_is_up(const struct queue_link *link)
{
	return link->is_up;
}

void queue_link_cleaned(struct queue_link *link)
{
	if (link->is_up)
		ipc_channel_send(ipc_client_channel(link->client), QUEUE_PROTOCOL_CLEANED, 0,
				 STR(""), NULL, 0);
}

unsigned queue_link_disk_load(struct queue_link *link)
{
	int64_t now_us = os_clock_monotonic_us();
	int64_t passed_us = now_us - link->looked_us;
	uint64_t busy_us = link->committing_us - link->seen_us;

	link->looked_us = now_us;
	link->seen_us = link->committing_us;
	if (passed_us <= 0 || busy_us >= (uint64_t)passed_us)
		return 1000;
	return (unsigned)(busy_us * 1000 / (uint64_t)passed_us);
}

/* --- messages from "queue" --- */

static void on_queue_connected(void *context)
{
	struct queue_link *link = context;
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_str(&body, link->token);
	ipc_channel_send(ipc_client_channel(link->client), QUEUE_PROTOCOL_MANAGE, 0,
			 buffer_view(&body), NULL, 0);
}

static void on_queue_lost(void *context)
{
	struct queue_link *link = context;

	link->is_up = false;
	buffer_reset(&link->removals);
	buffer_reset(&link->found);
	link->handler->lost(link->context);
}

static void on_managed_notice(struct queue_link *link)
{
	link->is_up = true;
	link->committing_us = 0;
	link->seen_us = 0;
	link->handler->managed(link->context);
}

static bool on_queued_notices(struct queue_link *link, struct unpack *body)
{
	while (body->rest.length > 0) {
		uint32_t stage = unpack_u32(body);
		struct queue_link_notice notice = {.stage = (enum mail_stage)stage};

		notice.number = unpack_u64(body);
		notice.text = unpack_str(body);
		notice.content = unpack_str(body);
		if (body->failed || stage >= MAIL_STAGE_COUNT)
			return false;
		link->handler->queued(link->context, &notice);
	}
	return true;
}

static bool on_stands_notices(struct queue_link *link, struct unpack *body)
{
	while (body->rest.length > 0) {
		uint32_t stage = unpack_u32(body);
		uint64_t number = unpack_u64(body);

		if (body->failed || stage >= MAIL_STAGE_COUNT)
			return false;
		link->handler->stands(link->context, (enum mail_stage)stage, number);
	}
	return true;
}

static bool on_removed_notices(struct queue_link *link, struct unpack *body)
{
	while (body->rest.length > 0) {
		uint64_t number = unpack_u64(body);

		if (body->failed)
			return false;
		link->handler->removed(link->context, number);
	}
	return true;
}

static bool on_release_notice(struct queue_link *link, struct unpack *body)
{
	struct str domain = unpack_str(body);

	if (!unpack_is_whole(body))
		return false;
	link->handler->release(link->context, domain);
	return true;
}

static bool on_load_notice(struct queue_link *link, struct unpack *body)
{
	uint64_t committing_us = unpack_u64(body);

	if (!unpack_is_whole(body) || committing_us < link->committing_us)
		return false;
	link->committing_us = committing_us;
	return true;
}

static void on_queue_message(void *context, struct ipc_message *message)
{
	struct queue_link *link = context;
	struct unpack body = {message->body, false};
	bool is_good = true;

	switch (message->type) {
	case QUEUE_PROTOCOL_MANAGED:
		on_managed_notice(link);
		break;
	case QUEUE_PROTOCOL_QUEUED:
		is_good = on_queued_notices(link, &body);
		break;
	case QUEUE_PROTOCOL_STANDS:
		is_good = on_stands_notices(link, &body);
		break;
	case QUEUE_PROTOCOL_UNKNOWN:
		link->handler->unknown(link->context);
		break;
	case QUEUE_PROTOCOL_LOAD:
		is_good = on_load_notice(link, &body);
		break;
	case QUEUE_PROTOCOL_RELEASE:
		is_good = on_release_notice(link, &body);
		break;
	case QUEUE_PROTOCOL_MISSED:
		link->handler->missed(link->context);
		break;
	case QUEUE_PROTOCOL_REMOVED:
		is_good = on_removed_notices(link, &body);
		break;
	default:
		is_good = false;
	}
	if (!is_good)
		ipc_channel_refuse(ipc_client_channel(link->client), message->type);
}

static const struct ipc_client_handler client_handler = {on_queue_connected, on_queue_message,
							 on_queue_lost};

struct queue_link *queue_link_new(struct os_loop *loop, const char *path, struct str token,
				  const struct queue_link_handler *handler, void *context)
{
	struct queue_link *link = memory_alloc_zero(1, sizeof *link);

	link->loop = loop;
	link->token = token;
	link->handler = handler;
	link->context = context;
	link->task = (struct os_task){.call = flush_queue_link, .context = link};
	link->client = ipc_client_new(loop, path, &client_handler, link);
	return link;
}

void queue_link_free(struct queue_link *link)
{
	ipc_client_free(link->client);
	os_task_cancel(link->loop, &link->task);
	buffer_clear(&link->removals);
	buffer_clear(&link->found);
	free(link);
}
