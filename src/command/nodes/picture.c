// SPDX-License-Identifier: ISC
/* What all nodes say, read from JSON. */
#include "base/text/json_read.h"
#include "base/timestamp.h"
#include "command/nodes/nodes.h"
#include <stdlib.h>
#include <string.h>

/* The text or number NAME of OBJECT, as text. */
static struct str member_text(struct arena *arena, struct str object, const char *name)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct str value = json_member(object, name);

	if (value.length == 0 || value.data[0] != '"')
		return value.length > 0 && value.data[0] != '{' && value.data[0] != '['
			       ? arena_copy_str(arena, value)
			       : STR("");
	(void)json_text(value, &text);
	return arena_copy_str(arena, buffer_view(&text));
}

/* The data that an IDENTITY is of: what follows is which processes are in between, and on what
 * their answers depend (directory/store/relay/relay.c). */
static struct str data_of_identity(struct str identity)
{
	ptrdiff_t plus = str_find(identity, '+');

	return plus >= 0 ? str_slice(identity.data, (size_t)plus) : identity;
}

static void read_status(struct arena *arena, struct nodes_node *node)
{
	struct str directory = json_member(node->status, "directory");

	node->release = member_text(arena, node->status, "release");
	node->configuration =
		member_text(arena, json_member(node->status, "configuration"), "version");
	node->identity = data_of_identity(member_text(arena, directory, "identity"));
	node->version = member_text(arena, directory, "version");
	node->state = member_text(arena, json_member(node->status, "record"), "state");
	node->problem = member_text(arena, node->status, "problem");
	(void)timestamp_parse(member_text(arena, node->status, "time"), &node->time_us);
}

static void add_node_to_picture(struct nodes_picture *picture, struct str answer, int64_t now_us)
{
	struct nodes_node *node = &picture->nodes[picture->count];
	struct str problem = member_text(picture->arena, answer, "problem");

	if (problem.length > 0) {
		picture->problem = problem;
		return;
	}
	*node = (struct nodes_node){.is_shown = true, .asked_us = now_us};
	node->name = member_text(picture->arena, answer, "node");
	node->status = member_text(picture->arena, answer, "status");
	node->reason = member_text(picture->arena, answer, "reason");
	picture->count++;
	if (node->status.length > 0 &&
	    (!json_is_valid(node->status) || node->status.data[0] != '{')) {
		node->status = STR("");
		node->reason = STR("what it answers is malformed");
	}
	if (node->status.length > 0)
		read_status(picture->arena, node);
}

/* They answer in any order. */
static int compare_nodes_of_picture(const void *a, const void *b)
{
	const struct nodes_node *one = a;
	const struct nodes_node *other = b;
	size_t length =
		one->name.length < other->name.length ? one->name.length : other->name.length;
	int result = length > 0 ? memcmp(one->name.data, other->name.data, length) : 0;

	return result != 0                             ? result
	       : one->name.length < other->name.length ? -1
						       : one->name.length > other->name.length;
}

bool nodes_picture_read(struct str answers, int64_t now_us, struct nodes_picture *picture_out)
{
	struct json_walk walk = json_walk_begin(answers);
	struct str name;
	struct str answer;
	size_t count = 0;

	*picture_out = (struct nodes_picture){.count = 0};
	if (!json_is_valid(answers) || walk.is_object)
		return false;
	while (json_walk_next(&walk, &name, &answer))
		count++;
	picture_out->arena = arena_new();
	picture_out->nodes =
		arena_alloc(picture_out->arena, (count + 1) * sizeof *picture_out->nodes);
	walk = json_walk_begin(answers);
	while (json_walk_next(&walk, &name, &answer))
		add_node_to_picture(picture_out, answer, now_us);
	qsort(picture_out->nodes, picture_out->count, sizeof *picture_out->nodes,
	      compare_nodes_of_picture);
	return true;
}

void nodes_picture_clear(struct nodes_picture *picture)
{
	if (picture->arena != NULL)
		arena_free(picture->arena);
}
