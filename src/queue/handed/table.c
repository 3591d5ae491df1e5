// SPDX-License-Identifier: ISC
/* Which names there are in handed/, by node and name, and by the number of the message. */
#include "queue/handed/internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct handed_node *handed_node_find(const struct queue_intake *intake, struct str name)
{
	struct handed_node *node = NULL;

	if (intake->handed != NULL)
		HASH_FIND(hh, intake->handed->nodes, name.data, name.length, node);
	return node;
}

struct handed_node *handed_node_add(struct queue_intake *intake, struct str name)
{
	struct handed_node *node = handed_node_find(intake, name);

	if (node != NULL)
		return node;
	if (HASH_COUNT(intake->handed->nodes) >= QUEUE_HANDED_NODES_MAX)
		return NULL;
	node = memory_alloc_zero(1, sizeof *node);
	memcpy(node->name, name.data, name.length);
	HASH_ADD_KEYPTR(hh, intake->handed->nodes, node->name, name.length, node);
	return node;
}

struct queue_handed_name *handed_name_find(const struct handed_node *node, struct str name)
{
	struct queue_handed_name *found;

	HASH_FIND(hh, node->names, name.data, name.length, found);
	return found;
}

struct queue_handed_name *handed_name_add(struct queue_intake *intake, struct handed_node *node,
					  struct str name, uint64_t number,
					  enum queue_handed_state state)
{
	struct queue_handed_name *added = memory_alloc_zero(1, sizeof *added);

	added->number = number;
	added->node = node;
	added->state = state;
	memcpy(added->name, name.data, name.length);
	HASH_ADD_KEYPTR(hh, node->names, added->name, name.length, added);
	HASH_ADD(by_number, intake->handed->by_number, number, sizeof added->number, added);
	return added;
}

struct queue_handed_name *queue_handed_of(const struct queue_intake *intake, uint64_t number)
{
	struct queue_handed_name *name = NULL;

	if (intake->handed != NULL)
		HASH_FIND(by_number, intake->handed->by_number, &number, sizeof number, name);
	return name;
}

void queue_handed_name_path(const struct queue_handed_name *name, char path[QUEUE_PATH_SIZE])
{
	queue_handed_path(name->node->name, name->name,
			  name->state == QUEUE_HANDED_ENDING || name->state == QUEUE_HANDED_ENDED,
			  path);
}

const char *queue_handed_name_node(const struct queue_handed_name *name)
{
	return name->node->name;
}

void queue_handed_forget(struct queue_intake *intake, struct queue_handed_name *name)
{
	HASH_DELETE(hh, name->node->names, name);
	HASH_DELETE(by_number, intake->handed->by_number, name);
	free(name->numbers);
	free(name);
}

void queue_handed_free(struct queue_intake *intake)
{
	struct queue_handed_name *name;
	struct queue_handed_name *next_name;
	struct handed_node *node;
	struct handed_node *next;

	if (intake->handed == NULL)
		return;
	HASH_ITER (hh, intake->handed->nodes, node, next) {
		HASH_ITER (hh, node->names, name, next_name)
			queue_handed_forget(intake, name);
		HASH_DELETE(hh, intake->handed->nodes, node);
		free(node);
	}
	free(intake->handed);
	intake->handed = NULL;
}
