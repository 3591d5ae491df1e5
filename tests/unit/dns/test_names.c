// SPDX-License-Identifier: ISC
/* Both sides of dns/names/protocol.h on a real loop; the search is played here: the last byte of an
 * address says what comes of it. And what either side makes of the other when that was taken over.
 */
#include "base/panic.h"
#include "dns/names/client.h"
#include "dns/names/protocol.h"
#include "dns/names/server.h"
#include "dns/reverse.h"
#include "ipc/channel.h"
#include "ipc/listener.h"
#include "ipc/pack.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include "scratch.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HAS_NAME = 1, HAS_NONE, FAILS, NEVER };

struct dns_reverse {
	struct in6_addr address;
	struct os_timer *timer;
	void (*done)(void *context, const struct dns_reverse_answer *answer);
	void *context;
};

static struct {
	struct os_loop *loop;
	char folder[SCRATCH_SIZE];
	char path[SCRATCH_SIZE + 16];
	int listening;
	struct names_server *server;
	struct names *names;
	unsigned searches; /* begun */
	unsigned open;
	struct os_timer *enough;
	uid_t user; /* of the next connections */
	bool is_running;
	/* of a "names" that was taken over */
	struct ipc_listener *listener;
	struct ipc_channel *channel;
	struct str says;
	unsigned ended; /* connections to it */
} world;

uid_t __wrap_os_socket_peer_user(int socket);
uid_t __wrap_os_socket_peer_user(int socket)
{
	(void)socket;
	return world.user;
}

/* --- the search --- */

static void on_found(void *context)
{
	struct dns_reverse *reverse = context;
	bool is_named = reverse->address.s6_addr[15] == HAS_NAME;
	struct dns_reverse_answer answer = {is_named ? "mx.x" : "",
					    reverse->address.s6_addr[15] == FAILS, 600};

	reverse->done(reverse->context, &answer);
}

struct dns_reverse *
dns_reverse_new(struct dns_resolver *resolver, const struct in6_addr *address,
		void (*done)(void *context, const struct dns_reverse_answer *answer), void *context)
{
	struct dns_reverse *reverse = memory_alloc_zero(1, sizeof *reverse);

	(void)resolver;
	*reverse = (struct dns_reverse){*address, NULL, done, context};
	reverse->timer = os_timer_new(world.loop, on_found, reverse);
	if (address->s6_addr[15] != NEVER)
		os_timer_start(reverse->timer, 0);
	world.searches++;
	world.open++;
	return reverse;
}

void dns_reverse_free(struct dns_reverse *reverse)
{
	if (reverse == NULL)
		return;
	os_timer_free(reverse->timer);
	free(reverse);
	world.open--;
}

/* --- the scene --- */

struct asked {
	struct names_request request;
	unsigned done;
	char name[DNS_NAME_SIZE];
	bool is_temporary;
};

static void on_name(void *context, const char *name, bool is_temporary)
{
	struct asked *asked = context;

	asked->done++;
	snprintf(asked->name, sizeof asked->name, "%s", name);
	asked->is_temporary = is_temporary;
	if (world.is_running)
		os_loop_stop(world.loop);
}

static void on_enough(void *context)
{
	(void)context;
	os_loop_stop(world.loop);
}

static void run_for(int64_t time_us)
{
	os_timer_start(world.enough, time_us);
	world.is_running = true;
	os_loop_run(world.loop);
	world.is_running = false;
	os_timer_stop(world.enough);
}

static struct in6_addr address_of(unsigned char network, unsigned char last)
{
	return (struct in6_addr){.s6_addr = {[10] = 0xff, 0xff, 10, 0, network, last}};
}

static void ask(struct asked *asked, unsigned char network, unsigned char last)
{
	struct in6_addr address = address_of(network, last);

	*asked = (struct asked){.request = {.done = on_name, .context = asked}};
	names_ask(world.names, &address, &asked->request);
}

static void wait_for(struct asked *asked)
{
	for (unsigned i = 0; i < 100 && asked->done == 0; i++)
		run_for(SECOND_US / 10);
	assert_int_equal(asked->done, 1);
}

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof world);
	world.user = getuid();
	assert_int_equal(scratch_make(world.folder), 0);
	snprintf(world.path, sizeof world.path, "%s/names", world.folder);
	world.loop = os_loop_new();
	world.enough = os_timer_new(world.loop, on_enough, NULL);
	world.listening = os_socket_listen_unix(world.path, SOCK_SEQPACKET, 0600);
	assert_true(world.listening >= 0);
	return 0;
}

static void on_connected(void *context)
{
	(void)context;
	os_loop_stop(world.loop);
}

static void begin(void)
{
	world.server = names_server_new(world.loop, world.listening, NULL, getuid());
	world.names = names_new(world.loop, world.path);
	names_when_connected(world.names, on_connected, NULL);
	run_for(10 * SECOND_US);
}

