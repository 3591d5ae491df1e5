// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "base/timestamp.h"
#include "directory/socketmap/internal.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/socket/listener.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

enum {
	READ_SIZE = 4096,
	REQUESTS_A_TURN = 64, /* of a connection */
};

#define TICK_US (30 * SECOND_US)

struct connection {
	struct socketmap_question question; /* first, as its address is the connection's */
	struct directory_socketmap *socketmap;
	int socket; /* -1: closed, while an answer is pending */
	struct os_watch *watch;
	struct os_task task; /* continues after an answer */
	struct buffer input;
	struct buffer output;
	bool is_waiting; /* for an answer */
	bool has_ended;  /* the client has closed its side */
	int64_t used_us;
	struct connection *previous;
	struct connection *next; /* least recently used first */
};

struct directory_socketmap {
	struct os_loop *loop;
	struct directory_store *store;
	const struct config *config;
	struct directory_expander *expander;
	struct os_listener *listeners[DIRECTORY_SOCKETMAP_SOCKETS];
	size_t listener_count;
	struct os_timer *tick;
	struct connection *connections; /* open ones */
	size_t connection_count;
	int64_t logged_second; /* of the last line about a malformed request */
	size_t orphans;        /* closed, but with an answer pending */
	bool is_freed;
	struct os_task end; /* after the last orphan's answer */
};

/* --- a connection --- */

/* Must not run inside a call of its expander. */
static void free_all(void *context)
{
	struct directory_socketmap *socketmap = context;

	directory_expander_free(socketmap->expander);
	free(socketmap);
}

static void free_connection(struct connection *connection)
{
	buffer_clear(&connection->input);
	buffer_clear(&connection->output);
	free(connection);
}

/* Its memory stays while an answer is pending. */
static void close_connection(struct connection *connection)
{
	struct directory_socketmap *socketmap = connection->socketmap;

	DL_DELETE2(socketmap->connections, connection, previous, next);
	socketmap->connection_count--;
	os_task_cancel(socketmap->loop, &connection->task);
	os_watch_free(connection->watch);
	os_socket_close(connection->socket);
	connection->socket = -1;
	if (connection->is_waiting)
		socketmap->orphans++;
	else
		free_connection(connection);
}

static bool fail_socketmap_connection(struct connection *connection)
{
	close_connection(connection);
	return false;
}

/* Logs at most one line a second, so that a client cannot fill the log. */
static bool refuse_socketmap_request(struct connection *connection, const char *reason)
{
	struct directory_socketmap *socketmap = connection->socketmap;
	int64_t second = os_clock_monotonic_us() / SECOND_US;

	if (second != socketmap->logged_second)
		log_event(EVENT_DIRECTORY_REFUSED, log_string(peer, "socketmap"),
			  log_string(reason, reason));
	socketmap->logged_second = second;
	return fail_socketmap_connection(connection);
}

static void on_socketmap_answer(struct socketmap_question *question, const char *word,
				struct str text)
{
	struct connection *connection = (struct connection *)question;
	struct directory_socketmap *socketmap = connection->socketmap;

	connection->is_waiting = false;
	if (connection->socket < 0) {
		socketmap->orphans--;
		free_connection(connection);
		if (socketmap->is_freed && socketmap->orphans == 0)
			os_loop_defer(socketmap->loop, &socketmap->end);
		return;
	}
	socketmap_append(&connection->output, word, text);
	os_loop_defer(socketmap->loop, &connection->task);
}

static void ask_socketmap_question(struct connection *connection, struct str request)
{
	struct directory_socketmap *socketmap = connection->socketmap;

	connection->used_us = os_clock_monotonic_us();
	DL_DELETE2(socketmap->connections, connection, previous, next);
	DL_APPEND2(socketmap->connections, connection, previous, next);
	connection->is_waiting = true;
	connection->question.store = socketmap->store;
	connection->question.expander = socketmap->expander;
	connection->question.config = &socketmap->config;
	connection->question.answered = on_socketmap_answer;
	socketmap_ask(&connection->question, request);
}

