// SPDX-License-Identifier: ISC
#include "queue/client.h"
#include "base/panic.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "os/file.h"
#include "queue/control.h"
#include "queue/protocol.h"
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

struct stock_file {
	uint64_t number;
	int file;
};

struct queue_client {
	struct ipc_client *ipc;
	uint32_t stock_wanted;
	struct stock_file stock[QUEUE_OPEN_MAX * 2];
	size_t stock_count;
	bool is_asking;                       /* an OPEN is unanswered */
	struct queue_client_message *opening; /* in order */
	struct queue_client_message *open;
	struct queue_client_message *committing; /* by number */
};

static void set_idle(struct queue_client_message *message)
{
	struct queue_client *client = message->client;

	if (message->state == QUEUE_CLIENT_OPENING)
		DL_DELETE2(client->opening, message, previous, next);
	else if (message->state == QUEUE_CLIENT_OPEN)
		DL_DELETE2(client->open, message, previous, next);
	else if (message->state == QUEUE_CLIENT_COMMITTING)
		HASH_DELETE(hh, client->committing, message);
	if (message->state == QUEUE_CLIENT_OPEN)
		os_file_close(message->file);
	message->state = QUEUE_CLIENT_IDLE;
	message->file = -1;
}

static void finish(struct queue_client_message *message, int result)
{
	set_idle(message);
	message->done(message->context, result);
}