static int tear_down(void **state)
{
	(void)state;
	names_free(world.names);
	names_server_free(world.server);
	ipc_channel_close(world.channel);
	ipc_listener_free(world.listener);
	assert_int_equal(world.open, 0);
	os_timer_free(world.enough);
	os_socket_close(world.listening);
	os_loop_free(world.loop);
	return scratch_remove(world.folder);
}

/* --- tests --- */

static void names_are_found_and_kept(void **state)
{
	struct asked asked;
	struct asked other;

	(void)state;
	begin();
	ask(&asked, 0, HAS_NAME);
	ask(&other, 0, HAS_NAME); /* shares the question */
	assert_true(names_request_is_open(&asked.request));
	wait_for(&asked);
	wait_for(&other);
	assert_string_equal(asked.name, "mx.x");
	assert_string_equal(other.name, "mx.x");
	assert_int_equal(world.searches, 1);
	ask(&asked, 0, HAS_NAME);
	assert_int_equal(asked.done, 1); /* at once */
	assert_string_equal(asked.name, "mx.x");
	ask(&asked, 0, HAS_NONE);
	wait_for(&asked);
	assert_string_equal(asked.name, "");
	assert_false(asked.is_temporary);
	ask(&asked, 0, FAILS);
	wait_for(&asked);
	assert_true(asked.is_temporary);
	ask(&asked, 0, FAILS);
	assert_int_equal(asked.done, 1);
	assert_int_equal(world.searches, 3);
}

static void who_cancels_hears_nothing(void **state)
{
	struct asked asked;
	struct asked other;

	(void)state;
	begin();
	ask(&asked, 0, HAS_NAME);
	ask(&other, 0, HAS_NAME);
	names_request_cancel(&asked.request);
	names_request_cancel(&asked.request);
	assert_false(names_request_is_open(&asked.request));
	wait_for(&other);
	assert_int_equal(asked.done, 0);
}

static void nobody_waits_for_long(void **state)
{
	int64_t begin_us;
	struct asked asked;

	(void)state;
	begin();
	begin_us = os_clock_monotonic_us();
	ask(&asked, 0, NEVER);
	wait_for(&asked);
	assert_true(asked.is_temporary);
	assert_true(os_clock_monotonic_us() - begin_us >= NAMES_PATIENCE_US);
	assert_true(names_are_slow(world.names));
	ask(&asked, 0, NEVER);
	assert_int_equal(asked.done, 1); /* who comes to one that is late does not wait */
	ask(&asked, 0, HAS_NAME);
	wait_for(&asked);
	assert_string_equal(asked.name, "mx.x");
	assert_false(names_are_slow(world.names));
}

static void questions_are_bounded(void **state)
{
	struct asked *many = memory_alloc_zero(NAMES_OPEN_MAX + 2, sizeof *many);

	(void)state;
	begin();
	for (unsigned i = 0; i < NAMES_OPEN_MAX + 2; i++) {
		struct in6_addr address = address_of(0, NEVER);

		address.s6_addr[0] = (unsigned char)(i >> 8);
		address.s6_addr[1] = (unsigned char)i;
		many[i] = (struct asked){.request = {.done = on_name, .context = &many[i]}};
		names_ask(world.names, &address, &many[i].request);
		assert_int_equal(many[i].done, i >= NAMES_OPEN_MAX);
	}
	run_for(SECOND_US / 2);
	assert_int_equal(world.open, NAMES_OPEN_MAX);
	for (unsigned i = 0; i < NAMES_OPEN_MAX + 2; i++)
		names_request_cancel(&many[i].request);
	free(many);
}

static void on_said(void *context, struct ipc_channel *channel, struct ipc_message *message)
{
	(void)context;
	(void)channel;
	(void)message;
}

static void on_lost(void *context, struct ipc_channel *channel)
{
	(void)context;
	(void)channel;
}

/* Connects as USER, and asks COUNT questions to which there is no answer. */
static struct ipc_channel *flood(uid_t user, unsigned count)
{
	static const struct ipc_channel_handler handler = {on_said, on_lost};
	struct in6_addr address = address_of(0, NEVER);
	struct ipc_channel *channel = ipc_channel_new(
		world.loop, os_socket_connect_unix(world.path, SOCK_SEQPACKET), &handler, NULL);
	struct buffer body = {0};

