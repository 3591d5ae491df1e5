// SPDX-License-Identifier: ISC
#include "node/receive/receive.h"
#include "base/panic.h"
#include "log/event.h"
#include "node/receive/internal.h"
#include "tls/connection.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* --- who may connect --- */

static const char *name_of_node(void *context, const struct tls_connection *connection,
				const char **reason_out)
{
	const struct node_receiver *receiver = context;
	size_t count;
	const char *const *names = tls_connection_names(connection, &count);

	*reason_out = directory_nodes_is_known(receiver->parts.nodes)
			      ? "no name of the certificate is in the table of nodes"
			      : "the table of nodes is not known yet";
	for (size_t i = 0; i < count; i++)
		if (directory_nodes_find(receiver->parts.nodes, str_from(names[i])) != NULL)
			return names[i];
	return NULL;
}

static void on_node_accepted(void *context, const struct directory_transport *transport,
			     const char *name, const char *peer)
{
	struct node_receiver *receiver = context;

	node_session_new(receiver, transport, name, peer);
}

static void on_node_refused(void *context, const char *address, const char *name,
			    const char *reason, int64_t unsaid)
{
	(void)context;
	log_event(EVENT_NODE_UNKNOWN, log_string(peer, address), log_string(name, name),
		  log_string(reason, reason), log_number(unsaid, unsaid));
}

static void on_node_failed(void *context, int error)
{
	(void)context;
	log_event(EVENT_NODE_ERROR, log_string(operation, "accept"), log_error(error));
}

const struct transport_acceptor_handler node_receiver_acceptor = {name_of_node, on_node_accepted,
								  on_node_refused, on_node_failed};

/* --- what "queue" says --- */

static struct node_session *find_greeting_session(struct node_receiver *receiver, struct str node,
						  const struct queue_handed_serial *serial)
{
	struct node_session *session;

	DL_FOREACH2 (receiver->sessions, session, next)
		if (session->server.state == NODE_SERVER_GREETING &&
		    str_equal(node, str_from(session->peer)) &&
		    session->serial.epoch == serial->epoch && session->serial.run == serial->run &&
		    session->serial.connection == serial->connection)
			return session;
	return NULL;
}

static void on_queue_kept(void *context, struct str node, const struct queue_handed_serial *serial,
			  struct str name, struct str numbers)
{
	struct node_session *session = find_greeting_session(context, node, serial);

	if (session != NULL)
		node_session_kept(session, name, numbers);
}

/* Older connections of that node are dead from here on. */
static void end_older_sessions(struct node_receiver *receiver, const struct node_session *newest)
{
	struct node_session *session;

	DL_FOREACH2 (receiver->sessions, session, next)
		if (session != newest && strcmp(session->peer, newest->peer) == 0 &&
		    session->serial.epoch > 0)
			node_session_end(session, "there is a newer connection");
}

static void on_greeted(void *context, struct str node, const struct queue_handed_serial *serial,
		       int error, const struct queue_handed_serial *highest)
{
	struct node_receiver *receiver = context;
	struct node_session *session = find_greeting_session(receiver, node, serial);

	if (session == NULL)
		return;
	if (error == 0)
		end_older_sessions(receiver, session);
	node_session_greeted(session, error, highest);
}

static void on_queue_unreachable(void *context)
{
	struct node_receiver *receiver = context;
	struct node_session *session;

	DL_FOREACH2 (receiver->sessions, session, next)
		node_session_end(session, "the queue cannot be reached");
}

static const struct queue_handed_handler handed_handler = {on_queue_kept, on_greeted,
							   on_queue_unreachable};

/* --- its life --- */

struct node_receiver *node_receiver_new(struct os_loop *loop,
					const struct node_receiver_parts *parts)
{
	struct node_receiver *receiver = memory_alloc_zero(1, sizeof *receiver);

	receiver->loop = loop;
	receiver->parts = *parts;
	queue_client_use_nodes(parts->queue, parts->token, &handed_handler, receiver);
	return receiver;
}

void node_receiver_use_helper(struct node_receiver *receiver, struct deliver_helper *helper)
{
	receiver->helper = helper;
}

void node_receiver_configure(struct node_receiver *receiver, const struct config *config)
{
	receiver->parts.config = config;
}

void node_receiver_nodes_changed(struct node_receiver *receiver)
{
	struct node_session *session;

	DL_FOREACH2 (receiver->sessions, session, next)
		if (directory_nodes_find(receiver->parts.nodes, str_from(session->peer)) == NULL)
			node_session_end(session, "you are not in the table of nodes any more");
}

void node_receiver_stop(struct node_receiver *receiver, void (*done)(void *context), void *context)
{
	receiver->is_stopping = true;
	if (receiver->committing == 0) {
		done(context);
		return;
	}
	receiver->stopped = done;
	receiver->stopped_context = context;
}

void node_receiver_free(struct node_receiver *receiver)
{
	if (receiver == NULL)
		return;
	while (receiver->sessions != NULL)
		node_session_free(receiver->sessions);
	free(receiver);
}
