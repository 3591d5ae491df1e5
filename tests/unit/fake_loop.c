// SPDX-License-Identifier: ISC
#include "fake_loop.h"
#include "base/panic.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include "test.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECTIONS_MAX = 256, FIRST_SOCKET = 1000, ROOM_MAX = 1 << 16 };

struct direction {
	char bytes[ROOM_MAX];
	size_t first, length, room;
};

static struct connection {
	struct direction to_us, to_peer;
	bool is_shut, is_gone, is_closed; /* by the peer, by the peer, by us */
	bool is_polite;                   /* when we closed it */
	bool is_held;                     /* the last write may wait for another one */
	struct os_watch *watch;
} connections[CONNECTIONS_MAX];

struct os_watch {
	int descriptor;
	unsigned events;
	void (*call)(void *context, unsigned events);
	void *context;
	struct os_watch *next; /* of a file */
};

struct os_timer {
	int64_t at_us; /* 0: it does not run */
	void (*call)(void *context);
	void *context;
	struct os_timer *next;
};

static struct {
	uint64_t random;
	int64_t now_us;
	int64_t set_us; /* the wall clock was set so far */
	int connection_count;
	struct os_timer *timers;
	struct os_watch *files; /* what is watched and is no connection of ours */
} world;

static struct connection *connection_of(int socket)
{
	assert_in_range(socket, FIRST_SOCKET, FIRST_SOCKET + world.connection_count - 1);
	return &connections[socket - FIRST_SOCKET];
}

void fake_begin(uint64_t seed)
{
	assert_null(world.timers);
	assert_null(world.files);
	world.random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	world.now_us = INT64_C(1000000000);
	world.set_us = 0;
	world.connection_count = 0;
}

static uint64_t current_seed; /* 0: none failed */

void fake_seeds(uint64_t count, void (*run)(uint64_t seed))
{
	const char *from = getenv("SEED");
	uint64_t first = from != NULL ? strtoull(from, NULL, 10) : 1;

	for (uint64_t seed = first; seed < first + (from != NULL ? 1 : count); seed++) {
		current_seed = seed;
		run(seed);
	}
	current_seed = 0;
}

int fake_tell_seed(void **state)
{
	(void)state;
	if (current_seed != 0)
		print_message("seed %llu\n", (unsigned long long)current_seed);
	return 0;
}

uint32_t fake_random(uint32_t bound)
{
	world.random ^= world.random << 13;
	world.random ^= world.random >> 7;
	world.random ^= world.random << 17;
	return (uint32_t)((world.random >> 20) % bound);
}

int fake_connect(size_t room_to_us, size_t room_to_peer)
{
	struct connection *made = &connections[world.connection_count++];

	assert_true(world.connection_count <= CONNECTIONS_MAX);
	made->to_us.first = made->to_us.length = 0;
	made->to_peer.first = made->to_peer.length = 0;
	made->to_us.room = room_to_us < ROOM_MAX ? room_to_us : ROOM_MAX;
	made->to_peer.room = room_to_peer < ROOM_MAX ? room_to_peer : ROOM_MAX;
	made->is_shut = made->is_gone = made->is_closed = made->is_polite = false;
	made->is_held = false;
	made->watch = NULL;
	return FIRST_SOCKET + world.connection_count - 1;
}

static size_t put(struct direction *direction, const char *data, size_t length)
{
	size_t room = direction->room - direction->length;

	if (length > room)
		length = room;
	if (direction->first + direction->length + length > ROOM_MAX) {
		memmove(direction->bytes, direction->bytes + direction->first, direction->length);
		direction->first = 0;
	}
	memcpy(direction->bytes + direction->first + direction->length, data, length);
	direction->length += length;
	return length;
}

static size_t get(struct direction *direction, char *data, size_t size)
{
	if (size > direction->length)
		size = direction->length;
	memcpy(data, direction->bytes + direction->first, size);
	direction->first += size;
	direction->length -= size;
	if (direction->length == 0)
		direction->first = 0;
	return size;
}

/* --- the peer --- */

