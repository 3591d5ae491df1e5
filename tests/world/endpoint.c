// SPDX-License-Identifier: ISC
#include "endpoint.h"
#include "links.h"
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct endpoint *askers; /* who sends datagrams, and may be answered */

enum {
	UNIX_ROOM = 208 << 10,
	ANSWERS = 64 << 10,
	TCP_ROOM_MIN = 4 << 10,
	TCP_ROOM_MAX = 256 << 10
};

struct endpoint *endpoint_new(enum endpoint_kind kind, bool is_tcp)
{
	struct endpoint *endpoint = calloc(1, sizeof *endpoint);

	if (endpoint == NULL)
		err(1, "no memory");
	description_init(&endpoint->description, &endpoint_description);
	endpoint->kind = kind;
	endpoint->is_tcp = is_tcp;
	endpoint->can_read = true;
	endpoint->can_write = true;
	endpoint->last = &endpoint->first;
	endpoint->capacity = UNIX_ROOM;
	endpoint->peer_user = (uid_t)-1;
	if (is_tcp)
		endpoint->capacity = TCP_ROOM_MIN + kernel_below(TCP_ROOM_MAX - TCP_ROOM_MIN);
	return endpoint;
}

void endpoint_join(struct endpoint *a, struct endpoint *b, int64_t delay_us)
{
	a->peer = b;
	b->peer = a;
	a->delay_us = delay_us;
	b->delay_us = delay_us;
}

void endpoint_make_pipe(struct endpoint *from, struct endpoint *to, size_t room)
{
	endpoint_join(from, to, 0);
	from->can_write = false;
	from->capacity = room;
	to->can_read = false;
}

void segment_free(struct segment *segment)
{
	for (size_t i = 0; i < segment->description_count; i++)
		description_drop(segment->descriptions[i]);
	free(segment);
}

struct segment *endpoint_arrived(const struct endpoint *endpoint)
{
	struct segment *first = endpoint->first;

	return first != NULL && first->arrives_us <= kernel_now_us() ? first : NULL;
}

/* --- on the way --- */

static void tell(struct endpoint *endpoint)
{
	description_changed(endpoint->front != NULL ? endpoint->front : &endpoint->description);
}

static void arrive(void *context);

/* Of those that are on their way the first is expected; the next when that is taken. */
static void expect(struct endpoint *endpoint)
{
	const struct segment *first = endpoint->first;

	if (endpoint->arrival == NULL && first != NULL && first->arrives_us > kernel_now_us())
		endpoint->arrival = kernel_at(first->arrives_us, arrive, endpoint);
}

static void arrive(void *context)
{
	struct endpoint *endpoint = context;

	endpoint->arrival = NULL;
	tell(endpoint);
	expect(endpoint);
}

static uint32_t host_of(const union os_socket_address *address)
{
	return ntohl(address->v4.sin_addr.s_addr);
}

static void append(struct endpoint *to, struct segment *segment)
{
	int64_t jitter_us = to->is_tcp && to->delay_us > 0
				    ? (int64_t)kernel_below(1 + (uint64_t)to->delay_us)
				    : 0;

	segment->arrives_us = kernel_now_us() + to->delay_us + jitter_us;
	if (to->is_tcp)
		segment->arrives_us = links_arrival(host_of(&to->remote), host_of(&to->local),
						    segment->arrives_us);
	if (segment->arrives_us < to->last_us)
		segment->arrives_us = to->last_us;
	to->last_us = segment->arrives_us;
	*to->last = segment;
	to->last = &segment->next;
	to->queued += segment->size;
	if (segment->arrives_us <= kernel_now_us())
		tell(to);
	else
		expect(to);
}

static struct segment *new_segment(const void *data, size_t size)
{
	struct segment *segment = calloc(1, sizeof *segment + size);

	if (segment == NULL)
		err(1, "no memory");
	segment->size = size;
	if (size > 0)
		memcpy(segment->data, data, size);
	return segment;
}

