// SPDX-License-Identifier: ISC
#include "base/heap.h"
#include "base/panic.h"
#include <stdlib.h>

static void place_heap_node(struct heap *heap, size_t position, struct heap_node *node)
{
	heap->nodes[position] = node;
	node->position = position;
}

static void sift_up(struct heap *heap, struct heap_node *node)
{
	size_t position = node->position;

	while (position > 1 && heap->nodes[position / 2]->key > node->key) {
		place_heap_node(heap, position, heap->nodes[position / 2]);
		position /= 2;
	}
	place_heap_node(heap, position, node);
}

static void sift_down(struct heap *heap, struct heap_node *node)
{
	size_t position = node->position;

	for (;;) {
		size_t child = position * 2;

		if (child > heap->count)
			break;
		if (child < heap->count && heap->nodes[child + 1]->key < heap->nodes[child]->key)
			child++;
		if (heap->nodes[child]->key >= node->key)
			break;
		place_heap_node(heap, position, heap->nodes[child]);
		position = child;
	}
	place_heap_node(heap, position, node);
}

void heap_put(struct heap *heap, struct heap_node *node, int64_t key)
{
	if (node->position == 0) {
		if (heap->count + 2 > heap->capacity) {
			heap->capacity = heap->capacity > 0 ? heap->capacity * 2 : 64;
			heap->nodes =
				memory_resize(heap->nodes, heap->capacity * sizeof(*heap->nodes));
		}
		heap->count++;
		place_heap_node(heap, heap->count, node);
	}
	node->key = key;
	sift_up(heap, node);
	sift_down(heap, node);
}

void heap_remove(struct heap *heap, struct heap_node *node)
{
	struct heap_node *last;

	if (node->position == 0)
		return;
	last = heap->nodes[heap->count--];
	if (last != node) {
		place_heap_node(heap, node->position, last);
		sift_up(heap, last);
		sift_down(heap, last);
	}
	node->position = 0;
}

struct heap_node *heap_first(const struct heap *heap)
{
	return heap->count > 0 ? heap->nodes[1] : NULL;
}

bool heap_has(const struct heap_node *node)
{
	return node->position != 0;
}

void heap_clear(struct heap *heap)
{
	for (size_t i = 1; i <= heap->count; i++)
		heap->nodes[i]->position = 0;
	free(heap->nodes);
	*heap = (struct heap){0};
}
