// SPDX-License-Identifier: ISC
#include "node/link.h"
#include "base/panic.h"
#include "os/clock.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { READ_SIZE = 64 * 1024, READS_A_TURN = 16 };

struct node_link {
	struct os_loop *loop;
	struct directory_transport transport;
	struct buffer *out;
	const struct node_link_handler *handler;
	void *context;
	struct os_watch *watch;
	struct os_timer *timer;
	struct os_task task; /* sends, and reads what poll does not report */
	int64_t heard_us;    /* monotonic: when something came last */
	int64_t stuck_us;    /* since when nothing goes; 0: it goes */
	bool is_paused;
	bool is_ended; /* by node_link_end() */
};

static void watch_link(struct node_link *link)
{
	unsigned events = link->transport.wants(link->transport.state, link->out->length > 0);

	if (link->is_paused)
		events &= ~(unsigned)OS_WATCH_READ;
	os_watch_set(link->watch, events);
}

/* False: the connection is broken. */
static bool write_link(struct node_link *link)
{
	while (link->out->length > 0) {
		ssize_t count = link->transport.write(link->transport.state, buffer_data(link->out),
						      link->out->length);

		if (count == -EAGAIN) {
			if (link->stuck_us == 0)
				link->stuck_us = os_clock_monotonic_us();
			return true;
		}
		if (count <= 0)
			return false;
		buffer_consume(link->out, (size_t)count);
		link->stuck_us = 0;
	}
	return true;
}

enum read_result { READ_ALL, READ_SOME, READ_END, READ_REFUSED, READ_BROKEN, READ_RESULTS };

/* Why the connection is over; NULL: it is not. */
static const char *const ends[READ_RESULTS] = {
	[READ_END] = "the connection was closed",
	[READ_REFUSED] = "",
	[READ_BROKEN] = "the connection is broken",
};

static enum read_result read_from_link(struct node_link *link)
{
	static char bytes[READ_SIZE];

	for (unsigned i = 0; i < READS_A_TURN && !link->is_paused; i++) {
		ssize_t count = link->transport.read(link->transport.state, bytes, sizeof bytes);

		if (count == -EAGAIN)
			return READ_ALL;
		if (count == 0)
			return READ_END;
		if (count < 0)
			return READ_BROKEN;
		link->heard_us = os_clock_monotonic_us();
		if (!link->handler->read(link->context, str_slice(bytes, (size_t)count)))
			return READ_REFUSED;
	}
	return READ_SOME;
}

/* The last call: LOST frees the link. */
static void pump_link(void *context)
{
	struct node_link *link = context;
	enum read_result result = link->is_ended    ? READ_REFUSED
				  : link->is_paused ? READ_ALL
						    : read_from_link(link);
	const char *end = ends[result];

	if (end == NULL && link->out->length < NODE_LINK_OUT_MAX)
		link->handler->has_room(link->context);
	if (!write_link(link) && end == NULL)
		end = ends[READ_BROKEN];
	if (end != NULL) {
		link->handler->lost(link->context, end);
		return;
	}
	if (result == READ_SOME && !link->is_paused)
		os_loop_defer(link->loop, &link->task);
	watch_link(link);
}

static void on_link_event(void *context, unsigned events)
{
	(void)events;
	pump_link(context);
}

static void on_link_timer(void *context)
{
	struct node_link *link = context;
	int64_t now_us = os_clock_monotonic_us();

	os_timer_start(link->timer, NODE_LINK_PING_US);
	if (link->stuck_us != 0 && now_us - link->stuck_us > NODE_LINK_SILENCE_US)
		link->handler->lost(link->context, "it does not read");
	else if (!link->is_paused && now_us - link->heard_us > NODE_LINK_SILENCE_US)
		link->handler->lost(link->context, "it says nothing");
	else if (link->handler->silent != NULL)
		link->handler->silent(link->context);
}

struct node_link *node_link_new(struct os_loop *loop, const struct directory_transport *transport,
				struct buffer *out, const struct node_link_handler *handler,
				void *context)
{
	struct node_link *link = memory_alloc_zero(1, sizeof *link);

	link->loop = loop;
	link->transport = *transport;
	link->out = out;
	link->handler = handler;
	link->context = context;
	link->heard_us = os_clock_monotonic_us();
	link->task = (struct os_task){.call = pump_link, .context = link};
	link->timer = os_timer_new(loop, on_link_timer, link);
	link->watch = os_watch_new(loop, transport->descriptor, OS_WATCH_READ, on_link_event, link);
	os_timer_start(link->timer, NODE_LINK_PING_US);
	os_loop_defer(loop, &link->task); /* it may have said something already */
	return link;
}

void node_link_send(struct node_link *link)
{
	os_loop_defer(link->loop, &link->task);
}

void node_link_end(struct node_link *link)
{
	link->is_ended = true;
	os_loop_defer(link->loop, &link->task);
}

void node_link_pause(struct node_link *link, bool is_paused)
{
	if (link->is_paused == is_paused)
		return;
	link->is_paused = is_paused;
	link->heard_us = os_clock_monotonic_us();
	os_loop_defer(link->loop, &link->task);
}

void node_link_free(struct node_link *link)
{
	if (link == NULL)
		return;
	os_task_cancel(link->loop, &link->task);
	os_watch_free(link->watch);
	os_timer_free(link->timer);
	link->transport.close(link->transport.state);
	free(link);
}