size_t fake_peer_write(int socket, const char *data, size_t length)
{
	return put(&connection_of(socket)->to_us, data, length);
}

size_t fake_peer_read(int socket, char *data, size_t size)
{
	return get(&connection_of(socket)->to_peer, data, size);
}

size_t fake_peer_room(int socket)
{
	const struct connection *connection = connection_of(socket);

	return connection->is_shut || connection->is_closed
		       ? 0
		       : connection->to_us.room - connection->to_us.length;
}

size_t fake_peer_unread(int socket)
{
	return connection_of(socket)->to_peer.length;
}

void fake_peer_shut(int socket)
{
	connection_of(socket)->is_shut = true;
}

void fake_peer_close(int socket)
{
	connection_of(socket)->is_shut = true;
	connection_of(socket)->is_gone = true;
}

bool fake_is_closed(int socket)
{
	return connection_of(socket)->is_closed;
}

bool fake_is_polite(int socket)
{
	return connection_of(socket)->is_polite;
}

/* --- os/socket/socket.h --- */

int os_socket_wait(int socket, bool for_writing, int64_t timeout_us)
{
	(void)socket;
	assert_false(for_writing);
	fake_pass(timeout_us);
	return -ETIMEDOUT;
}

int os_socket_local_address(int socket, union os_socket_address *out)
{
	(void)socket;
	(void)out;
	return -ENOTSOCK;
}

ssize_t os_socket_read(int socket, void *data, size_t size)
{
	struct connection *connection = connection_of(socket);

	assert_false(connection->is_closed);
	if (connection->to_us.length == 0)
		return connection->is_shut ? 0 : -EAGAIN;
	return (ssize_t)get(&connection->to_us, data, size);
}

ssize_t os_socket_write(int socket, const void *data, size_t size)
{
	struct connection *connection = connection_of(socket);
	size_t count;

	assert_false(connection->is_closed);
	connection->is_held = false;
	if (connection->is_gone)
		return -EPIPE;
	count = put(&connection->to_peer, data, size);
	return count > 0 ? (ssize_t)count : -EAGAIN;
}

ssize_t os_socket_write_part(int socket, const void *data, size_t size)
{
	ssize_t count = os_socket_write(socket, data, size);

	connection_of(socket)->is_held = count > 0;
	return count;
}

void os_socket_close(int socket)
{
	assert_false(connection_of(socket)->is_closed);
	connection_of(socket)->is_closed = true;
}

void os_socket_close_politely(int socket)
{
	connection_of(socket)->is_polite = true;
	os_socket_close(socket);
}

/* --- os/loop.h --- */

struct os_watch *os_watch_new(struct os_loop *loop, int descriptor, unsigned events,
			      void (*call)(void *context, unsigned events), void *context)
{
	struct os_watch *watch = memory_alloc_zero(1, sizeof *watch);

	(void)loop;
	*watch = (struct os_watch){descriptor, events, call, context, NULL};
	if (descriptor < FIRST_SOCKET) {
		watch->next = world.files;
		world.files = watch;
		return watch;
	}
	assert_null(connection_of(descriptor)->watch);
	connection_of(descriptor)->watch = watch;
	return watch;
}

void os_watch_set(struct os_watch *watch, unsigned events)
{
	/* who waits for the peer has nothing on its way that the peer waits for */
	if (watch->descriptor >= FIRST_SOCKET && (events & OS_WATCH_WRITE) == 0)
		assert_false(connection_of(watch->descriptor)->is_held);
	watch->events = events;
}

void os_watch_free(struct os_watch *watch)
{
	struct os_watch **place = &world.files;

	if (watch == NULL)
		return;
	if (watch->descriptor >= FIRST_SOCKET) {
		connection_of(watch->descriptor)->watch = NULL;
	} else {
		while (*place != watch)
			place = &(*place)->next;
		*place = watch->next;
	}
	free(watch);
}

