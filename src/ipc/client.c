// SPDX-License-Identifier: ISC
/* A connection to another process that reconnects whenever it is lost. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "ipc/channel.h"
#include "log/event.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

static const int64_t FIRST_DELAY_US = SECOND_US / 50;
static const int64_t LONGEST_DELAY_US = SECOND_US;

struct ipc_client {
	struct os_loop *loop;
	char *path;
	const struct ipc_client_handler *handler;
	void *context;
	struct ipc_channel *channel;
	struct os_timer *timer;
	int64_t delay_us;
	bool is_loss_untold;
	bool is_once;                          /* does not reconnect */
	void (*when_connected)(void *context); /* NULL: nobody waits for that */
	void *when_context;
};

static void client_message(void *context, struct ipc_channel *channel, struct ipc_message *message)
{
	struct ipc_client *client = context;

	(void)channel;
	client->handler->message(client->context, message);
}

static void client_lost(void *context, struct ipc_channel *channel)
{
	struct ipc_client *client = context;

	ipc_channel_close(channel);
	client->channel = NULL;
	client->delay_us = FIRST_DELAY_US;
	if (!client->is_once)
		os_timer_start(client->timer, client->delay_us);
	client->is_loss_untold = true;
	client->handler->lost(client->context);
}

static const struct ipc_channel_handler channel_handler = {client_message, client_lost};

static void use_socket(struct ipc_client *client, int socket)
{
	client->channel = ipc_channel_new(client->loop, socket, &channel_handler, client);
	ipc_channel_set_peer(client->channel, client->path);
}

static void tell_connected(struct ipc_client *client)
{
	void (*call)(void *context) = client->when_connected;

	client->handler->connected(client->context);
	client->when_connected = NULL;
	if (call != NULL)
		call(client->when_context);
}

static void connect_to_ipc_server(void *context)
{
	struct ipc_client *client = context;
	int socket = os_socket_connect_unix(client->path, SOCK_SEQPACKET);

	/* when it is over, or lasts; not if the whole node stops, which takes a moment */
	if (client->is_loss_untold && (socket >= 0 || client->delay_us == LONGEST_DELAY_US)) {
		log_event(EVENT_IPC_LOST, log_string(path, client->path));
		client->is_loss_untold = false;
	}
	if (socket < 0) {
		/* if it has not begun to listen, that is not an error */
		if (client->delay_us == FIRST_DELAY_US && socket != -ENOENT &&
		    socket != -ECONNREFUSED)
			log_event(EVENT_IPC_ERROR, log_string(operation, "connect"),
				  log_string(path, client->path), log_error(socket));
		os_timer_start(client->timer, client->delay_us);
		client->delay_us *= 2;
		if (client->delay_us > LONGEST_DELAY_US)
			client->delay_us = LONGEST_DELAY_US;
		return;
	}
	use_socket(client, socket);
	tell_connected(client);
}

static struct ipc_client *new_client(struct os_loop *loop, const char *path,
				     const struct ipc_client_handler *handler, void *context)
{
	struct ipc_client *client = memory_alloc_zero(1, sizeof *client);

	client->loop = loop;
	client->path = memory_copy_string(path);
	client->handler = handler;
	client->context = context;
	client->delay_us = FIRST_DELAY_US;
	client->timer = os_timer_new(loop, connect_to_ipc_server, client);
	return client;
}

struct ipc_client *ipc_client_new(struct os_loop *loop, const char *path,
				  const struct ipc_client_handler *handler, void *context)
{
	struct ipc_client *client = new_client(loop, path, handler, context);

	os_timer_start(client->timer, 0);
	return client;
}

struct ipc_client *ipc_client_new_connected(struct os_loop *loop, int socket, const char *path,
					    const struct ipc_client_handler *handler, void *context)
{
	struct ipc_client *client = new_client(loop, path, handler, context);

	client->is_once = true;
	use_socket(client, socket);
	return client;
}

void ipc_client_free(struct ipc_client *client)
{
	if (client == NULL)
		return;
	ipc_channel_close(client->channel);
	os_timer_free(client->timer);
	free(client->path);
	free(client);
}

struct ipc_channel *ipc_client_channel(struct ipc_client *client)
{
	return client->channel;
}

void ipc_client_when_connected(struct ipc_client *client, void (*call)(void *context),
			       void *context)
{
	client->when_connected = call;
	client->when_context = context;
}
