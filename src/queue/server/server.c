// SPDX-License-Identifier: ISC
#include "queue/server/server.h"
#include "base/panic.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include "queue/server/internal.h"
#include <stdlib.h>
#include <utlist.h>

enum {
	CLIENT_BACKLOG_MAX = 256 * 1024,
	NODES_BACKLOG_MAX = 64 << 20, /* a greeting lists all packages of a node */
};

static const int64_t CLEAN_INTERVAL_US = 6 * HOUR_US;

static void close_queue_client(struct server_client *client)
{
	struct queue_server *server = client->server;
	struct server_held *held;
	struct server_held *next;

	if (server->manager == client)
		server->manager = NULL;
	if (server->managing == client)
		server->managing = NULL;
	server_nodes_forget_client(client);
	HASH_ITER (hh, client->files, held, next)
		server_held_abandon(client, held);
	ipc_channel_close(client->channel);
	client->channel = NULL;
	client->is_gone = true;
	if (client->committing == 0)
		server_client_free(client);
}

static bool (*const verbs[])(struct server_client *client, struct unpack *body) = {
	[QUEUE_PROTOCOL_OPEN] = server_open,
	[QUEUE_PROTOCOL_SHARE] = server_share,
	[QUEUE_PROTOCOL_DATA] = server_data,
	[QUEUE_PROTOCOL_ENVELOPE] = server_envelope,
	[QUEUE_PROTOCOL_COMMIT] = server_commit,
	[QUEUE_PROTOCOL_ABANDON] = server_abandon,
	[QUEUE_PROTOCOL_RELEASE] = server_release,
	[QUEUE_PROTOCOL_MANAGE] = server_manage,
	[QUEUE_PROTOCOL_CLEANED] = server_cleaned,
	[QUEUE_PROTOCOL_FOUND] = server_found,
	[QUEUE_PROTOCOL_REMOVE] = server_remove,
	[QUEUE_PROTOCOL_OPEN_RESERVE] = server_open_reserve,
	[QUEUE_PROTOCOL_GREET] = server_greet,
	[QUEUE_PROTOCOL_COMMIT_HANDED] = server_commit_handed,
	[QUEUE_PROTOCOL_SETTLE] = server_settle,
	[QUEUE_PROTOCOL_DROP] = server_drop,
};

static size_t backlog_max(const struct server_client *client)
{
	return server_may_hand_over(client) ? NODES_BACKLOG_MAX : CLIENT_BACKLOG_MAX;
}

static void on_queue_client_message(void *context, struct ipc_channel *channel,
				    struct ipc_message *message)
{
	struct server_client *client = context;
	struct unpack body = {message->body, false};
	unsigned type = message->type;
	bool ok = type < COUNT_OF(verbs) && verbs[type] != NULL &&
		  (!client->is_user || server_user_may(type)) && verbs[type](client, &body);

	(void)channel;
	/* it does not read its answers */
	if (ok && client != client->server->manager &&
	    ipc_channel_backlog(client->channel) > backlog_max(client))
		ok = false;
	if (!ok) {
		ipc_channel_log_refused(client->channel, message->type);
		close_queue_client(client);
	}
}

static void on_queue_client_lost(void *context, struct ipc_channel *channel)
{
	(void)channel;
	close_queue_client(context);
}

static const struct ipc_channel_handler channel_handler = {on_queue_client_message,
							   on_queue_client_lost};

static struct server_client *client_add(struct queue_server *server, int socket, uid_t user)
{
	struct server_client *client = memory_alloc_zero(1, sizeof *client);

	client->user = user;
	client->server = server;
	client->channel = ipc_channel_new(server->loop, socket, &channel_handler, client);
	DL_APPEND2(server->clients, client, previous, next);
	return client;
}

static void on_queue_client_connection(void *context, int socket)
{
	struct queue_server *server = context;
	uid_t user = os_socket_peer_user(socket);

	if (server_may_connect(server, user)) {
		client_add(server, socket, user);
		return;
	}
	log_event_rated(EVENT_IPC_REFUSED, log_number(uid, (int64_t)user));
	os_socket_close(socket);
}

static void on_submitting_user(void *context, int socket)
{
	struct queue_server *server = context;
	uid_t user = os_socket_peer_user(socket);

	if (server_user_may_connect(server, user)) {
		client_add(server, socket, user)->is_user = true;
		return;
	}
	log_event_rated(EVENT_IPC_REFUSED, log_number(uid, (int64_t)user),
			log_string(peer, "submit"));
	os_socket_close(socket);
}

static void log_cleaned(void *context, const char *path)
{
	(void)context;
	log_event(EVENT_QUEUE_CLEANED, log_string(path, path));
}

static void clean_queue_intake(void *context)
{
	struct queue_server *server = context;
	int error = queue_intake_clean(server->intake, os_clock_wall_us(), QUEUE_LITTER_AGE_US,
				       log_cleaned, NULL);

	if (error < 0)
		log_event(EVENT_QUEUE_ERROR, log_string(operation, "clean"), log_error(error));
	else
		server->is_cleaned = true;
	os_timer_start(server->clean_timer, CLEAN_INTERVAL_US);
}

struct queue_server *queue_server_new(struct os_loop *loop, struct queue_store *store,
				      struct queue_intake *intake, int listening, uint64_t reserve,
				      const struct queue_server_peers *peers)
{
	struct queue_server *server = memory_alloc_zero(1, sizeof *server);

	server->loop = loop;
	server->store = store;
	server->intake = intake;
	server->reserve = reserve;
	server->peers = *peers;
	server->removed_task = (struct os_task){.call = server_removed_send, .context = server};
	server->group = queue_group_new(loop, &server_group_handler, server);
	server->listener = ipc_listener_new(loop, listening, on_queue_client_connection, server);
	server->missed_timer = os_timer_new(loop, server_notice_missed, server);
	server->settle_timer = os_timer_new(loop, server_removed_settle, server);
	server->again_timer = os_timer_new(loop, server_remove_again, server);
	server->clean_timer = os_timer_new(loop, clean_queue_intake, server);
	server->proof_timer = os_timer_new(loop, server_prove, server);
	server->sync = queue_store_sync(store);
	server_check_numbers(server);
	clean_queue_intake(server); /* before a manager scans */
	server_settle_held(server); /* what an earlier process has left */
	return server;
}

void queue_server_serve_users(struct queue_server *server, int listening)
{
	server->users = ipc_listener_new(server->loop, listening, on_submitting_user, server);
}

void queue_server_stop(struct queue_server *server, void (*done)(void *context), void *context)
{
	ipc_listener_stop(server->listener);
	if (server->users != NULL)
		ipc_listener_stop(server->users);
	server->stopped = done;
	server->stopped_context = context;
	server_finish_stop(server);
}

void queue_server_free(struct queue_server *server)
{
	struct server_client *client;
	struct server_client *next;

	if (server == NULL)
		return;
	DL_FOREACH_SAFE2 (server->clients, client, next, next)
		close_queue_client(client);
	queue_group_free(server->group);
	ipc_listener_free(server->listener);
	ipc_listener_free(server->users);
	os_timer_free(server->clean_timer);
	os_timer_free(server->missed_timer);
	os_timer_free(server->settle_timer);
	os_timer_free(server->again_timer);
	os_timer_free(server->proof_timer);
	os_task_cancel(server->loop, &server->removed_task);
	buffer_clear(&server->notice);
	buffer_clear(&server->removed);
	buffer_clear(&server->moved);
	buffer_clear(&server->reached);
	buffer_clear(&server->ending);
	server_nodes_free(server);
	buffer_clear(&server->refused);
	free(server);
}