bool fake_play_file(void)
{
	for (struct os_watch *watch = world.files; watch != NULL; watch = watch->next) {
		struct pollfd file = {.fd = watch->descriptor};
		unsigned events = OS_WATCH_NONE;

		if ((watch->events & OS_WATCH_READ) != 0)
			file.events |= POLLIN;
		if ((watch->events & OS_WATCH_WRITE) != 0)
			file.events |= POLLOUT;
		if (file.events == 0 || poll(&file, 1, 0) < 1)
			continue;
		if ((file.revents & ~POLLOUT) != 0)
			events |= watch->events & OS_WATCH_READ;
		if ((file.revents & ~POLLIN) != 0)
			events |= watch->events & OS_WATCH_WRITE;
		watch->call(watch->context, events);
		return true;
	}
	return false;
}

/* An error or hang-up shows as both. */
static unsigned ready_events(const struct connection *connection)
{
	const struct direction *out = &connection->to_peer;
	unsigned events = OS_WATCH_NONE;

	if (connection->watch == NULL)
		return events;
	if (connection->to_us.length > 0 || connection->is_shut)
		events |= OS_WATCH_READ;
	if (out->length < out->room || connection->is_gone)
		events |= OS_WATCH_WRITE;
	return events & connection->watch->events;
}

bool fake_watch_is_ready(int socket)
{
	return ready_events(connection_of(socket)) != OS_WATCH_NONE;
}

void fake_play_watch(int socket)
{
	struct os_watch *watch = connection_of(socket)->watch;

	watch->call(watch->context, ready_events(connection_of(socket)));
}

unsigned fake_watched(int socket)
{
	const struct os_watch *watch = connection_of(socket)->watch;

	return watch != NULL ? watch->events : OS_WATCH_NONE;
}

struct os_timer *os_timer_new(struct os_loop *loop, void (*call)(void *context), void *context)
{
	struct os_timer *timer = memory_alloc_zero(1, sizeof *timer);

	(void)loop;
	*timer = (struct os_timer){0, call, context, world.timers};
	world.timers = timer;
	return timer;
}

void os_timer_start(struct os_timer *timer, int64_t delay_us)
{
	timer->at_us = world.now_us + (delay_us > 0 ? delay_us : 0);
}

void os_timer_stop(struct os_timer *timer)
{
	timer->at_us = 0;
}

bool os_timer_is_running(const struct os_timer *timer)
{
	return timer->at_us > 0;
}

void os_timer_free(struct os_timer *timer)
{
	struct os_timer **place = &world.timers;

	if (timer == NULL)
		return;
	while (*place != timer)
		place = &(*place)->next;
	*place = timer->next;
	free(timer);
}

/* A worker's: none has one here. */
void os_wakeup_send(struct os_wakeup *wakeup)
{
	(void)wakeup;
	fail_msg("nobody is there to be woken");
}

unsigned fake_timers(void)
{
	unsigned count = 0;

	for (const struct os_timer *timer = world.timers; timer != NULL; timer = timer->next)
		count += os_timer_is_running(timer);
	return count;
}

static struct os_timer *first_timer(void)
{
	struct os_timer *first = NULL;

	for (struct os_timer *timer = world.timers; timer != NULL; timer = timer->next)
		if (os_timer_is_running(timer) && (first == NULL || timer->at_us < first->at_us))
			first = timer;
	return first;
}

void fake_play_timer(void)
{
	struct os_timer *first = first_timer();

	assert_non_null(first);
	if (first->at_us > world.now_us)
		world.now_us = first->at_us;
	first->at_us = 0;
	first->call(first->context);
}

void fake_advance(int64_t us)
{
	int64_t until_us = world.now_us + us;

	while (first_timer() != NULL && first_timer()->at_us <= until_us)
		fake_play_timer();
	if (world.now_us < until_us)
		world.now_us = until_us;
}

void fake_pass(int64_t us)
{
	world.now_us += us;
}

void fake_set_wall(int64_t by_us)
{
	world.set_us += by_us;
}

int64_t os_clock_monotonic_us(void)
{
	return world.now_us;
}

int64_t os_clock_boot_us(void)
{
	return world.now_us;
}

int64_t os_clock_wall_us(void)
{
	return INT64_C(1700000000000000) + world.now_us + world.set_us;
}
