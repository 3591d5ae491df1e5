// SPDX-License-Identifier: ISC
/* A message in progress: sent by value with its commit, or written into the shared file. */
#include "base/panic.h"
#include "ipc/pack.h"
#include "os/file/file.h"
#include "queue/client/internal.h"
#include "queue/control/control.h"
#include "queue/message.h"
#include <errno.h>
#include <utlist.h>

static void close_message_file(struct queue_client_message *message)
{
	os_file_close(message->file);
	message->file = -1;
}

static void say_number(const struct queue_client_message *message, enum queue_protocol type)
{
	char bytes[sizeof message->number];
	struct buffer body = {.memory = bytes, .capacity = sizeof bytes};

	pack_u64(&body, message->number);
	ipc_channel_send(ipc_client_channel(message->client->ipc), (uint16_t)type, 0,
			 buffer_view(&body), NULL, 0);
}

void client_set_idle(struct queue_client_message *message)
{
	struct queue_client *client = message->client;

	if (message->state == QUEUE_CLIENT_OPENING)
		DL_DELETE2(client->opening, message, previous, next);
	else if (message->state == QUEUE_CLIENT_COMMITTING)
		HASH_DELETE(hh, client->committing, message);
	else if (message->state != QUEUE_CLIENT_IDLE)
		DL_DELETE2(client->open, message, previous, next);
	close_message_file(message);
	buffer_clear(&message->text);
	buffer_clear(&message->handed);
	message->state = QUEUE_CLIENT_IDLE;
}

void queue_client_abandon(struct queue_client_message *message)
{
	bool is_held =
		(message->state == QUEUE_CLIENT_OPEN || message->state == QUEUE_CLIENT_SHARING) &&
		message->number != 0;

	if (message->state == QUEUE_CLIENT_IDLE)
		return;
	client_set_idle(message);
	if (is_held && ipc_client_channel(message->client->ipc) != NULL)
		say_number(message, QUEUE_PROTOCOL_ABANDON);
}

/* Sends the first PART bytes of REST in a packet of their own. */
static void send_part_of_message(struct queue_client_message *message, enum queue_protocol type,
				 struct str *rest, size_t part)
{
	char bytes[IPC_BODY_MAX];
	struct buffer body = {.memory = bytes, .capacity = sizeof bytes};

	pack_u64(&body, message->number);
	pack_str(&body, str_slice(rest->data, part));
	*rest = str_skip(*rest, part);
	ipc_channel_send(ipc_client_channel(message->client->ipc), (uint16_t)type, 0,
			 buffer_view(&body), NULL, 0);
}

void client_send_commits(void *context)
{
	struct queue_client *client = context;

	if (client->commits.length > 0)
		ipc_channel_send(ipc_client_channel(client->ipc), (uint16_t)client->commits_type, 0,
				 buffer_view(&client->commits), NULL, 0);
	buffer_reset(&client->commits);
}

/* Sends a message, or the last part of one that does not fit in a packet: together with the others
 * that are committed in this turn of the loop, since each packet would wake "queue" up. */
static void send_commit(struct queue_client_message *message, struct str text, struct str data)
{
	struct queue_client *client = message->client;
	struct str handed = buffer_view(&message->handed);
	const size_t head = 8 + handed.length + 4 + 4;
	const size_t room = IPC_BODY_MAX - head;
	enum queue_protocol type =
		handed.length > 0 ? QUEUE_PROTOCOL_COMMIT_HANDED : QUEUE_PROTOCOL_COMMIT;

	if (client->commits.length + head + text.length + data.length > IPC_BODY_MAX ||
	    client->commits_type != type)
		client_send_commits(client); /* before parts of another message */
	client->commits_type = type;
	while (text.length > QUEUE_ENVELOPE_PART)
		send_part_of_message(message, QUEUE_PROTOCOL_ENVELOPE, &text, QUEUE_ENVELOPE_PART);
	while (data.length > room - text.length)
		send_part_of_message(message, QUEUE_PROTOCOL_DATA, &data,
				     data.length < room ? data.length : room);
	pack_u64(&client->commits, message->number);
	buffer_append_str(&client->commits, handed);
	pack_str(&client->commits, text);
	pack_str(&client->commits, data);
	os_loop_defer(client->loop, &client->commits_ready);
}

