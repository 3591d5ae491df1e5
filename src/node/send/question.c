// SPDX-License-Identifier: ISC
/* All nodes are asked for their status, as "send" wants it for an operator. */
#include "node/send/question.h"
#include "base/panic.h"
#include "ipc/pack.h"
#include "node/status.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* Why it has not answered in time. */
static void on_asked_node_late(void *context)
{
	struct asked_node *node = context;
	struct node_sender *sender = node->question->sender;
	const struct node_peer *peer = node_peer_find(sender, str_from(node->name));
	struct buffer reason CLEANUP(buffer_clear) = {0};

	if (node->is_own)
		buffer_append_string(&reason, "its process \"send\" does not answer");
	else if (node->is_said)
		buffer_append_string(&reason, "it is connected, and has not answered in time");
	else if (peer != NULL && node_peer_is_ready(peer))
		buffer_append_string(&reason,
				     "it is connected, and takes a package, or has not answered an "
				     "earlier question");
	else
		buffer_append_format(&reason, "it cannot be reached in time: %s",
				     peer != NULL && peer->trouble.length > 0
					     ? buffer_data(&peer->trouble)
					     : "it has not answered yet");
	asked_node_tell(node, false, buffer_view(&reason));
}

static void ask_own_send(struct node_question *question)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u32(&body, (uint32_t)question->number);
	pack_str(&body, str_from(question->message));
	(void)deliver_helper_say(question->sender->helper, IPC_JOB_STATUS, buffer_view(&body));
}

static void begin_asked_node(struct asked_node *node)
{
	struct node_question *question = node->question;
	struct node_peer *peer;

	question->asked++;
	node->timer = os_timer_new(question->sender->loop, on_asked_node_late, node);
	os_timer_start(node->timer, NODE_ANSWER_PATIENCE_US);
	if (node->is_own) {
		ask_own_send(question);
		return;
	}
	peer = node_peer_get(question->sender, str_from(node->name));
	node_peer_connect(peer);
	if (peer->link != NULL)
		node_link_send(peer->link);
}

/* A node that cannot be reached at once may be told, and freed, before this goes on. */
static struct asked_node *find_waiting_node(const struct node_question *question)
{
	struct asked_node *node;

	LL_FOREACH(question->nodes, node)
	if (node->timer == NULL)
		return node;
	return NULL;
}

static void ask_more_nodes(void *context)
{
	struct node_question *question = context;
	struct node_sender *sender = question->sender;
	struct asked_node *node;

	while (question->asked < NODE_QUESTIONS_MAX && (node = find_waiting_node(question)) != NULL)
		begin_asked_node(node);
	if (question->nodes != NULL)
		return;
	asked_node_say(question, "", false,
		       directory_nodes_is_known(sender->parts.nodes)
			       ? STR("")
			       : STR("the directory has not said yet which nodes there are"));
	sender->question = NULL;
	node_question_free(question);
}

static void add_asked_node(struct node_question *question, const char *name, bool is_own)
{
	struct asked_node *node = memory_alloc_zero(1, sizeof *node);

	node->question = question;
	memcpy(node->name, name, strlen(name));
	node->is_own = is_own;
	LL_APPEND(question->nodes, node);
}

bool node_question_hear(struct node_sender *sender, struct str body)
{
	const char *own = config_node_name(sender->parts.config);
	const struct directory_nodes *nodes = sender->parts.nodes;
	struct unpack unpack = {body, false};
	struct node_question *question;
	uint64_t number = unpack_u64(&unpack);
	struct str message = unpack_str(&unpack);

	if (!unpack_is_whole(&unpack) || message.length >= sizeof question->message)
		return false;
	node_question_free(sender->question);
	question = memory_alloc_zero(1, sizeof *question);
	sender->question = question;
	question->sender = sender;
	question->number = number;
	question->more = (struct os_task){.call = ask_more_nodes, .context = question};
	if (message.length > 0)
		memcpy(question->message, message.data, message.length);
	if (mail_node_is_valid(str_from(own)))
		add_asked_node(question, own, true);
	for (size_t i = 0; i < directory_nodes_count(nodes); i++) {
		const char *name = directory_nodes_at(nodes, i)->name;

		if (strcmp(name, own) != 0)
			add_asked_node(question, name, false);
	}
	os_loop_defer(sender->loop, &question->more);
	return true;
}

bool node_question_hear_own(struct node_sender *sender, struct str body)
{
	struct unpack unpack = {body, false};
	uint32_t number = unpack_u32(&unpack);
	struct str queue = unpack_str(&unpack);
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct asked_node *node;

	if (!unpack_is_whole(&unpack) || str_has_control(queue))
		return false;
	node = asked_node_find(sender, config_node_name(sender->parts.config));
	if (node == NULL || !node->is_own || (uint32_t)node->question->number != number)
		return true; /* too late */
	node_status_write(sender->parts.config, sender->parts.nodes, queue, "", &text);
	asked_node_tell(node, true, buffer_view(&text));
	return true;
}
