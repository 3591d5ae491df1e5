// SPDX-License-Identifier: ISC
/* Time, and what happens at which: a heap. */
#include "kernel_internal.h"
#include <err.h>
#include <stdlib.h>
#include <string.h>

struct event {
	int64_t when_us;
	uint64_t number; /* those of one time come in their order */
	void (*call)(void *context);
	void *context;
	size_t place;       /* in the heap; SIZE_MAX: it is happening */
	struct event *next; /* of the spare ones */
};

static struct {
	int64_t now_us;
	uint64_t numbers;
	struct event **heap;
	size_t count;
	size_t size;
	struct event *spare;
} events;

int64_t kernel_now_us(void)
{
	return events.now_us;
}

void events_pass(int64_t us)
{
	events.now_us += us;
}

static bool is_before(const struct event *a, const struct event *b)
{
	return a->when_us != b->when_us ? a->when_us < b->when_us : a->number < b->number;
}

static void put(struct event *event, size_t place)
{
	events.heap[place] = event;
	event->place = place;
}

/* EVENT, which belongs at PLACE or nearer to the first. */
static void rise(struct event *event, size_t place)
{
	while (place > 0 && is_before(event, events.heap[(place - 1) / 2])) {
		put(events.heap[(place - 1) / 2], place);
		place = (place - 1) / 2;
	}
	put(event, place);
}

/* EVENT, which belongs at PLACE or further from the first. */
static void sink(struct event *event, size_t place)
{
	for (;;) {
		size_t next = 2 * place + 1;

		if (next >= events.count)
			break;
		if (next + 1 < events.count && is_before(events.heap[next + 1], events.heap[next]))
			next++;
		if (!is_before(events.heap[next], event))
			break;
		put(events.heap[next], place);
		place = next;
	}
	put(event, place);
}

static struct event *take_spare(void)
{
	struct event *event = events.spare;

	if (event != NULL) {
		events.spare = event->next;
		return event;
	}
	event = malloc(sizeof *event);
	if (event == NULL)
		err(1, "no memory");
	return event;
}

static void give_spare(struct event *event)
{
	event->next = events.spare;
	events.spare = event;
}

struct event *kernel_at(int64_t when_us, void (*call)(void *context), void *context)
{
	struct event *event = take_spare();
	size_t place = events.count++;

	*event = (struct event){
		.when_us = when_us, .number = events.numbers++, .call = call, .context = context};
	events.heap = kernel_grow(events.heap, place, &events.size, sizeof *events.heap);
	rise(event, place);
	return event;
}

static void take_out(struct event *event)
{
	struct event *last = events.heap[--events.count];
	size_t place = event->place;

	event->place = SIZE_MAX;
	if (last == event)
		return;
	if (place > 0 && is_before(last, events.heap[(place - 1) / 2]))
		rise(last, place);
	else
		sink(last, place);
}

void kernel_cancel(struct event *event)
{
	if (event == NULL || event->place == SIZE_MAX)
		return;
	take_out(event);
	give_spare(event);
}

void events_run(void)
{
	while (events.count > 0 && events.heap[0]->when_us <= events.now_us) {
		struct event *event = events.heap[0];

		take_out(event);
		event->call(event->context);
		give_spare(event);
	}
}

bool events_go_on(int64_t when_us)
{
	if (events.count == 0)
		return false;
	events.now_us = events.heap[0]->when_us < when_us ? events.heap[0]->when_us : when_us;
	return true;
}

void events_begin(void)
{
	events.now_us = 0;
	events.numbers = 0;
}

void events_end(void)
{
	for (size_t i = 0; i < events.count; i++)
		free(events.heap[i]);
	while (events.spare != NULL)
		free(take_spare());
	free(events.heap);
	memset(&events, 0, sizeof events);
}
