// SPDX-License-Identifier: ISC
#include "deliver/launch/launcher.h"
#include "base/panic.h"
#include "deliver/launch/command.h"
#include "deliver/launch/launch.h"
#include "deliver/owner.h"
#include "ipc/channel.h"
#include "ipc/listener.h"
#include "ipc/pack.h"
#include "log/event.h"
#include "os/process/program.h"
#include "os/socket/socket.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
	CLIENTS_MAX = 8, /* the active one, and old ones that are ending */
	BACKLOG_MAX = 64 << 10,
};

/* A running program. */
struct run {
	struct deliver_launcher *launcher;
	struct client *client; /* NULL: disconnected; nothing is reported */
	uint32_t tag;
	char *service;
	struct os_program program;
	struct os_watch *ended;
	struct os_timer *timer;
	bool is_late; /* it was killed because it exceeded its time limit */
	struct run *next, *previous;
};

struct client {
	struct deliver_launcher *launcher;
	struct ipc_channel *channel;
	uid_t user;
	bool is_known; /* its HELLO was accepted */
	struct client *next, *previous;
};

struct deliver_launcher {
	struct os_loop *loop;
	const struct config *config;
	struct deliver_launcher_peer peer;
	struct ipc_listener *listener;
	struct client *clients;
	size_t client_count;
	struct run *runs;
	size_t run_count;
	bool is_draining;
};

/* A request to run a program. Views of the packet. */
struct order {
	const struct config_service *service; /* NULL: there is no such pipe service */
	struct mail_id id;
	struct str sender;
	struct str recipient;
};

/* --- running programs --- */

static void run_free(struct run *run)
{
	DL_DELETE2(run->launcher->runs, run, previous, next);
	run->launcher->run_count--;
	os_watch_free(run->ended);
	os_timer_free(run->timer);
	os_program_close(&run->program);
	free(run->service);
	free(run);
}

static void send_end_of_run(const struct run *run, int status)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	if (run->client == NULL)
		return;
	pack_u32(&body, (uint32_t)status);
	pack_u32(&body, run->is_late);
	ipc_channel_send(run->client->channel, LAUNCH_ENDED, run->tag, buffer_view(&body), NULL, 0);
}

static void on_end_of_run(void *context, unsigned events)
{
	struct run *run = context;
	int status;

	(void)events;
	if (!os_program_has_ended(&run->program, false, &status))
		return;
	send_end_of_run(run, status);
	run_free(run);
}

static void on_late_run(void *context)
{
	struct run *run = context;

	run->is_late = true;
	os_program_kill(&run->program);
}

static struct run *find_run(const struct client *client, uint32_t tag)
{
	struct run *run;

	DL_FOREACH2 (client->launcher->runs, run, next)
		if (run->client == client && run->tag == tag)
			return run;
	return NULL;
}

/* Programs of clients that have disconnected count as well, until they have ended. */
static size_t running_for(const struct deliver_launcher *launcher, const char *service)
{
	const struct run *run;
	size_t count = 0;

	DL_FOREACH2 (launcher->runs, run, next)
		count += strcmp(run->service, service) == 0;
	return count;
}

static void add_run(struct client *client, uint32_t tag, const struct config_service *service,
		    const struct os_program *program)
{
	struct deliver_launcher *launcher = client->launcher;
	struct run *run = memory_alloc_zero(1, sizeof *run);

	run->launcher = launcher;
	run->client = client;
	run->tag = tag;
	run->service = memory_copy_string(service->name);
	run->program = *program;
	run->ended =
		os_watch_new(launcher->loop, program->ended, OS_WATCH_READ, on_end_of_run, run);
	run->timer = os_timer_new(launcher->loop, on_late_run, run);
	os_timer_start(run->timer, service->timeout * SECOND_US);
	DL_APPEND2(launcher->runs, run, previous, next);
	launcher->run_count++;
	ipc_channel_send(client->channel, LAUNCH_STARTED, tag, STR(""),
			 (int[LAUNCH_DESCRIPTORS]){program->input, program->output, program->ended},
			 LAUNCH_DESCRIPTORS);
	os_program_close_output(&run->program); /* only "pipe" reads it */
}