static void trim_socketmap_buffer(struct buffer *buffer)
{
	if (buffer->length == 0 && buffer->capacity > READ_SIZE)
		buffer_clear(buffer);
}

/* False: the connection is broken, and closed. */
static bool write_out(struct connection *connection)
{
	while (connection->output.length > 0) {
		ssize_t count =
			os_socket_write(connection->socket, buffer_data(&connection->output),
					connection->output.length);

		if (count == -EAGAIN)
			return true;
		if (count < 0)
			return fail_socketmap_connection(connection);
		buffer_consume(&connection->output, (size_t)count);
	}
	trim_socketmap_buffer(&connection->output);
	return true;
}

/* False: likewise. */
static bool read_in(struct connection *connection)
{
	char *place = buffer_reserve(&connection->input, READ_SIZE);
	ssize_t count = os_socket_read(connection->socket, place, READ_SIZE);

	if (count == -EAGAIN)
		return true;
	if (count < 0)
		return fail_socketmap_connection(connection);
	buffer_commit(&connection->input, (size_t)count);
	connection->has_ended = count == 0;
	return true;
}

/* Handles the complete requests, one after the other. False: closed. */
static bool take_requests(struct connection *connection)
{
	for (unsigned i = 0; !connection->is_waiting && connection->output.length < READ_SIZE;
	     i++) {
		struct str request;
		size_t length;
		int result = socketmap_take(buffer_view(&connection->input), &request, &length);

		if (result == 0)
			break;
		if (result < 0)
			return refuse_socketmap_request(
				connection, result == -EMSGSIZE ? "the request is too long"
								: "that is no netstring");
		if (i == REQUESTS_A_TURN) {
			os_loop_defer(connection->socketmap->loop, &connection->task);
			break;
		}
		ask_socketmap_question(connection, request);
		buffer_consume(&connection->input, length);
	}
	trim_socketmap_buffer(&connection->input);
	return true;
}

static void set_socketmap_watch(struct connection *connection)
{
	bool may_ask = !connection->is_waiting && !connection->has_ended;
	bool must_write = connection->output.length > 0;

	os_watch_set(connection->watch, must_write ? OS_WATCH_WRITE
					: may_ask  ? OS_WATCH_READ
						   : OS_WATCH_NONE);
}

static void continue_socketmap_connection(void *context)
{
	struct connection *connection = context;
	struct directory_store *store = connection->socketmap->store;
	bool is_open;

	directory_store_begin(store);
	is_open = take_requests(connection);
	directory_store_end(store);
	if (!is_open || !write_out(connection))
		return;
	if (connection->has_ended && !connection->is_waiting && connection->output.length == 0) {
		close_connection(connection);
		return;
	}
	set_socketmap_watch(connection);
}

static void on_socketmap_client_ready(void *context, unsigned events)
{
	struct connection *connection = context;

	if ((events & OS_WATCH_READ) && !connection->is_waiting && connection->output.length == 0 &&
	    !read_in(connection))
		return;
	continue_socketmap_connection(connection);
}

/* --- all of them --- */

static void close_idle_socketmap_client(struct directory_socketmap *socketmap)
{
	struct connection *one = socketmap->connections;

	while (one != NULL && one->is_waiting)
		one = one->next;
	if (one != NULL)
		close_connection(one);
}