	world.user = user;
	pack_str(&body, str_slice((const char *)address.s6_addr, NAMES_ADDRESS_SIZE));
	for (unsigned i = 0; i < count; i++)
		ipc_channel_send(channel, NAMES_ASK, 0, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
	for (unsigned i = 0; i < 50; i++)
		run_for(1000);
	return channel;
}

/* ... and of all connections of a user, who does not keep others from theirs. */
static void questions_of_users_are_bounded(void **state)
{
	enum { ALICE = 70001, BOB, CONNECTIONS = 6 };
	static const uid_t users[] = {ALICE, BOB};
	struct ipc_channel *channels[CONNECTIONS];
	struct ipc_channel *others;

	(void)state;
	world.server = names_server_new(world.loop, world.listening, NULL, ALICE);
	names_server_set_users(world.server, users, COUNT_OF(users));
	for (size_t i = 0; i < CONNECTIONS; i++)
		channels[i] = flood(ALICE, NAMES_OPEN_MAX);
	assert_int_equal(world.open, 4 * NAMES_OPEN_MAX);
	others = flood(BOB, 10);
	assert_int_equal(world.open, 4 * NAMES_OPEN_MAX + 10);
	for (size_t i = 0; i < CONNECTIONS; i++)
		ipc_channel_close(channels[i]);
	ipc_channel_close(others);
}

static void who_is_lost_is_asked_again(void **state)
{
	struct asked lost;
	struct asked asked;

	(void)state;
	begin();
	ask(&lost, 0, NEVER);
	run_for(SECOND_US / 10);
	names_server_free(world.server);
	world.server = NULL;
	ask(&asked, 0, HAS_NAME);
	run_for(SECOND_US / 10);
	assert_int_equal(asked.done, 0); /* it waits for a connection */
	world.server = names_server_new(world.loop, world.listening, NULL, getuid());
	wait_for(&asked);
	assert_string_equal(asked.name, "mx.x");
	wait_for(&lost);
	assert_true(lost.is_temporary);
	assert_int_equal(world.searches, 3);
}

static void a_stranger_may_not_ask(void **state)
{
	struct asked asked;

	(void)state;
	world.server = names_server_new(world.loop, world.listening, NULL, getuid() + 1);
	world.names = names_new(world.loop, world.path);
	for (unsigned i = 0; i < 5; i++) {
		run_for(SECOND_US / 20);
		ask(&asked, 0, HAS_NAME);
		if (asked.done == 0)
			wait_for(&asked);
		assert_true(asked.is_temporary);
	}
	assert_int_equal(world.searches, 0);
}

/* --- a "names" that was taken over --- */

static void on_question(void *context, struct ipc_channel *channel, struct ipc_message *message)
{
	(void)context;
	ipc_channel_send(channel, NAMES_ANSWER, message->tag, world.says, NULL, 0);
}

static void on_gone(void *context, struct ipc_channel *channel)
{
	(void)context;
	ipc_channel_close(channel);
	world.channel = NULL;
	world.ended++;
	os_loop_stop(world.loop);
}

static void on_connection(void *context, int socket)
{
	static const struct ipc_channel_handler handler = {on_question, on_gone};

	(void)context;
	ipc_channel_close(world.channel);
	world.channel = ipc_channel_new(world.loop, socket, &handler, NULL);
}

static void what_is_no_answer_ends_the_connection(void **state)
{
	struct in6_addr address;
	struct buffer whole = {0};
	static const char *const names[] = {"mx.x\r\nEvil: yes", "MX.x", "a b", "x)", "..", "mx.x"};

	(void)state;
	world.listener = ipc_listener_new(world.loop, world.listening, on_connection, NULL);
	for (size_t i = 0; i < 2 * COUNT_OF(names); i++) {
		bool is_good = i == COUNT_OF(names) - 1;
		struct asked asked;

		address = address_of((unsigned char)(is_good ? 0 : i + 1), HAS_NAME);
		buffer_consume(&whole, whole.length);
		pack_str(&whole, str_slice((const char *)address.s6_addr, 16));
		pack_u32(&whole, 0);
		pack_u32(&whole, UINT32_MAX);
		pack_str(&whole, str_from(names[i % COUNT_OF(names)]));
		world.says = buffer_view(&whole);
		if (i >= COUNT_OF(names)) /* cut short */
			world.says.length = i - COUNT_OF(names);
		world.names = names_new(world.loop, world.path);
		ask(&asked, address.s6_addr[14], HAS_NAME);
		world.ended = 0;
		run_for(10 * SECOND_US);
		assert_int_equal(asked.done, is_good);
		assert_int_equal(world.ended, !is_good);
		if (is_good)
			assert_string_equal(asked.name, "mx.x");
		names_request_cancel(&asked.request);
		names_free(world.names);
		run_for(SECOND_US / 50); /* then this connection has ended, too */
	}
	world.names = NULL;
	buffer_clear(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_are_found_and_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_cancels_hears_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nobody_waits_for_long, set_up, tear_down),
		cmocka_unit_test_setup_teardown(questions_are_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(questions_of_users_are_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_is_lost_is_asked_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_stranger_may_not_ask, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_answer_ends_the_connection, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
