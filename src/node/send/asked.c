// SPDX-License-Identifier: ISC
/* A node that is asked for its status: what becomes of its connection. */
#include "ipc/pack.h"
#include "node/send/question.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

void asked_node_say(const struct node_question *question, const char *node, bool is_answer,
		    struct str text)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u64(&body, question->number);
	pack_str(&body, str_from(node));
	pack_u32(&body, is_answer);
	pack_str(&body, text);
	(void)deliver_helper_say(question->sender->helper, IPC_JOB_NODE_IS, buffer_view(&body));
}

static void free_asked_node(struct asked_node *node)
{
	struct node_question *question = node->question;

	LL_DELETE(question->nodes, node);
	question->asked -= node->timer != NULL;
	os_timer_free(node->timer);
	free(node);
}

void node_question_free(struct node_question *question)
{
	if (question == NULL)
		return;
	while (question->nodes != NULL)
		free_asked_node(question->nodes);
	os_task_cancel(question->sender->loop, &question->more);
	free(question);
}

void asked_node_tell(struct asked_node *node, bool is_answer, struct str text)
{
	struct node_question *question = node->question;

	asked_node_say(question, node->name, is_answer, text);
	free_asked_node(node);
	os_loop_defer(question->sender->loop, &question->more);
}

struct asked_node *asked_node_find(const struct node_sender *sender, const char *name)
{
	struct asked_node *node;

	if (sender->question == NULL)
		return NULL;
	LL_FOREACH(sender->question->nodes, node)
	if (node->timer != NULL && strcmp(node->name, name) == 0)
		return node;
	return NULL;
}

bool node_question_wants(const struct node_peer *peer)
{
	return asked_node_find(peer->sender, peer->name) != NULL;
}

void node_question_say(struct node_peer *peer)
{
	struct asked_node *node = asked_node_find(peer->sender, peer->name);

	if (node == NULL || node->is_said || node->is_own)
		return;
	if (!peer->client.answers_status) {
		asked_node_tell(
			node, false,
			STR("it is of an older version, which does not answer for its status"));
		return;
	}
	if (peer->client.is_asked)
		return; /* by an earlier question, which it may answer yet */
	node->is_said = true;
	node_client_ask_status(&peer->client, str_from(node->question->message));
}

void node_question_answered(struct node_peer *peer, struct str text)
{
	struct asked_node *node = asked_node_find(peer->sender, peer->name);

	if (node != NULL && node->is_said)
		asked_node_tell(node, true, text);
	else
		node_question_say(peer);
}

void node_question_failed(struct node_peer *peer)
{
	struct asked_node *node = asked_node_find(peer->sender, peer->name);
	struct buffer reason CLEANUP(buffer_clear) = {0};

	if (node == NULL)
		return;
	buffer_append_string(&reason, peer->trouble.length > 0 ? buffer_data(&peer->trouble)
							       : "it cannot be reached");
	asked_node_tell(node, false, buffer_view(&reason));
}