static void add_connection(void *context, int socket, const union os_socket_address *peer)
{
	struct directory_socketmap *socketmap = context;
	struct connection *connection;

	(void)peer;
	if (socketmap->connection_count >= DIRECTORY_SOCKETMAP_CONNECTIONS)
		close_idle_socketmap_client(socketmap);
	if (socketmap->connection_count >= DIRECTORY_SOCKETMAP_CONNECTIONS) {
		os_socket_close(socket);
		return;
	}
	connection = memory_alloc_zero(1, sizeof *connection);
	connection->socketmap = socketmap;
	connection->socket = socket;
	connection->used_us = os_clock_monotonic_us();
	connection->task =
		(struct os_task){.call = continue_socketmap_connection, .context = connection};
	connection->watch = os_watch_new(socketmap->loop, socket, OS_WATCH_READ,
					 on_socketmap_client_ready, connection);
	DL_APPEND2(socketmap->connections, connection, previous, next);
	socketmap->connection_count++;
}

static void on_socketmap_accept_failed(void *context, int error)
{
	(void)context;
	log_event(EVENT_DIRECTORY_ERROR, log_string(operation, "accept"), log_error(error));
}

static const struct os_listener_handler listener_handler = {add_connection,
							    on_socketmap_accept_failed, NULL};

static void on_socketmap_idle_tick(void *context)
{
	struct directory_socketmap *socketmap = context;
	int64_t oldest_us = os_clock_monotonic_us() - (int64_t)DIRECTORY_SOCKETMAP_IDLE * SECOND_US;
	struct connection *one;
	struct connection *next;

	DL_FOREACH_SAFE (socketmap->connections, one, next) {
		if (one->used_us > oldest_us)
			break;
		if (!one->is_waiting)
			close_connection(one);
	}
	os_timer_start(socketmap->tick, TICK_US);
}

struct directory_socketmap *directory_socketmap_new(struct os_loop *loop,
						    struct directory_store *store,
						    const struct config *config)
{
	struct directory_socketmap *socketmap = memory_alloc_zero(1, sizeof *socketmap);
	bool is_expanded_here = store != NULL && store->operations->route == NULL;

	socketmap->loop = loop;
	socketmap->store = store;
	socketmap->config = config;
	socketmap->expander = directory_expander_new(is_expanded_here ? store : NULL, config);
	socketmap->end = (struct os_task){.call = free_all, .context = socketmap};
	socketmap->tick = os_timer_new(loop, on_socketmap_idle_tick, socketmap);
	os_timer_start(socketmap->tick, TICK_US);
	return socketmap;
}

bool directory_socketmap_listen(struct directory_socketmap *socketmap, int listening)
{
	if (socketmap->listener_count == DIRECTORY_SOCKETMAP_SOCKETS)
		return false;
	socketmap->listeners[socketmap->listener_count++] =
		os_listener_new(socketmap->loop, listening, &listener_handler, socketmap);
	return true;
}

static void on_socketmap_keys_changed(void *context, const struct directory_key *keys,
				      const uint64_t *versions, size_t count)
{
	struct directory_socketmap *socketmap = context;

	(void)versions;
	for (size_t i = 0; i < count; i++)
		directory_expander_changed(socketmap->expander, &keys[i]);
}

static void on_socketmap_store_reset(void *context)
{
	struct directory_socketmap *socketmap = context;

	directory_expander_reset(socketmap->expander);
}

static void on_socketmap_store_state(void *context, bool is_up)
{
	(void)context;
	(void)is_up;
}

const struct directory_store_handler directory_socketmap_handler = {
	on_socketmap_keys_changed, on_socketmap_store_reset, on_socketmap_store_state};

void directory_socketmap_configure(struct directory_socketmap *socketmap,
				   const struct config *config)
{
	socketmap->config = config;
	directory_expander_configure(socketmap->expander, config);
}

void directory_socketmap_free(struct directory_socketmap *socketmap)
{
	struct connection *one;
	struct connection *next;

	if (socketmap == NULL)
		return;
	DL_FOREACH_SAFE (socketmap->connections, one, next)
		close_connection(one);
	for (size_t i = 0; i < socketmap->listener_count; i++)
		os_listener_free(socketmap->listeners[i]);
	os_timer_free(socketmap->tick);
	socketmap->is_freed = true;
	if (socketmap->orphans == 0)
		free_all(socketmap);
}
