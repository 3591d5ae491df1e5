// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "base/timestamp.h"
#include "directory/socketmap_internal.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/socket.h"
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

enum {
	LENGTH_DIGITS = 6, /* of DIRECTORY_SOCKETMAP_MAX */
	READ_SIZE = 4096,
	ACCEPTS_A_TURN = 32,
	REQUESTS_A_TURN = 64, /* of a connection */
};

static const int64_t TICK_US = 30 * SECOND_US;
static const int64_t PAUSE_US = SECOND_US / 5; /* when no descriptor is free */

struct connection {
	struct socketmap_question question; /* first: answers are found by it */
	struct directory_socketmap *socketmap;
	int socket; /* -1: closed, and an answer is waited for */
	struct os_watch *watch;
	struct os_task task; /* goes on after an answer */
	struct buffer input;
	struct buffer output;
	bool is_waiting; /* for an answer */
	bool has_ended;  /* the client says no more */
	int64_t used_us;
	struct connection *previous;
	struct connection *next; /* used longest ago first */
};

struct directory_socketmap {
	struct os_loop *loop;
	struct directory_store *store;
	const struct config *config;
	struct directory_expander *expander;
	int listening;
	struct os_watch *watch;
	struct os_timer *pause;
	struct os_timer *tick;
	struct connection *connections; /* that are open */
	size_t connection_count;
	size_t orphans; /* closed, but waiting for an answer */
	bool is_freed;
};

/* --- netstrings --- */

int socketmap_take(struct str input, struct str *content_out, size_t *length_out)
{
	size_t digits = 0;
	size_t length = 0;

	while (digits < input.length && input.data[digits] >= '0' && input.data[digits] <= '9') {
		if (digits == LENGTH_DIGITS)
			return -EMSGSIZE;
		if (digits > 0 && length == 0)
			return -EINVAL; /* a zero in front */
		length = length * 10 + (size_t)(input.data[digits++] - '0');
	}
	if (digits == input.length)
		return 0;
	if (digits == 0 || input.data[digits] != ':')
		return -EINVAL;
	if (length > DIRECTORY_SOCKETMAP_MAX)
		return -EMSGSIZE;
	if (input.length < digits + 1 + length + 1)
		return 0;
	if (input.data[digits + 1 + length] != ',')
		return -EINVAL;
	*content_out = str_slice(input.data + digits + 1, length);
	*length_out = digits + 1 + length + 1;
	return 1;
}

void socketmap_append(struct buffer *out, const char *word, struct str text)
{
	struct str name = str_from(word);

	if (name.length + 1 + text.length > DIRECTORY_SOCKETMAP_MAX) {
		name = STR("PERM");
		text = STR("the answer is too long for this protocol");
	}
	buffer_append_number(out, name.length + 1 + text.length);
	buffer_append_byte(out, ':');
	buffer_append_str(out, name);
	buffer_append_byte(out, ' ');
	buffer_append_str(out, text);
	buffer_append_byte(out, ',');
}

/* --- a connection --- */

static void finish(struct directory_socketmap *socketmap)
{
	if (!socketmap->is_freed || socketmap->orphans > 0)
		return;
	directory_expander_free(socketmap->expander);
	free(socketmap);
}

static void free_connection(struct connection *connection)
{
	buffer_clear(&connection->input);
	buffer_clear(&connection->output);
	free(connection);
}

/* Its memory stays while it waits for an answer. */
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

static void refuse(struct connection *connection, const char *reason)
{
	log_event(EVENT_DIRECTORY_REFUSED, log_string("peer", "socketmap"),
		  log_string("reason", reason));
	close_connection(connection);
}

static void on_answer(struct socketmap_question *question, const char *word, struct str text)
{
	struct connection *connection = (struct connection *)question;
	struct directory_socketmap *socketmap = connection->socketmap;

	connection->is_waiting = false;
	if (connection->socket < 0) {
		socketmap->orphans--;
		free_connection(connection);
		finish(socketmap);
		return;
	}
	socketmap_append(&connection->output, word, text);
	os_loop_defer(socketmap->loop, &connection->task);
}

static void use(struct connection *connection)
{
	struct directory_socketmap *socketmap = connection->socketmap;

	connection->used_us = os_clock_monotonic_us();
	DL_DELETE2(socketmap->connections, connection, previous, next);
	DL_APPEND2(socketmap->connections, connection, previous, next);
}

static void ask(struct connection *connection, struct str request)
{
	struct directory_socketmap *socketmap = connection->socketmap;

	use(connection);
	connection->is_waiting = true;
	connection->question.store = socketmap->store;
	connection->question.expander = socketmap->expander;
	connection->question.config = &socketmap->config;
	connection->question.answered = on_answer;
	socketmap_ask(&connection->question, request);
}

/* False when the connection is broken, and closed. */
static bool write_out(struct connection *connection)
{
	while (connection->output.length > 0) {
		ssize_t count =
			os_socket_write(connection->socket, buffer_data(&connection->output),
					connection->output.length);

		if (count == -EAGAIN)
			return true;
		if (count < 0) {
			close_connection(connection);
			return false;
		}
		buffer_consume(&connection->output, (size_t)count);
	}
	if (connection->output.capacity > READ_SIZE)
		buffer_clear(&connection->output);
	return true;
}

