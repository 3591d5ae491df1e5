// SPDX-License-Identifier: ISC
/* Whether any name server answers: what each may do, and each test after each other one by the same
 * object, as if it were the first; how many servers are asked. */
#include "base/buffer.h"
#include "base/timestamp.h"
#include "dns/reach.h"
#include "fake_loop.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include "test.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HEADER = 12, QUERY = 17, ROOM = 100, SERVERS_ASKED_MAX = 8, SOCKETS_MAX = 64 };

static struct {
	const char *configuration; /* /etc/resolv.conf; NULL: it cannot be read */
	struct dns_reach *reach;
	int sockets[SOCKETS_MAX]; /* those made in this life, -1: one that cannot be had */
	size_t socket_count;
	bool is_refused[SOCKETS_MAX];
	char unreachable; /* '1': the first server's socket cannot be had */
	int64_t begun_us;
	struct buffer *said; /* what comes of a question */
	bool asks_again;     /* whoever is answered */
} world;

int __wrap_os_file_open(int directory, const char *path, unsigned flags);
int __wrap_os_file_open(int directory, const char *path, unsigned flags)
{
	int file;

	(void)directory, (void)flags;
	assert_string_equal(path, "/etc/resolv.conf");
	if (world.configuration == NULL)
		return -ENOENT;
	file = memfd_create("resolv.conf", MFD_CLOEXEC);
	assert_int_equal(write(file, world.configuration, strlen(world.configuration)),
			 strlen(world.configuration));
	return file;
}

int os_socket_connect_udp(const union os_socket_address *address)
{
	bool is_there = world.unreachable != '1' + (int)world.socket_count;

	assert_int_equal(ntohs(address->v4.sin_port), 53);
	assert_true(world.socket_count < SOCKETS_MAX);
	world.sockets[world.socket_count] = is_there ? fake_connect(ROOM, ROOM) : -1;
	return is_there ? world.sockets[world.socket_count++]
			: (world.socket_count++, -ENETUNREACH);
}

/* A port that nobody has is told as an error of the socket. */
ssize_t __real_os_socket_read(int socket, void *data, size_t size);
ssize_t __wrap_os_socket_read(int socket, void *data, size_t size);
ssize_t __wrap_os_socket_read(int socket, void *data, size_t size)
{
	for (size_t i = 0; i < world.socket_count; i++)
		if (world.sockets[i] == socket && world.is_refused[i])
			return -ECONNREFUSED;
	return __real_os_socket_read(socket, data, size);
}

static void on_reached(void *context, bool is_reached)
{
	(void)context;
	buffer_append_format(world.said, "%s after %lld ms\n",
			     is_reached ? "reached" : "not reached",
			     (long long)(os_clock_monotonic_us() - world.begun_us) / 1000);
	if (!world.asks_again)
		return;
	world.asks_again = false;
	(void)dns_reach_ask(world.reach, on_reached, NULL);
}

/* --- servers --- */

static void answer(size_t server, bool is_right)
{
	unsigned char query[QUERY];

	assert_int_equal(fake_peer_read(world.sockets[server], (char *)query, sizeof query), QUERY);
	query[0] ^= !is_right;
	query[2] = 0x80;
	assert_int_equal(fake_peer_write(world.sockets[server], (char *)query, HEADER), HEADER);
	fake_play_watch(world.sockets[server]);
}

static void refuse(size_t server)
{
	world.is_refused[server] = true;
	fake_peer_close(world.sockets[server]);
	fake_play_watch(world.sockets[server]);
}

/* Three servers, one after the other: "1a" answers, "1w" with another number, "1r" refuses; 'c'
 * cancels the first question, '+' asks another, '~' lets a second pass. */
static const struct life {
	const char *name, *events;
	char unreachable;
	bool asks_again;
} lives[] = {
	{"the first answers", "1a"},
	{"the last answers", "1r2r3a"},
	{"one of others answers", "1w~2a"},
	{"all refuse", "3r2r1r"},
	{"nobody answers", ""},
	{"only others' answers", "1w2w3w"},
	{"two ask", "+~2a"},
	{"one is cancelled", "+c1a"},
	{"nobody waits any more", "c2a"},
	{"nobody waits, and none answers", "c"},
	{"a server cannot be asked", "2r3a", .unreachable = '1'},
	{"who is answered asks again", "2a", .asks_again = true},
	{"who is not asks again", "1r2r3r", .asks_again = true},
};

static void play_event(char server, char event)
{
	size_t i = (size_t)(server - '1');

	if (event == 'r')
		refuse(i);
	else
		answer(i, event == 'a');
}