void endpoint_send_end(struct endpoint *endpoint, int error)
{
	struct segment *segment;

	endpoint->can_write = false;
	if (endpoint->peer == NULL)
		return;
	segment = new_segment(NULL, 0);
	segment->is_end = true;
	segment->error = error;
	append(endpoint->peer, segment);
}

static size_t room_of(const struct endpoint *endpoint)
{
	return endpoint->queued < endpoint->capacity ? endpoint->capacity - endpoint->queued : 0;
}

void endpoint_become_asker(struct endpoint *endpoint)
{
	endpoint->capacity = ANSWERS;
	endpoint->next_asker = askers;
	askers = endpoint;
}

void endpoint_answer(uint64_t asker, const void *data, size_t size)
{
	struct endpoint *endpoint = askers;

	while (endpoint != NULL && endpoint->description.inode != asker)
		endpoint = endpoint->next_asker;
	if (endpoint == NULL || size > room_of(endpoint))
		return;
	kernel_mix(data, size);
	append(endpoint, new_segment(data, size));
}

static void tell_judge(const struct endpoint *endpoint, const void *data, size_t size)
{
	const struct process *process = kernel_process();

	if (endpoint->kind == ENDPOINT_PACKET && process->machine->packet != NULL)
		process->machine->packet(process, endpoint->description.inode,
					 endpoint->peer->description.inode, data, size);
}

ssize_t endpoint_send(struct endpoint *endpoint, const void *data, size_t size,
		      struct description **descriptions, size_t description_count)
{
	struct endpoint *peer = endpoint->peer;
	struct segment *segment;

	if (endpoint->error < 0) {
		int error = endpoint->error;

		endpoint->error = 0;
		return error;
	}
	if (endpoint->is_connecting)
		return -EAGAIN;
	if (peer == NULL && endpoint->is_tcp && !endpoint->has_ended && endpoint->first != NULL &&
	    endpoint->can_write)
		return (ssize_t)size; /* that the peer is gone is not known here yet */
	if (peer == NULL || !endpoint->can_write)
		return -EPIPE;
	if (room_of(peer) == 0 || (endpoint->kind != ENDPOINT_STREAM && size > room_of(peer)))
		return -EAGAIN;
	if (endpoint->kind == ENDPOINT_STREAM && size > room_of(peer))
		size = room_of(peer);
	if (endpoint->is_tcp && size > 1 && kernel_one_in(8))
		size = 1 + kernel_below(size);
	segment = new_segment(data, size);
	segment->user = 1000;
	segment->asker = endpoint->description.inode;
	for (size_t i = 0; i < description_count; i++) {
		segment->descriptions[segment->description_count++] = descriptions[i];
		descriptions[i]->references++;
	}
	kernel_mix(data, size);
	append(peer, segment);
	tell_judge(endpoint, data, size);
	return (ssize_t)size;
}

struct segment *endpoint_take(struct endpoint *endpoint)
{
	struct segment *segment = endpoint->first;

	endpoint->first = segment->next;
	if (endpoint->first == NULL)
		endpoint->last = &endpoint->first;
	endpoint->queued -= segment->size;
	endpoint->received += segment->size;
	expect(endpoint);
	if (endpoint->peer != NULL)
		description_changed(&endpoint->peer->description);
	return segment;
}

/* The end stays where it is: whoever reads again meets it again. */
static ssize_t meet_end(struct endpoint *endpoint, const struct segment *segment)
{
	if (segment->error < 0) {
		int error = segment->error;

		segment_free(endpoint_take(endpoint));
		endpoint->peer = NULL;
		endpoint->has_ended = true;
		return error;
	}
	endpoint->has_ended = true;
	return 0;
}

