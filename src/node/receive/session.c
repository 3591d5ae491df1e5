// SPDX-License-Identifier: ISC
/* A connection of another node. */
#include "base/panic.h"
#include "log/event.h"
#include "node/receive/internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* --- the engine's events --- */

static void on_senders_hello(void *context, const struct queue_handed_serial *serial)
{
	struct node_session *session = context;

	session->serial = *serial;
	if (!queue_client_greet(session->receiver->parts.queue, str_from(session->peer), serial))
		node_session_end(session, "the queue cannot be reached");
}

static bool on_take(void *context, struct str package, struct str text, uint64_t size)
{
	return node_package_begin(context, package, text, size);
}

static bool on_data(void *context, struct str part)
{
	return node_package_data(context, part);
}

static bool on_end_of_data(void *context)
{
	return node_package_end(context);
}

static void on_settled(void *context, struct str package, bool is_twice)
{
	struct node_session *session = context;
	bool is_told =
		is_twice ? queue_client_drop(session->receiver->parts.queue,
					     str_from(session->peer), &session->serial, package)
			 : queue_client_settle(session->receiver->parts.queue,
					       str_from(session->peer), &session->serial, package);

	if (!is_told)
		node_session_end(session, "the queue cannot be reached");
}

static void on_senders_question(void *context, struct str message)
{
	node_session_ask_status(context, message);
}

static const struct node_server_handler server_handler = {
	on_senders_hello, on_take, on_data, on_end_of_data, on_settled, on_senders_question};

/* --- the connection's --- */

static bool read_from_sender(void *context, struct str bytes)
{
	struct node_session *session = context;

	return node_server_read(&session->server, bytes);
}

static void on_room_for_answers(void *context)
{
	(void)context;
}

static void on_sender_lost(void *context, const char *reason)
{
	struct node_session *session = context;
	struct str end = buffer_view(&session->server.reason);

	log_event(EVENT_NODE_LOST, log_string(node, session->peer),
		  log_string(peer, session->address), log_string(direction, "in"),
		  log_string(reason, *reason == '\0' && end.length > 0
					     ? buffer_data(&session->server.reason)
					     : reason));
	node_session_free(session);
}

static const struct node_link_handler link_handler = {read_from_sender, on_room_for_answers,
						      on_sender_lost, NULL};

struct node_session *node_session_new(struct node_receiver *receiver,
				      const struct directory_transport *transport, const char *peer,
				      const char *address)
{
	struct node_session *session = memory_alloc_zero(1, sizeof *session);

	session->receiver = receiver;
	snprintf(session->peer, sizeof session->peer, "%s", peer);
	snprintf(session->address, sizeof session->address, "%s", address);
	node_server_begin(&session->server, &server_handler, session,
			  config_node_name(receiver->parts.config), session->peer);
	session->link = node_link_new(receiver->loop, transport, &session->server.out,
				      &link_handler, session);
	node_link_send(session->link);
	DL_APPEND2(receiver->sessions, session, previous, next);
	log_event(EVENT_NODE_CONNECTED, log_string(node, session->peer),
		  log_string(peer, session->address), log_string(direction, "in"));
	return session;
}

void node_session_free(struct node_session *session)
{
	DL_DELETE2(session->receiver->sessions, session, previous, next);
	node_packages_free(session);
	node_link_free(session->link);
	os_timer_free(session->status_timer);
	node_server_clear(&session->server);
	free(session);
}

/* --- what "queue" says --- */

void node_session_kept(struct node_session *session, struct str package, struct str numbers)
{
	node_server_kept(&session->server, package, numbers);
	node_link_send(session->link);
}

void node_session_greeted(struct node_session *session, int error,
			  const struct queue_handed_serial *highest)
{
	if (error == 0) {
		node_server_ready(&session->server);
		node_link_send(session->link);
		return;
	}
	if (error == -ESTALE)
		node_server_old(&session->server, highest);
	node_session_end(session, strerror(-error)); /* says nothing more after "old" */
}
