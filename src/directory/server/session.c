// SPDX-License-Identifier: ISC
/* One client's connection: bytes to frames and back, both bounded. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "directory/server/internal.h"
#include "log/event.h"
#include "os/clock.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	READ_SIZE = 32 * 1024,
	READS_A_TURN = 8,
	KEPT_MEMORY = 4096, /* bytes that an empty buffer may keep */
};

static void set_session_watch(struct session *session);

static void break_off(struct session *session)
{
	session->is_broken = true;
	session_wake(session);
}

static bool is_session_full(const struct session *session)
{
	return session->server->is_stopping || session->output.length > SERVER_BACKLOG_MAX ||
	       session->question_count >= SERVER_QUESTIONS_MAX ||
	       session->list_count >= SERVER_LISTS_MAX;
}

/* An idle connection has no buffers. */
static void trim_session_buffer(struct buffer *buffer)
{
	if (buffer->length == 0 && buffer->capacity > KEPT_MEMORY)
		buffer_clear(buffer);
}

/* Handles the complete frames; those that cannot be answered yet stay. */
static void take_frames(struct session *session)
{
	struct directory_store *store = session->server->store;
	struct str content;
	size_t length;
	int result = 0;

	if (session->input.length == 0)
		return;
	directory_store_begin(store);
	while (!session->is_broken && !is_session_full(session)) {
		result = directory_frame_take(&session->input, &content, &length);
		if (result != 1)
			break;
		question_take(session, content);
		buffer_consume(&session->input, length);
	}
	directory_store_end(store);
	if (result < 0)
		session_refuse(session,
			       result == -EMSGSIZE ? "The frame is too long" : "That is no frame");
}

/* False: nothing more to read for now. */
static bool read_some_of_session(struct session *session)
{
	char *place = buffer_reserve(&session->input, READ_SIZE);
	ssize_t count = session->transport.read(session->transport.state, place, (size_t)READ_SIZE);

	if (count > 0)
		buffer_commit(&session->input, (size_t)count);
	else if (count == 0)
		session->has_ended = true;
	else if (count != -EAGAIN)
		break_off(session);
	session->may_have_more = count == READ_SIZE;
	return count > 0;
}

/* Reads until there is no more, or as much as one turn allows. */
static void read_all_of_session(struct session *session)
{
	bool has_more = true;

	for (unsigned i = 0; has_more && i < READS_A_TURN; i++) {
		if (session->is_broken || session->has_ended || is_session_full(session))
			break;
		has_more = read_some_of_session(session) && session->may_have_more;
		take_frames(session);
	}
	trim_session_buffer(&session->input);
}

static void write_all_of_session(struct session *session)
{
	bool is_stuck = false;

	while (session->output.length > 0 && !session->is_broken && !is_stuck) {
		ssize_t count = session->transport.write(session->transport.state,
							 buffer_data(&session->output),
							 session->output.length);

		if (count > 0) {
			buffer_consume(&session->output, (size_t)count);
			session->stuck_since_us = 0;
		} else if (count == -EAGAIN) {
			is_stuck = true;
		} else {
			session->is_broken = true;
		}
	}
	if (is_stuck && session->stuck_since_us == 0) {
		session->stuck_since_us = os_clock_monotonic_us();
		server_tick_soon(session->server);
	}
	trim_session_buffer(&session->output);
	if (session->must_reset && session->output.length == 0)
		session_late_reset(session);
}

static bool is_session_over(const struct session *session)
{
	return session->is_broken ||
	       (session->has_ended && session->question_count == 0 && session->output.length == 0);
}

/* The session's task, at the end of a turn. */
static void continue_session(void *context)
{
	struct session *session = context;
	bool was_full = is_session_full(session);

	write_all_of_session(session);
	if (!session->is_broken && (session->input.length > 0 || was_full)) {
		take_frames(session);
		trim_session_buffer(&session->input);
	}
	if (!session->is_broken)
		pause_resume(session);
	if (is_session_over(session)) {
		session_free(session);
		return;
	}
	if ((was_full || session->may_have_more) && !is_session_full(session))
		read_all_of_session(session);
	if (session->output.length > 0 && session->stuck_since_us == 0)
		write_all_of_session(session);
	if (is_session_over(session)) {
		session_free(session);
		return;
	}
	if (session->may_have_more && !is_session_full(session) && !session->has_ended)
		os_timer_start(session->again, 0); /* after others' turns */
	set_session_watch(session);
}

static void set_session_watch(struct session *session)
{
	unsigned events =
		session->transport.wants(session->transport.state, session->output.length > 0);

	if (session->has_ended || is_session_full(session))
		events &= ~(unsigned)OS_WATCH_READ;
	os_watch_set(session->watch, events);
}

static void on_session_transport_ready(void *context, unsigned events)
{
	struct session *session = context;

	(void)events;
	if (!is_session_full(session))
		read_all_of_session(session);
	session_wake(session);
}

static void read_session_again(void *context)
{
	session_wake(context);
}

struct session *session_new(struct directory_server *server,
			    const struct directory_transport *transport, unsigned roles,
			    const char *peer)
{
	struct session *session = memory_alloc_zero(1, sizeof *session);

	session->server = server;
	session->transport = *transport;
	session->roles = roles;
	snprintf(session->peer, sizeof session->peer, "%s", peer);
	session->again = os_timer_new(server->loop, read_session_again, session);
	session->task = (struct os_task){.call = continue_session, .context = session};
	session->watch = os_watch_new(server->loop, transport->descriptor, OS_WATCH_READ,
				      on_session_transport_ready, session);
	session->next = server->sessions;
	session->previous = &server->sessions;
	if (session->next != NULL)
		session->next->previous = &session->next;
	server->sessions = session;
	server->session_count++;
	/* poll does not report what TLS has read with its handshake */
	session->may_have_more = true;
	push_hello(session);
	session_wake(session);
	return session;
}

void session_check(struct session *session, int64_t now_us)
{
	int64_t stuck_us = session->stuck_since_us == 0 ? 0 : now_us - session->stuck_since_us;

	if (stuck_us < SERVER_STUCK_FULL_US ||
	    (stuck_us < SERVER_STUCK_US && session->output.length <= SERVER_BACKLOG_MAX))
		return;
	log_event(EVENT_DIRECTORY_REFUSED, log_string(peer, session->peer),
		  log_string(reason, "It does not read its answers"),
		  log_number(bytes, (int64_t)session->output.length));
	session->server->counts.errors++;
	break_off(session);
}

void session_free(struct session *session)
{
	struct directory_server *server = session->server;

	pause_drop(session);
	for (struct question *q = session->questions; q != NULL; q = q->next)
		q->session = NULL;
	session->questions = NULL;
	*session->previous = session->next;
	if (session->next != NULL)
		session->next->previous = session->previous;
	server->session_count--;
	os_task_cancel(server->loop, &session->task);
	os_watch_free(session->watch);
	os_timer_free(session->again);
	session->transport.close(session->transport.state);
	filter_free(session->filter);
	buffer_clear(&session->input);
	buffer_clear(&session->output);
	free(session);
}
