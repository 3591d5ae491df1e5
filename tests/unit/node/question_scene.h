// SPDX-License-Identifier: ISC
/* tests/unit/node/question_scene.h - what is around node/send/question.c: the table of nodes, their
 * connections, and what "send" is told. */
#ifndef TESTS_UNIT_NODE_QUESTION_SCENE_H
#define TESTS_UNIT_NODE_QUESTION_SCENE_H

#include "node/send/question.h"
#include "node/status.h"
#include "test.h"
#include "unit/fake_loop.h"
#include <stdlib.h>
#include <utlist.h>

enum { NODES_MAX = NODE_QUESTIONS_MAX + 10 };

static struct os_task *deferred;

void os_loop_defer(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	assert_true(deferred == NULL || deferred == task);
	deferred = task;
}

void os_task_cancel(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	if (deferred == task)
		deferred = NULL;
}

static void end_turn(void)
{
	while (deferred != NULL) {
		struct os_task *task = deferred;

		deferred = NULL;
		task->call(task->context);
	}
}

/* Time passes, and with it a turn. */
static void advance(int64_t us)
{
	fake_advance(us);
	end_turn();
}

static struct directory_node table[NODES_MAX];
static char names[NODES_MAX][16];
static size_t table_count;
static bool is_table_known;

bool directory_nodes_is_known(const struct directory_nodes *nodes)
{
	(void)nodes;
	return is_table_known;
}

size_t directory_nodes_count(const struct directory_nodes *nodes)
{
	(void)nodes;
	return table_count;
}

const struct directory_node *directory_nodes_at(const struct directory_nodes *nodes,
						size_t position)
{
	(void)nodes;
	return &table[position];
}

const char *config_node_name(const struct config *config)
{
	(void)config;
	return "n0";
}

void node_status_write(const struct config *config, const struct directory_nodes *nodes,
		       struct str queue, const char *problem, struct buffer *out)
{
	(void)config;
	(void)nodes;
	(void)problem;
	buffer_append_format(out, "own " STR_FORMAT, STR_ARGUMENTS(queue));
}

/* What "send" is told: "n0+TEXT;" for an answer, "n1-REASON;" for none, "." at the end. */
static struct buffer told;
static unsigned own_questions;

bool deliver_helper_say(struct deliver_helper *helper, enum ipc_job type, struct str body)
{
	struct unpack unpack = {body, false};
	struct str node;
	struct str text;
	bool is_answer;

	(void)helper;
	if (type == IPC_JOB_STATUS) {
		assert_int_equal(unpack_u32(&unpack), 5);
		assert_true(str_equal(unpack_str(&unpack), STR("1-2")));
		own_questions++;
		return true;
	}
	assert_int_equal(type, IPC_JOB_NODE_IS);
	assert_int_equal(unpack_u64(&unpack), 5);
	node = unpack_str(&unpack);
	is_answer = unpack_u32(&unpack) != 0;
	text = unpack_str(&unpack);
	buffer_append_format(&told, STR_FORMAT "%s", STR_ARGUMENTS(node),
			     node.length == 0 ? "."
			     : is_answer      ? "+"
					      : "-");
	buffer_append_format(&told, STR_FORMAT ";", STR_ARGUMENTS(text));
	return true;
}

static struct node_sender sender;
static unsigned connects;
static const char *unreachable; /* it cannot be reached at once */

struct node_peer *node_peer_find(const struct node_sender *of, struct str name)
{
	struct node_peer *peer;

	DL_FOREACH2 (of->peers, peer, next)
		if (str_equal(name, str_from(peer->name)))
			return peer;
	return NULL;
}

struct node_peer *node_peer_get(struct node_sender *of, struct str name)
{
	struct node_peer *peer = node_peer_find(of, name);

	if (peer != NULL)
		return peer;
	peer = calloc(1, sizeof *peer);
	assert_non_null(peer);
	peer->sender = of;
	memcpy(peer->name, name.data, name.length);
	peer->client.answers_status = true;
	DL_APPEND2(of->peers, peer, previous, next);
	return peer;
}

bool node_peer_is_ready(const struct node_peer *peer)
{
	return peer->client.state == NODE_CLIENT_READY;
}

static void set_trouble(struct node_peer *peer, const char *text)
{
	buffer_reset(&peer->trouble);
	buffer_append_string(&peer->trouble, text);
	buffer_append_byte(&peer->trouble, '\0');
}

void node_peer_connect(struct node_peer *peer)
{
	assert_true(node_question_wants(peer));
	connects++;
	if (unreachable == NULL || strcmp(unreachable, peer->name) != 0)
		return;
	set_trouble(peer, "refused");
	node_question_failed(peer);
}

void node_link_send(struct node_link *link)
{
	(void)link;
}

void node_client_ask_status(struct node_client *client, struct str message)
{
	assert_true(str_equal(message, STR("1-2")));
	assert_false(client->is_asked);
	client->is_asked = true;
}

#endif
