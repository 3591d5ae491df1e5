// SPDX-License-Identifier: ISC
/* The status of this node, for the nodes that ask: "send" says what it knows of the queue. */
#include "node/status.h"
#include "ipc/pack.h"
#include "node/receive/internal.h"
#include <utlist.h>

static void answer_session(struct node_session *session, struct str queue, const char *problem)
{
	const struct node_receiver_parts *parts = &session->receiver->parts;
	struct buffer text CLEANUP(buffer_clear) = {0};

	os_timer_stop(session->status_timer);
	if (session->server.state != NODE_SERVER_READY || !session->server.is_asked)
		return;
	node_status_write(parts->config, parts->nodes, queue, problem, &text);
	node_server_status(&session->server, buffer_view(&text));
	node_link_send(session->link);
}

static void on_status_late(void *context)
{
	answer_session(context, STR(""), "its process \"send\" does not answer");
}

void node_session_ask_status(struct node_session *session, struct str message)
{
	struct node_receiver *receiver = session->receiver;
	struct buffer body CLEANUP(buffer_clear) = {0};

	session->question = ++receiver->questions;
	pack_u32(&body, session->question);
	pack_str(&body, mail_id_parse(message, &(struct mail_id){0, 0}) ? message : STR(""));
	if (session->status_timer == NULL)
		session->status_timer = os_timer_new(receiver->loop, on_status_late, session);
	if (receiver->helper != NULL &&
	    deliver_helper_say(receiver->helper, IPC_JOB_STATUS, buffer_view(&body)))
		os_timer_start(session->status_timer, NODE_STATUS_PATIENCE_US);
	else
		answer_session(session, STR(""), "its process \"send\" is not connected");
}

static bool hear_status_of_queue(struct node_receiver *receiver, struct str body)
{
	struct unpack unpack = {body, false};
	uint32_t question = unpack_u32(&unpack);
	struct str text = unpack_str(&unpack);
	struct node_session *session;

	if (!unpack_is_whole(&unpack) || str_has_control(text))
		return false;
	DL_FOREACH2 (receiver->sessions, session, next)
		if (session->question == question) {
			answer_session(session, text, "");
			break;
		}
	return true;
}

/* --- the connection to "send" --- */

/* It takes no jobs: "send" has no reason to give it one. */
static void refuse_job(void *context, struct deliver_helper_job *job)
{
	(void)context;
	deliver_helper_finish(job);
}

static void on_send_lost(void *context)
{
	struct node_receiver *receiver = context;
	struct node_session *session;

	DL_FOREACH2 (receiver->sessions, session, next)
		if (session->server.is_asked)
			answer_session(session, STR(""), "its process \"send\" has ended");
}

static bool hear_send_of_status(void *context, enum ipc_job type, struct str body)
{
	return type == IPC_JOB_STATUS_IS && hear_status_of_queue(context, body);
}

const struct deliver_helper_handler node_receiver_handler = {
	.job = refuse_job,
	.lost = on_send_lost,
	.heard = hear_send_of_status,
};
