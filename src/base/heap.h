// SPDX-License-Identifier: ISC
/*
 * base/heap.h - a priority queue of items by time.
 *
 * An item embeds a node; each node stores its position in the heap, so that it
 * can be moved or removed in O(log n).
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_node {
	int64_t key;     /* smallest first */
	size_t position; /* 0: in no heap */
};

struct heap {
	struct heap_node **nodes; /* owned; nodes[1] is the first */
	size_t count;
	size_t capacity;
};

/* Adds NODE, or moves it if it is in HEAP already. */
void heap_put(struct heap *heap, struct heap_node *node, int64_t key);
/* Removes NODE, if it is in a heap. */
void heap_remove(struct heap *heap, struct heap_node *node);
/* The node with the smallest key, or NULL. */
struct heap_node *heap_first(const struct heap *heap);
bool heap_has(const struct heap_node *node);
void heap_clear(struct heap *heap);

#endif