/* --- requests --- */

static bool has_place_for_program(const struct deliver_launcher *launcher,
				  const struct config_service *service)
{
	const struct config_transport *transport =
		config_transport_find(launcher->config, str_from(service->name));

	return running_for(launcher, service->name) <
	       (transport != NULL ? transport->concurrency : 1);
}

static bool may_run_order(const struct deliver_launcher *launcher, const struct order *order,
			  struct mail_verdict *why)
{
	if (order->service == NULL)
		mail_verdict_set(why, "4.3.5", "There is no such pipe service");
	else if (order->sender.length > LAUNCH_ADDRESS_MAX ||
		 order->recipient.length > LAUNCH_ADDRESS_MAX)
		mail_verdict_set(why, "5.1.3", "The address is too long to be given to a program");
	else if (launcher->is_draining)
		mail_verdict_set(why, "4.3.0", "No program is started any more");
	else if (!has_place_for_program(launcher, order->service))
		mail_verdict_set(why, "4.3.0", "Too many programs of %s run already",
				 order->service->name);
	else
		return true;
	return false;
}

static bool start_ordered_program(struct client *client, uint32_t tag, const struct order *order,
				  struct arena *arena, struct mail_verdict *why)
{
	struct deliver_launcher *launcher = client->launcher;
	struct os_process_account owner;
	struct pipe_envelope envelope = {order->id, order->sender, order->recipient, &owner};
	struct pipe_command command;
	struct os_program program;
	int error;

	if (!may_run_order(launcher, order, why) ||
	    !owner_find(launcher->config, order->service, order->recipient, &owner, why) ||
	    !pipe_command_fill(arena, order->service, &envelope, &command, why))
		return false;
	error = os_program_start(command.arguments, command.environment, &owner.user, &program);
	if (error < 0) {
		mail_verdict_set(why, "4.3.0", "Cannot start %s: %s", command.arguments[0],
				 strerror(-error));
		return false;
	}
	add_run(client, tag, order->service, &program);
	return true;
}

static void send_launch_refusal(struct client *client, uint32_t tag, const struct mail_verdict *why)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_str(&body, str_from(why->status));
	pack_str(&body, str_from(why->text));
	ipc_channel_send(client->channel, LAUNCH_REFUSED, tag, buffer_view(&body), NULL, 0);
}

static bool read_order(const struct config *config, struct str body, struct order *out)
{
	struct unpack unpack = {body, false};
	struct str service = unpack_str(&unpack);

	out->id.number = unpack_u64(&unpack);
	out->id.born_us = (int64_t)unpack_u64(&unpack);
	out->sender = unpack_str(&unpack);
	out->recipient = unpack_str(&unpack);
	out->service = config_service_find(config, service);
	if (out->service != NULL && out->service->kind != CONFIG_SERVICE_PIPE)
		out->service = NULL;
	return unpack_is_whole(&unpack);
}

/* False: the client misbehaves. */
static bool on_run(struct client *client, const struct ipc_message *message)
{
	struct mail_verdict why;
	struct arena *arena;
	struct order order;

	if (!read_order(client->launcher->config, message->body, &order) ||
	    find_run(client, message->tag) != NULL ||
	    ipc_channel_backlog(client->channel) > BACKLOG_MAX)
		return false;
	arena = arena_new();
	if (!start_ordered_program(client, message->tag, &order, arena, &why))
		send_launch_refusal(client, message->tag, &why);
	arena_free(arena);
	return true;
}

/* --- clients --- */

static bool on_launch_hello(struct client *client, struct str body)
{
	const struct deliver_launcher_peer *peer = &client->launcher->peer;
	struct unpack unpack = {body, false};
	struct str token = unpack_str(&unpack);

	if (client->is_known || !unpack_is_whole(&unpack) || client->user != peer->user ||
	    !ipc_tokens_match(peer->tokens, "pipe", token))
		return false;
	client->is_known = true;
	return true;
}