/* OPEN to COMMITTING. */
static void commit_client_message(struct queue_client_message *message, struct str text,
				  struct str data)
{
	close_message_file(message);
	DL_DELETE2(message->client->open, message, previous, next);
	HASH_ADD(hh, message->client->committing, number, sizeof message->number, message);
	message->state = QUEUE_CLIENT_COMMITTING;
	send_commit(message, text, data);
}

void client_fail(struct queue_client_message *message, int error)
{
	queue_client_abandon(message);
	message->done(message->context, error);
}

void client_commit_shared(struct queue_client_message *message)
{
	struct buffer text = message->text;
	int error = queue_client_write(message, message->data);

	message->text = (struct buffer){0};
	if (error < 0)
		client_fail(message, error);
	else
		commit_client_message(message, buffer_view(&text), STR(""));
	buffer_clear(&text);
}

bool queue_client_is_shared(const struct queue_client_message *message)
{
	return message->file >= 0;
}

uint64_t queue_client_unfinished(const struct queue_client_message *message)
{
	return message->state != QUEUE_CLIENT_IDLE ? message->written : 0;
}

bool queue_client_space(const struct queue_client_message *message, struct os_file_space *space_out)
{
	return os_file_space(message->file, space_out) == 0;
}

void queue_client_share(struct queue_client_message *message)
{
	if (message->state != QUEUE_CLIENT_OPEN || message->file >= 0)
		panic("a message is shared that is not open, or twice");
	if (message->number == 0) {
		client_fail(message, -ENOTCONN);
		return;
	}
	message->state = QUEUE_CLIENT_SHARING;
	say_number(message, QUEUE_PROTOCOL_SHARE);
}

static int check_reserve(const struct queue_client_message *message, size_t bytes)
{
	uint64_t reserve = message->client->reserve;
	struct os_file_space space;

	if (reserve == 0 || !queue_client_space(message, &space) ||
	    space.free_bytes >= reserve + bytes)
		return 0;
	return -ENOSPC;
}

int queue_client_write(struct queue_client_message *message, struct str bytes)
{
	if (message->state != QUEUE_CLIENT_OPEN || message->file < 0)
		panic("a message is written that has no file");
	if (message->error == 0 && message->number == 0)
		message->error = -ENOTCONN;
	if (message->error == 0)
		message->error = check_reserve(message, bytes.length);
	if (message->error == 0)
		message->error =
			os_file_write(message->file, bytes.data, bytes.length, message->written);
	message->written += bytes.length;
	return message->error;
}

/* 0 when TEXT can be sent and there was no error before. */
static int prepare_commit(struct queue_client_message *message, const struct buffer *text,
			  struct str data)
{
	int error = text->length > QUEUE_ENVELOPE_MAX ? -E2BIG : 0; /* "queue" would disconnect */

	if (error == 0 && message->number == 0)
		error = -ENOTCONN;
	if (error == 0 && message->file >= 0)
		error = queue_client_write(message, data);
	return error;
}

void client_commit_text(struct queue_client_message *message, struct buffer text, struct str data)
{
	int error = prepare_commit(message, &text, data);

	if (error < 0) {
		client_fail(message, error);
	} else if (message->file >= 0) {
		commit_client_message(message, buffer_view(&text), STR(""));
	} else if (data.length <= QUEUE_BY_VALUE_MAX) {
		commit_client_message(message, buffer_view(&text), data);
	} else {
		message->text = text;
		message->data = data;
		queue_client_share(message);
		return;
	}
	buffer_clear(&text);
}

void queue_client_commit(struct queue_client_message *message, const struct mail_envelope *envelope,
			 struct str data)
{
	struct buffer text = {0};
	int error = queue_control_write_envelope(&text, envelope);

	if (message->state != QUEUE_CLIENT_OPEN)
		panic("a message that is not open is committed");
	if (error < 0)
		client_fail(message, error);
	else
		client_commit_text(message, text, data);
}