ssize_t endpoint_read(struct endpoint *endpoint, void *data, size_t size)
{
	struct segment *segment = endpoint_arrived(endpoint);
	char *place = data;
	size_t count = 0;

	if (endpoint->error < 0) {
		int error = endpoint->error;

		endpoint->error = 0;
		return error;
	}
	if (segment == NULL)
		return endpoint->has_ended || (endpoint->peer == NULL && !endpoint->is_connecting)
			       ? 0
			       : -EAGAIN;
	if (segment->is_end)
		return meet_end(endpoint, segment);
	if (endpoint->is_tcp && size > 1 && kernel_one_in(4))
		size = 1 + kernel_below(size < 4096 ? size : 4096);
	while (segment != NULL && !segment->is_end && count < size) {
		size_t here = segment->size - segment->used;

		if (here > size - count)
			here = size - count;
		memcpy(place + count, segment->data + segment->used, here);
		count += here;
		segment->used += here;
		if (segment->used < segment->size)
			break;
		segment_free(endpoint_take(endpoint));
		segment = endpoint->kind == ENDPOINT_STREAM ? endpoint_arrived(endpoint) : NULL;
	}
	return (ssize_t)count;
}

/* --- as a description --- */

static unsigned poll_endpoint(struct description *description)
{
	const struct endpoint *endpoint = (const void *)description;
	unsigned ready = OS_WATCH_NONE;

	if (endpoint->is_connecting)
		return OS_WATCH_NONE;
	if (endpoint->kind == ENDPOINT_DATAGRAM)
		return (endpoint->peer != NULL ? OS_WATCH_WRITE : OS_WATCH_NONE) |
		       (endpoint_arrived(endpoint) != NULL ? OS_WATCH_READ : OS_WATCH_NONE);
	if (endpoint->error < 0 || (endpoint->peer == NULL && endpoint->first == NULL) ||
	    (endpoint->first != NULL && endpoint->first->error < 0 &&
	     endpoint->first->arrives_us <= kernel_now_us()))
		return OS_WATCH_READ | OS_WATCH_WRITE;
	if (endpoint->can_read && (endpoint->has_ended || endpoint_arrived(endpoint) != NULL))
		ready |= OS_WATCH_READ;
	if (endpoint->peer == NULL || room_of(endpoint->peer) > endpoint->peer->capacity / 3)
		ready |= OS_WATCH_WRITE;
	return ready;
}

static bool has_unread(const struct endpoint *endpoint)
{
	return endpoint->first != NULL && !endpoint->first->is_end;
}

/* TCP answers bytes that nobody will read with a reset; so does the end of a UNIX socket. */
static void forget_asker(const struct endpoint *endpoint)
{
	struct endpoint **place = &askers;

	while (*place != NULL && *place != endpoint)
		place = &(*place)->next_asker;
	if (*place != NULL)
		*place = endpoint->next_asker;
}

static void close_endpoint(struct description *description)
{
	struct endpoint *endpoint = (void *)description;
	struct endpoint *peer = endpoint->peer;

	if (peer != NULL && endpoint->kind == ENDPOINT_DATAGRAM) {
		forget_asker(endpoint);
		description_drop(&peer->description);
	} else if (peer != NULL) {
		if (has_unread(endpoint))
			endpoint_send_end(endpoint, -ECONNRESET);
		else if (endpoint->can_write)
			endpoint_send_end(endpoint, 0);
		peer->peer = NULL;
		description_changed(&peer->description);
	}
	while (endpoint->first != NULL) {
		struct segment *segment = endpoint->first;

		endpoint->first = segment->next;
		segment_free(segment);
	}
	kernel_cancel(endpoint->arrival);
	free(endpoint);
}

static ssize_t read_description(struct description *description, void *data, size_t size)
{
	return endpoint_read((void *)description, data, size);
}

static ssize_t write_description(struct description *description, const void *data, size_t size)
{
	return endpoint_send((void *)description, data, size, NULL, 0);
}

const struct description_kind endpoint_description = {
	"socket", poll_endpoint, close_endpoint, read_description, write_description, S_IFIFO};