static void ask_for_files(struct queue_client *client)
{
	struct ipc_channel *channel = ipc_client_channel(client->ipc);
	struct buffer body = {0};

	if (client->is_asking || channel == NULL || client->stock_count > client->stock_wanted / 2)
		return;
	pack_u32(&body, client->stock_wanted);
	ipc_channel_send(channel, QUEUE_PROTOCOL_OPEN, 0, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
	client->is_asking = true;
}

static void take_from_stock(struct queue_client *client, struct queue_client_message *message)
{
	const struct stock_file *file = &client->stock[--client->stock_count];

	message->number = file->number;
	message->file = file->file;
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

/* As many files as numbers, and no more than can have been asked for. */
static bool on_opened(struct queue_client *client, struct ipc_message *message)
{
	struct unpack body = {message->body, false};
	size_t room = COUNT_OF(client->stock) - client->stock_count;

	if (message->descriptor_count == 0 || message->descriptor_count > room ||
	    message->body.length != message->descriptor_count * sizeof(uint64_t))
		return false;
	client->is_asking = false;
	for (size_t i = 0; i < message->descriptor_count; i++) {
		client->stock[client->stock_count++] =
			(struct stock_file){unpack_u64(&body), message->descriptors[i]};
		message->descriptors[i] = -1;
	}
	serve_waiting(client);
	return true;
}

/* Everybody who waits for a file is told; the next one asks again. */
static void on_refused(struct queue_client *client, int error)
{
	struct queue_client_message *waiting = client->opening;

	client->is_asking = false;
	while (client->opening != NULL && client->opening == waiting) {
		finish(waiting, error);
		waiting = client->opening;
	}
}

static void on_committed(struct queue_client *client, uint64_t number, int result)
{
	struct queue_client_message *message;

	HASH_FIND(hh, client->committing, &number, sizeof number, message);
	if (message != NULL)
		finish(message, result);
}

/* 0, or -errno, which is sent as errno. */
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
	on_refused(client, error);
	return true;
}

static bool on_results(struct queue_client *client, struct unpack *body)
{
	while (body->rest.length > 0) {
		uint64_t number = unpack_u64(body);
		int result = unpack_result(body);

		if (body->failed)
			return false;
		on_committed(client, number, result);
	}
	return true;
}

static void on_message(void *context, struct ipc_message *message)
{
	struct queue_client *client = context;
	struct unpack body = {message->body, false};
	bool is_good = false;

	switch (message->type) {
	case QUEUE_PROTOCOL_OPENED:
		is_good = on_opened(client, message);
		break;
	case QUEUE_PROTOCOL_REFUSED:
		is_good = on_refusal(client, &body);
		break;
	case QUEUE_PROTOCOL_COMMITTED:
		is_good = on_results(client, &body);
		break;
	default:
		break;
	}
	if (!is_good)
		ipc_channel_refuse(ipc_client_channel(client->ipc), message->type);
}

static void on_connected(void *context)
{
	struct queue_client *client = context;

	ask_for_files(client);
}

static void drop_stock(struct queue_client *client)
{
	while (client->stock_count > 0)
		os_file_close(client->stock[--client->stock_count].file);
}

/* What is open cannot be committed any more, but its owner still writes to it:
 * the commit will fail. What is being committed may be queued or not: the owner
 * must assume that it is not. */
static void on_lost(void *context)
{
	struct queue_client *client = context;
	struct queue_client_message *message;

	client->is_asking = false;
	drop_stock(client);
	DL_FOREACH2 (client->open, message, next)
		message->number = 0;
	while (client->committing != NULL)
		finish(client->committing, -ENOTCONN);
	on_refused(client, -ENOTCONN);
}

static const struct ipc_client_handler handler = {on_connected, on_message, on_lost};

struct queue_client *queue_client_new(struct os_loop *loop, const char *path, uint32_t stock)
{
	struct queue_client *client = memory_alloc_zero(1, sizeof *client);

	client->stock_wanted = stock < QUEUE_OPEN_MAX ? stock : QUEUE_OPEN_MAX;
	client->ipc = ipc_client_new(loop, path, &handler, client);
	return client;
}

void queue_client_free(struct queue_client *client)
{
	if (client == NULL)
		return;
	ipc_client_free(client->ipc);
	drop_stock(client);
	free(client);
}

void queue_client_open(struct queue_client *client, struct queue_client_message *message)
{
	if (message->state != QUEUE_CLIENT_IDLE)
		panic("a message is opened twice");
	message->client = client;
	message->file = -1;
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

static void send_part(struct ipc_channel *channel, enum queue_protocol type, uint64_t number,
		      struct str text)
{
	char bytes[QUEUE_ENVELOPE_PART + 16];
	struct buffer body = {.memory = bytes, .capacity = sizeof bytes};

	pack_u64(&body, number);
	pack_str(&body, text);
	ipc_channel_send(channel, (uint16_t)type, 0, buffer_view(&body), NULL, 0);
}

void queue_client_commit(struct queue_client_message *message, const struct mail_envelope *envelope)
{
	struct ipc_channel *channel = ipc_client_channel(message->client->ipc);
	struct buffer text = {0};
	struct str rest;
	int error = queue_control_write_envelope(&text, envelope);

	if (message->state != QUEUE_CLIENT_OPEN)
		panic("a message that is not open is committed");
	if (error == 0 && text.length > QUEUE_ENVELOPE_MAX)
		error = -E2BIG;
	if (error == 0 && (channel == NULL || message->number == 0))
		error = -ENOTCONN;
	if (error < 0) {
		buffer_clear(&text);
		queue_client_abandon(message);
		message->done(message->context, error);
		return;
	}
	os_file_close(message->file);
	DL_DELETE2(message->client->open, message, previous, next);
	HASH_ADD(hh, message->client->committing, number, sizeof message->number, message);
	message->file = -1;
	message->state = QUEUE_CLIENT_COMMITTING;
	rest = buffer_view(&text);
	while (rest.length > QUEUE_ENVELOPE_PART) {
		send_part(channel, QUEUE_PROTOCOL_ENVELOPE, message->number,
			  str_slice(rest.data, QUEUE_ENVELOPE_PART));
		rest = str_skip(rest, QUEUE_ENVELOPE_PART);
	}
	send_part(channel, QUEUE_PROTOCOL_COMMIT, message->number, rest);
	buffer_clear(&text);
}

void queue_client_abandon(struct queue_client_message *message)
{
	struct ipc_channel *channel;
	struct buffer body = {0};
	bool was_open = message->state == QUEUE_CLIENT_OPEN && message->number != 0;

	if (message->state == QUEUE_CLIENT_IDLE)
		return;
	set_idle(message);
	channel = ipc_client_channel(message->client->ipc);
	if (!was_open || channel == NULL)
		return;
	pack_u64(&body, message->number);
	ipc_channel_send(channel, QUEUE_PROTOCOL_ABANDON, 0, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}