/* A test, and all that is answered by it, until it is forgotten. */
static void play_life(const struct life *life, struct buffer *said)
{
	struct dns_reach_question *first;
	size_t before = 0;

	world.socket_count = 0;
	memset(world.is_refused, 0, sizeof world.is_refused);
	world.unreachable = life->unreachable;
	world.asks_again = life->asks_again;
	world.said = said;
	world.begun_us = os_clock_monotonic_us();
	first = dns_reach_ask(world.reach, on_reached, NULL);
	before = world.socket_count;
	for (const char *event = life->events; *event != '\0'; event++) {
		if (*event == 'c')
			dns_reach_cancel(first);
		else if (*event == '+')
			(void)dns_reach_ask(world.reach, on_reached, NULL);
		else if (*event == '~')
			fake_advance(SECOND_US);
		else
			play_event(event[0], event[1]), event++;
	}
	for (unsigned i = 0; i < 20; i++)
		fake_advance(SECOND_US / 2);
	buffer_append_format(said, "%zu sockets, %zu timers\n", before, (size_t)fake_timers());
	for (size_t i = 0; i < world.socket_count; i++)
		assert_true(world.sockets[i] < 0 || fake_is_closed(world.sockets[i]));
}

static void each_after_each_other_one(void **state)
{
	(void)state;
	world.configuration = "# three\nnameserver 192.0.2.1\noptions x\n nameserver\t192.0.2.2 \n"
			      "nameserver nonsense\nnameserver 192.0.2.3\n";
	for (size_t i = 0; i < COUNT_OF(lives) * COUNT_OF(lives); i++) {
		const struct life *first = &lives[i / COUNT_OF(lives)];
		const struct life *second = &lives[i % COUNT_OF(lives)];
		struct buffer alone CLEANUP(buffer_clear) = {0};
		struct buffer before CLEANUP(buffer_clear) = {0};
		struct buffer after CLEANUP(buffer_clear) = {0};

		fake_begin(1);
		world.reach = dns_reach_new(NULL, "");
		play_life(second, &alone);
		dns_reach_free(world.reach);
		world.reach = dns_reach_new(NULL, "");
		play_life(first, &before);
		play_life(second, &after);
		dns_reach_free(world.reach);
		if (!str_equal(buffer_view(&alone), buffer_view(&after)))
			fail_msg("%s; then %s\n--- alone\n" STR_FORMAT "--- then\n" STR_FORMAT,
				 first->name, second->name, STR_ARGUMENTS(buffer_view(&alone)),
				 STR_ARGUMENTS(buffer_view(&after)));
	}
}

static void expect_said(const char *events, const char *said)
{
	const struct life life = {.events = events};
	struct buffer out CLEANUP(buffer_clear) = {0};

	fake_begin(1);
	world.reach = dns_reach_new(NULL, "");
	play_life(&life, &out);
	dns_reach_free(world.reach);
	assert_true(str_equal(buffer_view(&out), str_from(said)));
}

static void one_answer_is_enough(void **state)
{
	(void)state;
	world.configuration = "nameserver 192.0.2.1\nnameserver 192.0.2.2\n";
	expect_said("1a", "reached after 0 ms\n2 sockets, 0 timers\n");
	expect_said("1r2r", "not reached after 0 ms\n2 sockets, 0 timers\n");
	expect_said("1r", "not reached after 2000 ms\n2 sockets, 0 timers\n");
	expect_said("1w~2a", "reached after 1000 ms\n2 sockets, 0 timers\n");
	world.configuration = NULL; /* this machine */
	expect_said("1a", "reached after 0 ms\n1 sockets, 0 timers\n");
}

/* Later questions share it, until it is forgotten. */
static void an_answer_is_remembered(void **state)
{
	struct buffer said CLEANUP(buffer_clear) = {0};

	(void)state;
	world.configuration = "nameserver 192.0.2.1\n";
	fake_begin(1);
	world.reach = dns_reach_new(NULL, "");
	world.said = &said;
	world.socket_count = 0;
	world.unreachable = '\0';
	memset(world.is_refused, 0, sizeof world.is_refused);
	(void)dns_reach_ask(world.reach, on_reached, NULL);
	answer(0, true);
	fake_advance(0);
	fake_advance(5 * SECOND_US - 1);
	(void)dns_reach_ask(world.reach, on_reached, NULL);
	fake_advance(0);
	assert_int_equal(world.socket_count, 1);
	fake_advance(1);
	(void)dns_reach_ask(world.reach, on_reached, NULL);
	assert_int_equal(world.socket_count, 2);
	fake_advance(2 * SECOND_US);
	dns_reach_free(world.reach);
}

static void so_many_servers_are_asked(void **state)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer said CLEANUP(buffer_clear) = {0};

	(void)state;
	world.said = &said;
	for (size_t count = 1; count <= SERVERS_ASKED_MAX + 1; count++) {
		if (count > 1)
			buffer_truncate(&text, text.length - 1);
		buffer_append_format(&text, "nameserver 192.0.2.%zu\n%c", count, '\0');
		world.configuration = buffer_data(&text);
		world.socket_count = 0;
		fake_begin(1);
		world.reach = dns_reach_new(NULL, "");
		(void)dns_reach_ask(world.reach, on_reached, NULL);
		assert_int_equal(world.socket_count,
				 count < SERVERS_ASKED_MAX ? count : SERVERS_ASKED_MAX);
		fake_advance(2 * SECOND_US);
		dns_reach_free(world.reach);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_after_each_other_one),
		cmocka_unit_test(one_answer_is_enough),
		cmocka_unit_test(an_answer_is_remembered),
		cmocka_unit_test(so_many_servers_are_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
