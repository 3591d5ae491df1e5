// SPDX-License-Identifier: ISC
/* The graph of an expansion, as it grows. */
#include "directory/expand/internal.h"

void expand_queue_empty(struct expand_queue *queue)
{
	queue->first = NULL;
	queue->end = &queue->first;
}

void expand_queue_append(struct expand_queue *queue, struct expand_node *node)
{
	node->next = NULL;
	*queue->end = node;
	queue->end = &node->next;
}

struct expand_node *expand_queue_take(struct expand_queue *queue)
{
	struct expand_node *node = queue->first;

	queue->first = node->next;
	if (queue->first == NULL)
		queue->end = &queue->first;
	return node;
}

static void attach_child_node(struct expansion *expansion, struct expand_node *node,
			      struct expand_node *child)
{
	size_t count = node->child_count;

	if ((count & (count - 1)) == 0) {
		struct expand_node **grown = arena_alloc(
			expansion->arena, (count == 0 ? 1 : 2 * count) * sizeof(void *));

		for (size_t i = 0; i < count; i++)
			grown[i] = node->children[i];
		node->children = grown;
	}
	node->children[node->child_count++] = child;
}

struct expand_node *expand_add_leaf(struct expansion *expansion, struct expand_node *node)
{
	struct expand_node *leaf = arena_alloc(expansion->arena, sizeof *leaf);

	expansion->node_count++;
	attach_child_node(expansion, node, leaf);
	return leaf;
}

static void remember_expanded_node(struct expansion *expansion, struct expand_node *node)
{
	HASH_ADD_KEYPTR(hh, expansion->nodes, node->address.data, node->address.length, node);
}

static bool is_too_deep(const struct expand_node *node)
{
	return node->depth > DIRECTORY_DEPTH_MAX;
}

/* NODE is DEPTH steps away. By fewer than it seemed, all it leads to is so, too; what was too deep
 * before continues now. */
static void reach_node_at_depth(struct expansion *expansion, struct expand_node *node,
				unsigned depth)
{
	bool was_too_deep = is_too_deep(node);

	if (depth >= node->depth)
		return;
	node->depth = depth;
	if (was_too_deep && !is_too_deep(node)) {
		node->wish = EXPAND_WANTS_DOMAIN;
		expand_queue_append(&expansion->fresh, node);
	}
	for (size_t i = 0; i < node->child_count; i++)
		reach_node_at_depth(expansion, node->children[i], depth + 1);
}

void expand_add_child(struct expansion *expansion, struct expand_node *node, struct str address)
{
	struct expand_node *child;

	if (expansion->nodes == NULL)
		remember_expanded_node(expansion, expansion->root);
	HASH_FIND(hh, expansion->nodes, address.data, address.length, child);
	if (child != NULL) {
		attach_child_node(expansion, node, child);
		reach_node_at_depth(expansion, child, node->depth + 1);
		return;
	}
	if (expansion->node_count >= EXPAND_NODES_MAX) {
		expansion->is_too_big = true;
		return;
	}
	child = expand_add_leaf(expansion, node);
	child->address = child->shown = address;
	child->domain = str_skip(address, (size_t)str_find_last(address, '@') + 1);
	child->depth = node->depth + 1;
	child->wish = is_too_deep(child) ? EXPAND_DONE : EXPAND_WANTS_DOMAIN;
	remember_expanded_node(expansion, child);
	if (!is_too_deep(child)) /* else the walk ends before it */
		expand_queue_append(&expansion->fresh, child);
}
