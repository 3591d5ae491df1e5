// SPDX-License-Identifier: ISC
#include "manager/wait/sleeper.h"
#include "base/panic.h"
#include <stdlib.h>

/* Sleepers are referred to by 32-bit indexes, half as long as pointers; 0 is none. */
enum { CHUNK = 2048, TABLE_MIN = 1024 };

static struct sleeper *sleeper_at(const struct sleepers *sleepers, uint32_t index)
{
	return &sleepers->chunks[index / CHUNK][index % CHUNK];
}

/* --- by number: linear hashing, so that no insertion has to move all of them --- */

/* Buckets for each sleeper. Each link of a chain is a cache miss, and a scan looks for a million
 * numbers that are not there. */
enum { SPARSE = 2 };

static uint64_t hash_message_number(uint64_t number)
{
	return (number * 0x9e3779b97f4a7c15U) >> 32;
}

/* While the table grows from 2^n buckets to 2^(n+1), those already split are told apart by one
 * more bit. */
static uint32_t *bucket_of_number(const struct sleepers *sleepers, uint64_t number)
{
	uint32_t size = TABLE_MIN;
	uint32_t bucket;

	while (size < sleepers->bucket_count)
		size *= 2;
	bucket = (uint32_t)(hash_message_number(number) & (size - 1));
	if (bucket >= sleepers->bucket_count)
		bucket -= size / 2;
	return &sleepers->buckets[bucket];
}

struct sleeper *sleepers_find(const struct sleepers *sleepers, uint64_t number)
{
	uint32_t index;

	if (sleepers->count == 0)
		return NULL;
	for (index = *bucket_of_number(sleepers, number); index != 0;
	     index = sleeper_at(sleepers, index)->bucket_next)
		if (sleeper_at(sleepers, index)->number == number)
			return sleeper_at(sleepers, index);
	return NULL;
}

static void enter_bucket(struct sleepers *sleepers, struct sleeper *sleeper)
{
	uint32_t *bucket = bucket_of_number(sleepers, sleeper->number);

	sleeper->bucket_next = *bucket;
	*bucket = sleeper->index;
}

static void leave_bucket(struct sleepers *sleepers, const struct sleeper *sleeper)
{
	uint32_t *link = bucket_of_number(sleepers, sleeper->number);

	while (*link != sleeper->index)
		link = &sleeper_at(sleepers, *link)->bucket_next;
	*link = sleeper->bucket_next;
}

static void *grown_sleeper_array(void *array, uint32_t *capacity, size_t size)
{
	*capacity = *capacity > 0 ? *capacity * 2 : TABLE_MIN;
	return memory_resize(array, *capacity * size);
}

/* Adds a bucket, which takes its part of the contents of the one that is split. */
static void split_bucket(struct sleepers *sleepers)
{
	uint32_t size = TABLE_MIN;
	uint32_t index;
	uint32_t *old;

	if (sleepers->bucket_count == sleepers->bucket_capacity)
		sleepers->buckets = grown_sleeper_array(
			sleepers->buckets, &sleepers->bucket_capacity, sizeof *sleepers->buckets);
	while (size * 2 <= sleepers->bucket_count)
		size *= 2;
	old = &sleepers->buckets[sleepers->bucket_count - size];
	index = *old;
	*old = 0;
	sleepers->buckets[sleepers->bucket_count++] = 0;
	while (index != 0) {
		struct sleeper *sleeper = sleeper_at(sleepers, index);

		index = sleeper->bucket_next;
		enter_bucket(sleepers, sleeper);
	}
}

/* --- by time --- */

static void place_sleeper_in_heap(struct sleepers *sleepers, uint32_t position, uint32_t index)
{
	sleepers->heap[position] = index;
	sleeper_at(sleepers, index)->heap_position = position;
}

static int64_t due_at(const struct sleepers *sleepers, uint32_t position)
{
	return sleeper_at(sleepers, sleepers->heap[position])->due_us;
}

/* Puts SLEEPER where it belongs, starting at a free position. */
static void settle_sleeper_in_heap(struct sleepers *sleepers, struct sleeper *sleeper,
				   uint32_t position)
{
	while (position > 1 && due_at(sleepers, position / 2) > sleeper->due_us) {
		place_sleeper_in_heap(sleepers, position, sleepers->heap[position / 2]);
		position /= 2;
	}
	for (;;) {
		uint32_t child = position * 2;

		if (child < sleepers->heap_count &&
		    due_at(sleepers, child + 1) < due_at(sleepers, child))
			child++;
		if (child > sleepers->heap_count || due_at(sleepers, child) >= sleeper->due_us)
			break;
		place_sleeper_in_heap(sleepers, position, sleepers->heap[child]);
		position = child;
	}
	place_sleeper_in_heap(sleepers, position, sleeper->index);
}

static void leave_heap(struct sleepers *sleepers, struct sleeper *sleeper)
{
	uint32_t position = sleeper->heap_position;
	uint32_t last;

	if (position == 0)
		return;
	last = sleepers->heap[sleepers->heap_count--];
	if (last != sleeper->index)
		settle_sleeper_in_heap(sleepers, sleeper_at(sleepers, last), position);
	sleeper->heap_position = 0;
}

void sleepers_set_due(struct sleepers *sleepers, struct sleeper *sleeper, int64_t due_us)
{
	leave_heap(sleepers, sleeper);
	sleeper->due_us = due_us;
	if (due_us == INT64_MAX)
		return;
	if (sleepers->heap_count + 1 >= sleepers->heap_capacity)
		sleepers->heap = grown_sleeper_array(sleepers->heap, &sleepers->heap_capacity,
						     sizeof *sleepers->heap);
	settle_sleeper_in_heap(sleepers, sleeper, ++sleepers->heap_count);
}

