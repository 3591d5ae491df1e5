// SPDX-License-Identifier: ISC
#include "ipc/server.h"
#include "base/panic.h"
#include "ipc/listener.h"
#include "log/event.h"
#include "os/socket/socket.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct client {
	struct ipc_server *server;
	struct ipc_channel *channel;
	uid_t user;
	void *context; /* of the callbacks */
	struct client *next, *previous;
};

struct ipc_server {
	struct os_loop *loop;
	struct ipc_listener *listener;
	const struct ipc_server_kind *kind;
	void *context;
	size_t backlog_max;
	uid_t users[IPC_SERVER_USERS_MAX];
	size_t user_count;
	struct client *clients;
};

static void close_ipc_client(struct client *client)
{
	struct ipc_server *server = client->server;

	if (server->kind->lost != NULL)
		server->kind->lost(client->context);
	ipc_channel_close(client->channel);
	DL_DELETE2(server->clients, client, previous, next);
	free(client);
}

/* The connections of USER, and what they have not read. */
static size_t count_clients(const struct ipc_server *server, uid_t user, size_t *backlog_out)
{
	const struct client *client;
	size_t count = 0;

	*backlog_out = 0;
	DL_FOREACH2 (server->clients, client, next) {
		if (client->user != user)
			continue;
		count++;
		*backlog_out += ipc_channel_backlog(client->channel);
	}
	return count;
}

static bool is_user_behind(const struct ipc_server *server, size_t backlog)
{
	return backlog / IPC_SERVER_BEHIND_MAX > server->backlog_max;
}

static bool is_client_behind(const struct client *client)
{
	size_t backlog = ipc_channel_backlog(client->channel);

	if (backlog == 0 || backlog > client->server->backlog_max)
		return backlog > 0;
	(void)count_clients(client->server, client->user, &backlog);
	return is_user_behind(client->server, backlog);
}

static void on_ipc_client_message(void *context, struct ipc_channel *channel,
				  struct ipc_message *message)
{
	const struct client *client = context;

	if ((message->descriptor_count > 0 && !client->server->kind->takes_descriptors) ||
	    is_client_behind(client) ||
	    !client->server->kind->message(client->context, channel, message))
		ipc_channel_refuse(channel, message->type);
}

static void on_ipc_client_lost(void *context, struct ipc_channel *channel)
{
	(void)channel;
	close_ipc_client(context);
}

/* Not who is not known, among users some of whom are not there. */
static bool is_user_allowed(const struct ipc_server *server, uid_t user)
{
	for (size_t i = 0; i < server->user_count && user != (uid_t)-1; i++)
		if (server->users[i] == user)
			return true;
	return false;
}

static bool has_room_for_user(const struct ipc_server *server, uid_t user)
{
	size_t backlog;

	return count_clients(server, user, &backlog) < server->kind->clients_max &&
	       !is_user_behind(server, backlog);
}

static void on_ipc_connection(void *context, int socket)
{
	static const struct ipc_channel_handler handler = {on_ipc_client_message,
							   on_ipc_client_lost};
	struct ipc_server *server = context;
	uid_t user = os_socket_peer_user(socket);
	struct client *client;

	if (!is_user_allowed(server, user) || !has_room_for_user(server, user)) {
		log_event_rated(EVENT_IPC_REFUSED, log_number(uid, (int64_t)user));
		os_socket_close(socket);
		return;
	}
	client = memory_alloc_zero(1, sizeof *client);
	client->server = server;
	client->user = user;
	client->channel = ipc_channel_new(server->loop, socket, &handler, client);
	DL_APPEND2(server->clients, client, previous, next);
	client->context = server->kind->connected(server->context, client->channel);
}

struct ipc_server *ipc_server_new(struct os_loop *loop, int listening,
				  const struct ipc_server_kind *kind, void *context)
{
	struct ipc_server *server = memory_alloc_zero(1, sizeof *server);

	server->loop = loop;
	server->kind = kind;
	server->context = context;
	server->backlog_max = kind->backlog_max;
	server->listener = ipc_listener_new(loop, listening, on_ipc_connection, server);
	return server;
}

void ipc_server_set_users(struct ipc_server *server, const uid_t *users, size_t count)
{
	if (count > IPC_SERVER_USERS_MAX)
		panic("%zu users may connect, more than %d", count, IPC_SERVER_USERS_MAX);
	if (count > 0)
		memcpy(server->users, users, count * sizeof *users);
	server->user_count = count;
}

void ipc_server_set_backlog_max(struct ipc_server *server, size_t bytes)
{
	server->backlog_max = bytes;
}

void ipc_server_each(struct ipc_server *server,
		     void (*call)(void *client, struct ipc_channel *channel))
{
	struct client *client;
	struct client *next;

	DL_FOREACH_SAFE2 (server->clients, client, next, next)
		if (is_client_behind(client))
			close_ipc_client(client);
		else
			call(client->context, client->channel);
}

void ipc_server_free(struct ipc_server *server)
{
	if (server == NULL)
		return;
	ipc_listener_free(server->listener);
	while (server->clients != NULL)
		close_ipc_client(server->clients);
	free(server);
}
