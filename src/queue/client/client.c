// SPDX-License-Identifier: ISC
#include "queue/client/client.h"
#include "base/panic.h"
#include "ipc/pack.h"
#include "queue/client/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static void finish_client_message(struct queue_client_message *message, int result)
{
	client_set_idle(message);
	message->done(message->context, result);
}

static void ask_for_files(struct queue_client *client)
{
	struct ipc_channel *channel = ipc_client_channel(client->ipc);
	struct buffer body = {0};

	if (client->is_asking || channel == NULL || client->stock_count > client->stock_wanted / 2)
		return;
	pack_u32(&body, client->stock_wanted);
	ipc_channel_send(channel,
			 client->uses_reserve ? QUEUE_PROTOCOL_OPEN_RESERVE : QUEUE_PROTOCOL_OPEN,
			 0, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
	client->is_asking = true;
}

static void take_from_stock(struct queue_client *client, struct queue_client_message *message)
{
	message->number = client->stock[0]; /* the oldest first, so that none stays unused */
	client->stock_count--;
	memmove(client->stock, client->stock + 1, client->stock_count * sizeof *client->stock);
	message->state = QUEUE_CLIENT_OPEN;
	DL_APPEND2(client->open, message, previous, next);
}

static void serve_waiting(struct queue_client *client)
{
	while (client->opening != NULL && client->stock_count > 0) {
		struct queue_client_message *message = client->opening;

		DL_DELETE2(client->opening, message, previous, next);
		take_from_stock(client, message);
		message->done(message->context, 0);
	}
	ask_for_files(client);
}

/* At most as many as can have been requested. */
static bool on_opened(struct queue_client *client, struct unpack *body)
{
	size_t room = COUNT_OF(client->stock) - client->stock_count;
	size_t count = body->rest.length / sizeof(uint64_t);

	if (count == 0 || count > room || body->rest.length % sizeof(uint64_t) != 0)
		return false;
	client->is_asking = false;
	while (count-- > 0)
		client->stock[client->stock_count++] = unpack_u64(body);
	serve_waiting(client);
	return true;
}

/* Fails every message that waits for a number; the next one asks again. */
static void on_open_refused(struct queue_client *client, int error)
{
	struct queue_client_message *waiting = client->opening;

	client->is_asking = false;
	while (client->opening != NULL && client->opening == waiting) {
		finish_client_message(waiting, error);
		waiting = client->opening;
	}
}

static void on_message_committed(struct queue_client *client, uint64_t number, int result)
{
	struct queue_client_message *message;

	HASH_FIND(hh, client->committing, &number, sizeof number, message);
	if (message != NULL)
		finish_client_message(message, result);
}

/* 0, or -errno, which is transmitted as errno. */
static int unpack_result(struct unpack *body)
{
	enum { ERRNO_MAX = 4095 };
	uint32_t number = unpack_u32(body);

	if (number > ERRNO_MAX)
		body->failed = true;
	return body->failed ? -EPROTO : -(int)number;
}

static bool on_refusal(struct queue_client *client, struct unpack *body)
{
	int error = unpack_result(body);

	if (!unpack_is_whole(body) || error == 0)
		return false;
	on_open_refused(client, error);
	return true;
}

static bool on_results(struct queue_client *client, struct unpack *body)
{
	while (body->rest.length > 0) {
		uint64_t number = unpack_u64(body);
		int result = unpack_result(body);

		if (body->failed)
			return false;
		on_message_committed(client, number, result);
	}
	return true;
}

static struct queue_client_message *find_sharing(struct queue_client *client, uint64_t number)
{
	struct queue_client_message *message;

	DL_FOREACH2 (client->open, message, next)
		if (message->number == number && message->state == QUEUE_CLIENT_SHARING)
			return message;
	return NULL;
}

/* If the message was given up meanwhile, the descriptor is closed. */
static bool on_shared(struct queue_client *client, struct unpack *body, struct ipc_message *answer)
{
	uint64_t number = unpack_u64(body);
	int error = unpack_result(body);
	struct queue_client_message *message = find_sharing(client, number);

	if (!unpack_is_whole(body) || answer->descriptor_count != (error == 0))
		return false;
	if (message == NULL)
		return true;
	if (error < 0) {
		client_fail(message, error);
		return true;
	}
	message->file = answer->descriptors[0];
	answer->descriptors[0] = -1;
	message->state = QUEUE_CLIENT_OPEN;
	if (message->text.length > 0)
		client_commit_shared(message);
	else
		message->done(message->context, 0);
	return true;
}

static void on_queue_server_message(void *context, struct ipc_message *message)
{
	struct queue_client *client = context;
	struct unpack body = {message->body, false};
	bool is_good = false;

	switch (message->type) {
	case QUEUE_PROTOCOL_OPENED:
		is_good = message->descriptor_count == 0 && on_opened(client, &body);
		break;
	case QUEUE_PROTOCOL_SHARED:
		is_good = on_shared(client, &body, message);
		break;
	case QUEUE_PROTOCOL_REFUSED:
		is_good = on_refusal(client, &body);
		break;
	case QUEUE_PROTOCOL_COMMITTED:
		is_good = on_results(client, &body);
		break;
	case QUEUE_PROTOCOL_KEPT:
		is_good = client_kept(client, &body);
		break;
	case QUEUE_PROTOCOL_GREETED:
		is_good = client_handed_greeted(client, &body);
		break;
	default:
		break;
	}
	if (!is_good)
		ipc_channel_refuse(ipc_client_channel(client->ipc), message->type);
}

static void on_queue_server_connected(void *context)
{
	struct queue_client *client = context;

	ask_for_files(client);
}

/* What is open can no longer be committed: its commit will fail, and commits that wait for a
 * file fail now. A message that is being committed may or may not be queued: the owner must
 * assume that it is not. */
static void on_queue_server_lost(void *context)
{
	struct queue_client *client = context;
	struct queue_client_message *message;

	client->is_asking = false;
	client->stock_count = 0;
	buffer_reset(&client->commits);
	DL_FOREACH2 (client->open, message, next)
		message->number = 0;
	while ((message = find_sharing(client, 0)) != NULL)
		finish_client_message(message, -ENOTCONN);
	while (client->committing != NULL)
		finish_client_message(client->committing, -ENOTCONN);
	on_open_refused(client, -ENOTCONN);
	if (client->nodes != NULL)
		client->nodes->lost(client->nodes_context);
}

static const struct ipc_client_handler client_handler = {
	on_queue_server_connected, on_queue_server_message, on_queue_server_lost};

static struct queue_client *make_queue_client(struct os_loop *loop, uint32_t stock)
{
	struct queue_client *client = memory_alloc_zero(1, sizeof *client);

	client->loop = loop;
	client->commits_ready = (struct os_task){.call = client_send_commits, .context = client};
	client->stock_wanted = stock < QUEUE_OPEN_MAX ? stock : QUEUE_OPEN_MAX;
	return client;
}

struct queue_client *queue_client_new(struct os_loop *loop, const char *path, uint32_t stock)
{
	struct queue_client *client = make_queue_client(loop, stock);

	client->ipc = ipc_client_new(loop, path, &client_handler, client);
	return client;
}

struct queue_client *queue_client_new_connected(struct os_loop *loop, int socket, const char *path)
{
	struct queue_client *client = make_queue_client(loop, 1);

	client->ipc = ipc_client_new_connected(loop, socket, path, &client_handler, client);
	return client;
}

void queue_client_use_reserve(struct queue_client *client)
{
	client->uses_reserve = true;
}

void queue_client_set_reserve(struct queue_client *client, uint64_t bytes)
{
	client->reserve = bytes;
}

void queue_client_when_connected(struct queue_client *client, void (*call)(void *context),
				 void *context)
{
	ipc_client_when_connected(client->ipc, call, context);
}

void queue_client_free(struct queue_client *client)
{
	if (client == NULL)
		return;
	ipc_client_free(client->ipc);
	os_task_cancel(client->loop, &client->commits_ready);
	buffer_clear(&client->commits);
	free(client);
}

void queue_client_open(struct queue_client *client, struct queue_client_message *message)
{
	if (message->state != QUEUE_CLIENT_IDLE)
		panic("a message is opened twice");
	message->client = client;
	message->file = -1;
	message->number = 0;
	message->written = 0;
	message->error = 0;
	if (client->stock_count > 0) {
		take_from_stock(client, message);
		ask_for_files(client);
		message->done(message->context, 0);
		return;
	}
	if (ipc_client_channel(client->ipc) == NULL) {
		message->done(message->context, -ENOTCONN);
		return;
	}
	message->state = QUEUE_CLIENT_OPENING;
	DL_APPEND2(client->opening, message, previous, next);
	ask_for_files(client);
}

bool queue_client_release(struct queue_client *client, struct str domain)
{
	struct ipc_channel *channel = ipc_client_channel(client->ipc);
	struct buffer body = {0};

	if (channel == NULL)
		return false;
	pack_str(&body, domain);
	ipc_channel_send(channel, QUEUE_PROTOCOL_RELEASE, 0, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
	return true;
}
