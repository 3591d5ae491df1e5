// SPDX-License-Identifier: ISC
/* S3 to S4 in groups: while one group is being written the next one is collected. */
#include "base/panic.h"
#include "log/event.h"
#include "queue/server/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

/* Limit on message data that are waiting for the disk. If they arrive faster than the disk
 * writes, clients that send more are not read from: the data stay with them. */
enum { GROUP_BYTES_MAX = 64 << 20 };

void server_held_free(struct server_held *held)
{
	buffer_clear(&held->text);
	buffer_clear(&held->data);
	free(held);
}

void server_client_free(struct server_client *client)
{
	buffer_clear(&client->answers);
	DL_DELETE2(client->server->clients, client, previous, next);
	free(client);
}

void server_finish_stop(struct queue_server *server)
{
	void (*stopped)(void *context) = server->stopped;

	if (stopped == NULL || !queue_group_is_idle(server->group))
		return;
	server->stopped = NULL;
	stopped(server->stopped_context);
}

void server_commit_begin(struct server_client *client, struct server_held *held)
{
	struct queue_server *server = client->server;

	HASH_DELETE(hh, client->files, held);
	HASH_ADD(hh, server->committing, number, sizeof held->number, held);
	client->committing++;
	client->data_bytes -= held->data.length;
	client->text_bytes -= held->text.length;
	held->data_size = held->data.length;
	/* the text is also appended to the data */
	held->group_size = held->data.length + 2 * held->text.length;
	server->group_bytes += held->group_size;
	queue_group_add(server->group, held);
	if (server->group_bytes <= GROUP_BYTES_MAX)
		return;
	client->is_paused = true;
	ipc_channel_pause(client->channel, true);
}

static void resume_paused_client(struct server_client *client)
{
	if (!client->is_paused || client->server->group_bytes > GROUP_BYTES_MAX)
		return;
	client->is_paused = false;
	if (!client->is_gone)
		ipc_channel_pause(client->channel, false);
}

/* S2 to S3. In the group's thread, because a slow disk must not block the loop. */
static int write_held_message(struct server_held *held)
{
	int error = held->client->is_user ? server_user_check_data(held) : 0;

	if (error < 0)
		return error;
	if (queue_message_is_shared(held->message))
		return queue_message_envelope(held->message, held->stage, &held->text);
	return queue_message_write(held->message, held->stage, &held->data, &held->text);
}

static void commit_held_group(void *context, void **items, size_t count)
{
	struct queue_server *server = context;
	struct queue_message **messages = memory_alloc(count * sizeof *messages);
	int *results = memory_alloc(count * sizeof *results);
	size_t messages_count = 0;

	for (size_t i = 0; i < count; i++) {
		struct server_held *held = items[i];

		if (held == NULL)
			continue;
		held->result = write_held_message(held);
		if (held->data_size > SERVER_NOTICE_CONTENT_MAX)
			buffer_clear(&held->data);
		messages[messages_count++] = held->message;
	}
	queue_message_commit_group(server->intake, messages, messages_count, results);
	while (count-- > 0) {
		struct server_held *held = items[count];

		if (held == NULL)
			continue;
		if (results[--messages_count] == 0)
			held->message = NULL;
		else if (held->result == 0)
			held->result = results[messages_count];
	}
	free(messages);
	free(results);
}

/* One packet for all results of a group: each packet would wake the client up. */
void server_commit_answers_send(struct server_client *client)
{
	if (!client->is_gone && client->answers.length > 0)
		ipc_channel_send(client->channel, QUEUE_PROTOCOL_COMMITTED, 0,
				 buffer_view(&client->answers), NULL, 0);
	buffer_reset(&client->answers);
}

void server_commit_answer(struct server_client *client, uint64_t number, int result)
{
	enum { ENTRY = 12 };

	if (client->answers.length + ENTRY > IPC_BODY_MAX)
		server_commit_answers_send(client);
	pack_u64(&client->answers, number);
	pack_u32(&client->answers, (uint32_t)-result);
}

/* Nobody else logs whose a message of a user of the machine is. */
static void log_queued_message(const struct server_held *held)
{
	const char *stage = mail_stage_name(held->stage);

	log_event(EVENT_MESSAGE_QUEUED, log_id(held->id), log_string(stage, stage),
		  held->client->is_user ? log_number(uid, (int64_t)held->client->user)
					: log_none());
}

static void commit_done(struct queue_server *server, struct server_held *held)
{
	struct server_client *client = held->client;

	HASH_DELETE(hh, server->committing, held);
	server->group_bytes -= held->group_size;
	server_package_end(held, held->result);
	server_commit_answer(client, held->number, held->result);
	if (held->result == 0) {
		log_queued_message(held);
		if (held->is_removed)
			server_remove_queued(server, held);
		else
			server_notice_add(server, held);
	} else {
		log_event_rated(EVENT_QUEUE_ERROR, log_id(held->id),
				log_string(operation, "commit"), log_error(held->result));
		if (held->result == -EEXIST || held->result == -EUCLEAN)
			server_look_at(server, held->stage, held->number);
		/* its number may be handed out again from now on */
		queue_message_abandon(held->message);
	}
	client->committing--;
	if (client->is_gone && client->committing == 0)
		server_client_free(client);
	server_held_free(held);
}

static void answer_committed_group(void *context, void **items, size_t count)
{
	struct queue_server *server = context;
	struct server_client *client;

	for (size_t i = 0; i < count; i++)
		if (items[i] != NULL)
			commit_done(server, items[i]);
	DL_FOREACH2 (server->clients, client, next) {
		server_commit_answers_send(client);
		resume_paused_client(client);
	}
	server_notice_send(server);
	server_tell_settled(server);
	server_nodes_greet(server);
	server_check_syncs(server);
	server_check_sight(server);
	if (server->is_full)
		(void)server_check_room(server);
	server_finish_stop(server);
}

const struct queue_group_handler server_group_handler = {commit_held_group, answer_committed_group};
