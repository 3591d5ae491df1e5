// SPDX-License-Identifier: ISC
/*
 * base/heap.h - a priority queue of things that are due at a time.
 *
 * The item embeds a node; the heap knows where each node stands, so that any
 * of them can be moved or removed in O(log n).
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

/* Adds NODE, or moves it when it is in HEAP already. */
void heap_put(struct heap *heap, struct heap_node *node, int64_t key);
/* Removes NODE; nothing happens when it is in no heap. */
void heap_remove(struct heap *heap, struct heap_node *node);
/* The node with the smallest key, or NULL. */
struct heap_node *heap_first(const struct heap *heap);
bool heap_has(const struct heap_node *node);
void heap_clear(struct heap *heap);

#endif