/* False: as above. */
static bool read_in(struct connection *connection)
{
	char *place = buffer_reserve(&connection->input, READ_SIZE);
	ssize_t count = os_socket_read(connection->socket, place, READ_SIZE);

	if (count == -EAGAIN)
		return true;
	if (count < 0) {
		close_connection(connection);
		return false;
	}
	buffer_commit(&connection->input, (size_t)count);
	connection->has_ended = count == 0;
	return true;
}

/* Asks what is there to be asked, one after the other. False: closed. */
static bool take_requests(struct connection *connection)
{
	for (unsigned i = 0; !connection->is_waiting && connection->output.length < READ_SIZE;
	     i++) {
		struct str request;
		size_t length;
		int result = socketmap_take(buffer_view(&connection->input), &request, &length);

		if (result == 0)
			break;
		if (result < 0) {
			refuse(connection, result == -EMSGSIZE ? "the request is too long"
							       : "that is no netstring");
			return false;
		}
		if (i == REQUESTS_A_TURN) {
			os_loop_defer(connection->socketmap->loop, &connection->task);
			break;
		}
		ask(connection, request);
		buffer_consume(&connection->input, length);
	}
	if (connection->input.length == 0 && connection->input.capacity > READ_SIZE)
		buffer_clear(&connection->input);
	return true;
}

static void set_watch(struct connection *connection)
{
	unsigned events = OS_WATCH_NONE;

	if (connection->output.length > 0)
		events |= OS_WATCH_WRITE;
	else if (!connection->is_waiting && !connection->has_ended)
		events |= OS_WATCH_READ;
	os_watch_set(connection->watch, events);
}

static void go_on(void *context)
{
	struct connection *connection = context;

	if (!take_requests(connection) || !write_out(connection))
		return;
	if (connection->has_ended && !connection->is_waiting && connection->output.length == 0) {
		close_connection(connection);
		return;
	}
	set_watch(connection);
}

static void on_ready(void *context, unsigned events)
{
	struct connection *connection = context;

	if ((events & OS_WATCH_READ) && !connection->is_waiting && connection->output.length == 0 &&
	    !read_in(connection))
		return;
	go_on(connection);
}

/* --- all of them --- */

static void make_room(struct directory_socketmap *socketmap)
{
	struct connection *one;

	DL_FOREACH (socketmap->connections, one) {
		if (one->is_waiting)
			continue;
		close_connection(one);
		return;
	}
}

static void add_connection(struct directory_socketmap *socketmap, int socket)
{
	struct connection *connection;

	if (socketmap->connection_count >= DIRECTORY_SOCKETMAP_CONNECTIONS)
		make_room(socketmap);
	if (socketmap->connection_count >= DIRECTORY_SOCKETMAP_CONNECTIONS) {
		os_socket_close(socket);
		return;
	}
	connection = memory_alloc_zero(1, sizeof *connection);
	connection->socketmap = socketmap;
	connection->socket = socket;
	connection->used_us = os_clock_monotonic_us();
	connection->task = (struct os_task){.call = go_on, .context = connection};
	connection->watch =
		os_watch_new(socketmap->loop, socket, OS_WATCH_READ, on_ready, connection);
	DL_APPEND2(socketmap->connections, connection, previous, next);
	socketmap->connection_count++;
}

static void on_connection(void *context, unsigned events)
{
	struct directory_socketmap *socketmap = context;

	(void)events;
	for (unsigned i = 0; i < ACCEPTS_A_TURN; i++) {
		union os_socket_address peer;
		int socket = os_socket_accept(socketmap->listening, &peer);

		if (socket == -EAGAIN)
			return;
		if (socket >= 0) {
			add_connection(socketmap, socket);
		} else if (socket == -EMFILE || socket == -ENFILE || socket == -ENOBUFS ||
			   socket == -ENOMEM) {
			os_watch_set(socketmap->watch, OS_WATCH_NONE);
			os_timer_start(socketmap->pause, PAUSE_US);
			return;
		}
	}
}

static void on_pause(void *context)
{
	struct directory_socketmap *socketmap = context;

	os_watch_set(socketmap->watch, OS_WATCH_READ);
}

static void on_tick(void *context)
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

struct directory_socketmap *directory_socketmap_new(struct os_loop *loop, int listening,
						    struct directory_store *store,
						    const struct config *config)
{
	struct directory_socketmap *socketmap = memory_alloc_zero(1, sizeof *socketmap);

	socketmap->loop = loop;
	socketmap->store = store;
	socketmap->config = config;
	socketmap->expander = directory_expander_new(store, config);
	socketmap->listening = listening;
	socketmap->watch = os_watch_new(loop, listening, OS_WATCH_READ, on_connection, socketmap);
	socketmap->pause = os_timer_new(loop, on_pause, socketmap);
	socketmap->tick = os_timer_new(loop, on_tick, socketmap);
	os_timer_start(socketmap->tick, TICK_US);
	return socketmap;
}

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
	os_watch_free(socketmap->watch);
	os_timer_free(socketmap->pause);
	os_timer_free(socketmap->tick);
	socketmap->is_freed = true;
	finish(socketmap);
}
