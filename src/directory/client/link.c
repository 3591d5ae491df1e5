// SPDX-License-Identifier: ISC
/* The connection, to one server at a time, and the choice of that server. */
#include "base/panic.h"
#include "directory/client/internal.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { READ_SIZE = 64 * 1024, READS_A_TURN = 8, KEPT_MEMORY = 4096 };

static const int64_t FIRST_DELAY_US = SECOND_US / 50;
static const int64_t LONGEST_DELAY_US = SECOND_US / 2;
static const int64_t LONG_PATIENCE_US = 60 * SECOND_US; /* a commit may wait for a disk */
static const int64_t TAKE_OVER_US = SECOND_US / 2;
static const int64_t HEALTHY_US = SECOND_US; /* after living so long: retried at once */

static bool is_up(const struct directory_client *client)
{
	return client->state == CLIENT_GREETED && !client->is_down && !client->is_broken;
}

static void say_lost(struct directory_client *client)
{
	if (client->is_lost_said)
		return;
	client->is_lost_said = true;
	log_event(EVENT_DIRECTORY_LOST, log_string(server, client->servers[client->current]),
		  log_string(reason, client->reason));
}

/* Logs a server that answers after none did, or that took over from another. */
static void log_server_found(struct directory_client *client)
{
	const char *server = client->servers[client->current];

	if (client->is_lost_said || (client->followed != NULL && client->followed != server))
		log_event(EVENT_DIRECTORY_FOUND, log_string(server, server),
			  log_string(before, client->followed != NULL ? client->followed : ""));
	client->is_lost_said = false;
	client->followed = server;
}

void client_tell_state(struct directory_client *client)
{
	bool up = is_up(client);

	if (up) {
		client->lost_us = 0;
		log_server_found(client);
	} else if (client->lost_us == 0) {
		client->lost_us = os_clock_monotonic_us();
	}
	/* a failover that is quick stays unreported, but refusals must not be cached for long */
	if (up == client->told_up || (!up && !client->has_failed && !client->is_down &&
				      os_clock_monotonic_us() - client->lost_us < TAKE_OVER_US))
		return;
	client->told_up = up;
	if (!up)
		say_lost(client);
	if (client->handler != NULL && client->handler->state != NULL)
		client->handler->state(client->context, up);
}

/* --- which server --- */

/* Tries the next server; after the last of them, pauses first. */
static void connect_to_next_server(struct directory_client *client)
{
	client->current = (client->current + 1) % client->server_count;
	client->state = CLIENT_WAITING;
	if (client->left > 0) {
		os_timer_start(client->retry, 0);
		return;
	}
	client->has_failed = true;
	say_lost(client);
	client_tell_state(client);
	os_timer_start(client->retry, client->delay_us);
	client->delay_us =
		client->delay_us * 2 < LONGEST_DELAY_US ? client->delay_us * 2 : LONGEST_DELAY_US;
	client->left = client->server_count;
}

/* Fails the changes that were sent but not answered: whether they were made is unknown. */
static void give_up_changes(struct directory_client *client)
{
	struct directory_question_private *next = client->first;

	while (next != NULL) {
		struct directory_question_private *pending = next;

		next = pending->next;
		if (pending->sent_us == 0)
			continue;
		if (pending->kind == CLIENT_CHANGE || pending->kind == CLIENT_PING) {
			client_answer_error(client, pending, DIRECTORY_ERROR_LATER,
					    "The connection was lost; whether this was changed is "
					    "not known");
			next = client->first; /* the callback may have changed the list */
			continue;
		}
		pending->sent_us = 0;
		buffer_clear(&pending->parts);
	}
}

void client_disconnect(struct directory_client *client)
{
	if (client->dial != NULL)
		client->dialer->cancel(client->dial);
	client->dial = NULL;
	os_watch_free(client->ready);
	client->ready = NULL;
	if (client->has_transport)
		client->transport.close(client->transport.state);
	client->has_transport = false;
	client->unheard_us = 0;
	buffer_clear(&client->input);
	buffer_clear(&client->output);
}

/* Runs in the task, or before there is a connection. */
static void end_connection(struct directory_client *client)
{
	bool was_greeted = client->state == CLIENT_GREETED && !client->is_down;
	bool was_healthy = was_greeted && os_clock_monotonic_us() - client->begun_us > HEALTHY_US;

	client_disconnect(client);
	client_tell_state(client);
	client->is_broken = false;
	if (was_healthy) {
		client->left = client->server_count;
		client->delay_us = FIRST_DELAY_US;
	}
	connect_to_next_server(client);
	give_up_changes(client);
}

void client_lose(struct directory_client *client, const char *reason)
{
	if (client->is_broken)
		return;
	snprintf(client->reason, sizeof client->reason, "%s", reason);
	client->failed = client->servers[client->current];
	client->is_broken = true;
	os_loop_defer(client->loop, &client->task);
}

static void lose_by(struct directory_client *client, int error)
{
	client_lose(client, error == 0 ? "it has ended the connection" : strerror(-error));
}

/* --- bytes --- */