static bool on_known_client_message(struct client *client, const struct ipc_message *message)
{
	struct run *run = find_run(client, message->tag);

	switch (message->type) {
	case LAUNCH_RUN:
		return on_run(client, message);
	case LAUNCH_WHOLE:
		if (run != NULL)
			os_program_close_input(&run->program);
		return message->body.length == 0;
	case LAUNCH_KILL:
		if (run != NULL)
			os_program_kill(&run->program);
		return message->body.length == 0;
	default:
		return false;
	}
}

static void on_launch_client_message(void *context, struct ipc_channel *channel,
				     struct ipc_message *message)
{
	struct client *client = context;
	bool fits = message->descriptor_count == 0;

	if (fits && message->type == LAUNCH_HELLO)
		fits = on_launch_hello(client, message->body);
	else
		fits = fits && client->is_known && on_known_client_message(client, message);
	if (!fits)
		ipc_channel_refuse(channel, message->type);
}

/* Its programs depend on it for input, and report to it. They are killed first: their input is
 * closed when they have ended. */
static void close_launch_client(struct client *client)
{
	struct deliver_launcher *launcher = client->launcher;
	struct run *run;

	DL_FOREACH2 (launcher->runs, run, next) {
		if (run->client != client)
			continue;
		os_program_kill(&run->program);
		run->client = NULL;
	}
	ipc_channel_close(client->channel);
	DL_DELETE2(launcher->clients, client, previous, next);
	launcher->client_count--;
	free(client);
}

static void on_launch_client_lost(void *context, struct ipc_channel *channel)
{
	(void)channel;
	close_launch_client(context);
}

/* Clients that have not sent HELLO are closed to make room for one that may be the active one. */
static bool has_room_for_launch_client(struct deliver_launcher *launcher)
{
	struct client *client;

	if (launcher->client_count < CLIENTS_MAX)
		return true;
	DL_FOREACH2 (launcher->clients, client, next) {
		if (client->is_known)
			continue;
		close_launch_client(client);
		return true;
	}
	return false;
}

static void on_launch_client_connection(void *context, int socket)
{
	static const struct ipc_channel_handler handler = {on_launch_client_message,
							   on_launch_client_lost};
	struct deliver_launcher *launcher = context;
	uid_t user = os_socket_peer_user(socket);
	struct client *client;

	if (user != launcher->peer.user || !has_room_for_launch_client(launcher)) {
		log_event_rated(EVENT_IPC_REFUSED, log_number(uid, (int64_t)user));
		os_socket_close(socket);
		return;
	}
	client = memory_alloc_zero(1, sizeof *client);
	client->launcher = launcher;
	client->user = user;
	client->channel = ipc_channel_new(launcher->loop, socket, &handler, client);
	DL_APPEND2(launcher->clients, client, previous, next);
	launcher->client_count++;
}

struct deliver_launcher *deliver_launcher_new(struct os_loop *loop, int listening,
					      const struct config *config,
					      const struct deliver_launcher_peer *peer)
{
	struct deliver_launcher *launcher = memory_alloc_zero(1, sizeof *launcher);

	launcher->loop = loop;
	deliver_launcher_configure(launcher, config, peer);
	launcher->listener =
		ipc_listener_new(loop, listening, on_launch_client_connection, launcher);
	return launcher;
}

void deliver_launcher_configure(struct deliver_launcher *launcher, const struct config *config,
				const struct deliver_launcher_peer *peer)
{
	launcher->config = config;
	launcher->peer = *peer;
}

void deliver_launcher_drain(struct deliver_launcher *launcher)
{
	launcher->is_draining = true;
}

size_t deliver_launcher_running(const struct deliver_launcher *launcher)
{
	return launcher->run_count;
}

void deliver_launcher_free(struct deliver_launcher *launcher)
{
	if (launcher == NULL)
		return;
	ipc_listener_free(launcher->listener);
	while (launcher->clients != NULL)
		close_launch_client(launcher->clients);
	while (launcher->runs != NULL) {
		int status;

		os_program_kill(&launcher->runs->program);
		(void)!os_program_has_ended(&launcher->runs->program, true, &status);
		run_free(launcher->runs);
	}
	free(launcher);
}