struct sleeper *sleepers_due_first(const struct sleepers *sleepers)
{
	return sleepers->heap_count > 0 ? sleeper_at(sleepers, sleepers->heap[1]) : NULL;
}

void sleepers_shift(struct sleepers *sleepers, int64_t by_us)
{
	for (uint32_t position = 1; position <= sleepers->heap_count; position++)
		sleeper_at(sleepers, sleepers->heap[position])->due_us += by_us;
}

/* --- by what they wait for --- */

static void leave_waiters(struct sleepers *sleepers, struct sleeper *sleeper)
{
	struct waiters *waiters = sleeper->waiters;

	if (waiters == NULL)
		return;
	if (sleeper->wait_previous != 0)
		sleeper_at(sleepers, sleeper->wait_previous)->wait_next = sleeper->wait_next;
	else
		waiters->first = sleeper->wait_next;
	if (sleeper->wait_next != 0)
		sleeper_at(sleepers, sleeper->wait_next)->wait_previous = sleeper->wait_previous;
	else
		waiters->last = sleeper->wait_previous;
	waiters->count--;
	sleeper->waiters = NULL;
}

void sleepers_wait(struct sleepers *sleepers, struct sleeper *sleeper, struct waiters *waiters)
{
	leave_waiters(sleepers, sleeper);
	sleeper->waiters = waiters;
	sleeper->wait_previous = waiters->last;
	sleeper->wait_next = 0;
	if (waiters->last != 0)
		sleeper_at(sleepers, waiters->last)->wait_next = sleeper->index;
	else
		waiters->first = sleeper->index;
	waiters->last = sleeper->index;
	waiters->count++;
}

void sleepers_go_first(struct sleepers *sleepers, struct sleeper *sleeper)
{
	struct waiters *waiters = sleeper->waiters;

	leave_waiters(sleepers, sleeper);
	sleeper->waiters = waiters;
	sleeper->wait_previous = 0;
	sleeper->wait_next = waiters->first;
	if (waiters->first != 0)
		sleeper_at(sleepers, waiters->first)->wait_previous = sleeper->index;
	else
		waiters->last = sleeper->index;
	waiters->first = sleeper->index;
	waiters->count++;
}

struct sleeper *sleepers_waiting_first(const struct sleepers *sleepers,
				       const struct waiters *waiters)
{
	return waiters->first != 0 ? sleeper_at(sleepers, waiters->first) : NULL;
}

/* --- adding and removing --- */

static void add_chunk(struct sleepers *sleepers)
{
	struct sleeper *chunk = memory_alloc_zero(CHUNK, sizeof *chunk);
	uint32_t base = sleepers->chunk_count * CHUNK;

	if (sleepers->chunk_count == UINT32_MAX / CHUNK)
		panic("more than %lu messages sleep", (unsigned long)base);
	if ((sleepers->chunk_count & (sleepers->chunk_count - 1)) == 0)
		sleepers->chunks =
			memory_resize(sleepers->chunks, (size_t)(sleepers->chunk_count + 1) * 2 *
								sizeof *sleepers->chunks);
	sleepers->chunks[sleepers->chunk_count++] = chunk;
	for (uint32_t i = CHUNK; i-- > (base == 0 ? 1 : 0);) {
		chunk[i].index = base + i;
		chunk[i].bucket_next = sleepers->free;
		sleepers->free = base + i;
	}
}

static void begin_sleeper_table(struct sleepers *sleepers)
{
	sleepers->buckets = memory_alloc_zero(TABLE_MIN, sizeof *sleepers->buckets);
	sleepers->bucket_count = TABLE_MIN;
	sleepers->bucket_capacity = TABLE_MIN;
}

struct sleeper *sleepers_add(struct sleepers *sleepers, uint64_t number, int64_t due_us)
{
	struct sleeper *sleeper;

	if (sleepers->buckets == NULL)
		begin_sleeper_table(sleepers);
	if (sleepers->free == 0)
		add_chunk(sleepers);
	sleeper = sleeper_at(sleepers, sleepers->free);
	sleepers->free = sleeper->bucket_next;
	*sleeper = (struct sleeper){.number = number, .index = sleeper->index};
	sleepers->count++;
	while (sleepers->bucket_count < SPARSE * sleepers->count)
		split_bucket(sleepers);
	enter_bucket(sleepers, sleeper);
	sleepers_set_due(sleepers, sleeper, due_us);
	return sleeper;
}

void sleepers_remove(struct sleepers *sleepers, struct sleeper *sleeper)
{
	leave_waiters(sleepers, sleeper);
	leave_heap(sleepers, sleeper);
	leave_bucket(sleepers, sleeper);
	sleeper->number = 0;
	sleeper->bucket_next = sleepers->free;
	sleepers->free = sleeper->index;
	if (--sleepers->count == 0 && sleepers->chunk_count > 1)
		sleepers_clear(sleepers); /* after a peak no memory stays in use */
}

void sleepers_each(struct sleepers *sleepers, void (*each)(void *context, struct sleeper *sleeper),
		   void *context)
{
	for (uint32_t i = 0; i < sleepers->chunk_count; i++)
		for (uint32_t j = 0; j < CHUNK; j++)
			if (sleepers->chunks[i][j].number != 0)
				each(context, &sleepers->chunks[i][j]);
}

void sleepers_clear(struct sleepers *sleepers)
{
	for (uint32_t i = 0; i < sleepers->chunk_count; i++)
		free(sleepers->chunks[i]);
	free(sleepers->chunks);
	free(sleepers->buckets);
	free(sleepers->heap);
	*sleepers = (struct sleepers){0};
}