static void read_all_from_server(struct directory_client *client)
{
	bool has_more = true;

	for (unsigned i = 0; has_more && !client->is_broken && i < READS_A_TURN; i++) {
		char *place = buffer_reserve(&client->input, READ_SIZE);
		ssize_t count =
			client->transport.read(client->transport.state, place, (size_t)READ_SIZE);

		if (count > 0) {
			buffer_commit(&client->input, (size_t)count);
			client->heard_us = os_clock_monotonic_us();
			client->hear(client);
			client->unheard_us = client->first != NULL ? client->heard_us : 0;
		} else if (count != -EAGAIN) {
			lose_by(client, (int)count);
		}
		has_more = count == READ_SIZE;
	}
	if (has_more && !client->is_broken) /* after others' turns; poll may not report it */
		os_timer_start(client->retry, 0);
	if (client->input.length == 0 && client->input.capacity > KEPT_MEMORY)
		buffer_clear(&client->input);
}

static void write_all_to_server(struct directory_client *client)
{
	while (client->output.length > 0 && !client->is_broken) {
		ssize_t count = client->transport.write(client->transport.state,
							buffer_data(&client->output),
							client->output.length);

		if (count == -EAGAIN)
			return;
		if (count < 0)
			lose_by(client, (int)count);
		else
			buffer_consume(&client->output, (size_t)count);
	}
	if (client->output.length == 0 && client->output.capacity > KEPT_MEMORY)
		buffer_clear(&client->output);
}

void client_write(struct directory_client *client)
{
	os_loop_defer(client->loop, &client->task);
}

/* The client's task, at the end of a turn. */
static void run_client_task(void *context)
{
	struct directory_client *client = context;

	if (client->has_transport && !client->is_broken)
		write_all_to_server(client);
	if (client->is_broken) {
		os_task_cancel(client->loop, &client->task);
		end_connection(client);
		return;
	}
	if (client->has_transport)
		os_watch_set(client->ready, client->transport.wants(client->transport.state,
								    client->output.length > 0));
	client_tell_state(client);
}

static void on_directory_server_ready(void *context, unsigned events)
{
	struct directory_client *client = context;

	(void)events;
	read_all_from_server(client);
	os_loop_defer(client->loop, &client->task);
}

/* --- connecting --- */

static void take_transport(struct directory_client *client,
			   const struct directory_transport *transport)
{
	client->transport = *transport;
	client->has_transport = true;
	client->heard_us = os_clock_monotonic_us();
	client->ready = os_watch_new(client->loop, transport->descriptor, OS_WATCH_READ,
				     on_directory_server_ready, client);
	read_all_from_server(client); /* the greeting may have been read with a handshake */
	os_loop_defer(client->loop, &client->task);
}

static void on_dialed(void *context, int error, const char *reason,
		      const struct directory_transport *transport)
{
	struct directory_client *client = context;

	client->dial = NULL;
	if (transport != NULL)
		take_transport(client, transport);
	else
		client_lose(client, reason != NULL ? reason : strerror(-error));
}

static void connect_unix(struct directory_client *client, const char *path)
{
	struct directory_transport transport;
	int socket = os_socket_connect_unix(path, SOCK_STREAM);

	if (socket < 0) {
		lose_by(client, socket);
		return;
	}
	directory_transport_plain(socket, &transport);
	take_transport(client, &transport);
}

void client_connect(struct directory_client *client)
{
	const char *server = client->servers[client->current];

	if (client->left > 0)
		client->left--;
	client->state = CLIENT_CONNECTING;
	client->is_down = false;
	client->begun_us = os_clock_monotonic_us();
	client_arm_patience(client);
	if (strncmp(server, "unix:", 5) == 0) {
		connect_unix(client, server + 5);
		return;
	}
	if (client->dialer == NULL)
		panic("no dialer for %s", server);
	client->dial = client->dialer->dial(client->dialer->context, server, NULL, on_dialed,
					      client);
}

/* --- writing --- */

void client_send(struct directory_client *client, struct directory_question_private *pending)
{
	if (client->state != CLIENT_GREETED || client->is_broken)
		return;
	buffer_append_str(&client->output, pending->frame);
	pending->sent_us = os_clock_monotonic_us();
	if (client->unheard_us == 0)
		client->unheard_us = pending->sent_us;
	pending->asked_us = os_clock_boot_us();
	if (pending->kind == CLIENT_CHANGE || pending->kind == CLIENT_LIST)
		pending->until_us = pending->sent_us + LONG_PATIENCE_US;
	client_write(client);
}

void client_greeted(struct directory_client *client)
{
	void (*call)(void *context) = client->when_greeted;

	client->has_failed = false;
	for (struct directory_question_private *p = client->first; p != NULL; p = p->next)
		client_send(client, p);
	client_write(client);
	client->when_greeted = NULL;
	if (call != NULL)
		call(client->when_context);
}

/* Connects, or continues to read. */
static void on_connection_retry(void *context)
{
	struct directory_client *client = context;

	if (client->state == CLIENT_WAITING) {
		client_connect(client);
	} else if (client->has_transport && !client->is_broken) {
		read_all_from_server(client);
		os_loop_defer(client->loop, &client->task);
	}
}

void client_link_init(struct directory_client *client)
{
	client->task = (struct os_task){.call = run_client_task, .context = client};
	client->delay_us = FIRST_DELAY_US;
	client->left = client->server_count;
	client->retry = os_timer_new(client->loop, on_connection_retry, client);
	os_timer_start(client->retry, 0);
}
