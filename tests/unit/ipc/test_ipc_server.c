// SPDX-License-Identifier: ISC
/* Who may connect to a server of messages, how often, and what ends a connection. Which user a
 * connection is of is this test's; all else is real. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "ipc/server.h"
#include "os/process/process.h"
#include "os/socket/socket.h"
#include "scratch.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ALICE = 70001, BOB, MALLORY, CLIENTS_MAX = 3, BACKLOG_MAX = 20000, PEERS = 64 };
enum { GOOD = 1, BAD, ECHO, NEWS };

struct served {
	bool is_connected;
	struct ipc_channel *channel;
	unsigned messages;
	unsigned lost;
};

struct peer {
	struct ipc_channel *channel; /* NULL: lost */
	unsigned received;
	bool is_lost;
};

static struct {
	struct os_loop *loop;
	struct os_timer *enough;
	char folder[SCRATCH_SIZE];
	char path[SCRATCH_SIZE + 16];
	int listening;
	struct ipc_server *server;
	uid_t user; /* of the next connections */
	struct served served[PEERS];
	size_t served_count;
	struct peer peers[PEERS];
	size_t peer_count;
} world;

uid_t __wrap_os_socket_peer_user(int socket);
uid_t __wrap_os_socket_peer_user(int socket)
{
	(void)socket;
	return world.user;
}

/* --- the server's side --- */

static void *on_connected(void *context, struct ipc_channel *channel)
{
	struct served *served = &world.served[world.served_count++];

	assert_ptr_equal(context, &world);
	served->is_connected = true;
	served->channel = channel;
	ipc_channel_send(channel, NEWS, 0, STR("hello"), NULL, 0);
	return served;
}

static bool on_question(void *client, struct ipc_channel *channel,
			const struct ipc_message *message)
{
	struct served *served = client;

	served->messages++;
	if (message->type == ECHO)
		ipc_channel_send(channel, ECHO, message->tag, message->body, NULL, 0);
	return message->type != BAD;
}

static void on_served_lost(void *client)
{
	struct served *served = client;

	served->lost++;
}

static const struct ipc_server_kind kind = {CLIENTS_MAX, BACKLOG_MAX, on_connected, on_question,
					    on_served_lost};

/* --- the clients' --- */

static void on_answer(void *context, struct ipc_channel *channel, struct ipc_message *message)
{
	struct peer *peer = context;

	(void)channel;
	(void)message;
	peer->received++;
}

static void on_peer_lost(void *context, struct ipc_channel *channel)
{
	struct peer *peer = context;

	ipc_channel_close(channel);
	peer->channel = NULL;
	peer->is_lost = true;
}

static struct peer *connect_as(uid_t user)
{
	static const struct ipc_channel_handler handler = {on_answer, on_peer_lost};
	struct peer *peer = &world.peers[world.peer_count++];
	int socket = os_socket_connect_unix(world.path, SOCK_SEQPACKET);

	assert_true(socket >= 0);
	world.user = user;
	peer->channel = ipc_channel_new(world.loop, socket, &handler, peer);
	return peer;
}

static void on_enough(void *context)
{
	(void)context;
	os_loop_stop(world.loop);
}

/* All that the sockets hold is handled in turns of the loop that do not wait; the timer only ends
 * the last one. */
static void settle(void)
{
	for (unsigned i = 0; i < 10; i++) {
		os_timer_start(world.enough, 0);
		os_loop_run(world.loop);
	}
}

static struct peer *settle_as(uid_t user)
{
	struct peer *peer = connect_as(user);

	settle();
	return peer;
}

/* --- the scene --- */

static int set_up(void **state)
{
	static const uid_t users[] = {ALICE, BOB};

	(void)state;
	memset(&world, 0, sizeof world);
	assert_int_equal(scratch_make(world.folder), 0);
	snprintf(world.path, sizeof world.path, "%s/server", world.folder);
	world.loop = os_loop_new();
	world.enough = os_timer_new(world.loop, on_enough, NULL);
	world.listening = os_socket_listen_unix(world.path, SOCK_SEQPACKET, 0600);
	assert_true(world.listening >= 0);
	world.server = ipc_server_new(world.loop, world.listening, &kind, &world);
	ipc_server_set_users(world.server, users, COUNT_OF(users));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ipc_server_free(world.server);
	for (size_t i = 0; i < world.peer_count; i++)
		ipc_channel_close(world.peers[i].channel);
	os_socket_close(world.listening);
	os_timer_free(world.enough);
	os_loop_free(world.loop);
	scratch_remove(world.folder);
	return 0;
}

/* --- tests --- */

static void those_allowed_are_served(void **state)
{
	struct peer *alice = settle_as(ALICE);
	struct peer *bob = settle_as(BOB);

	(void)state;
	ipc_channel_send(alice->channel, ECHO, 7, STR("x"), NULL, 0);
	settle();
	assert_int_equal(alice->received, 2);
	assert_int_equal(bob->received, 1);
	assert_int_equal(world.served[0].messages, 1);
	assert_int_equal(world.served[1].messages, 0);
}

static void others_are_not(void **state)
{
	static const uid_t only_bob[] = {BOB, (uid_t)-1};
	struct peer *alice = settle_as(ALICE);
	struct peer *late;

	(void)state;
	assert_true(settle_as(MALLORY)->is_lost);
	assert_int_equal(world.served_count, 1);
	ipc_server_set_users(world.server, only_bob, COUNT_OF(only_bob));
	late = settle_as(ALICE);
	assert_true(late->is_lost);
	assert_true(settle_as((uid_t)-1)->is_lost); /* the kernel does not say who it is */
	assert_false(settle_as(BOB)->is_lost);
	assert_false(alice->is_lost); /* was there before */
	assert_int_equal(world.served_count, 2);
}

static void one_user_does_not_shut_out_another(void **state)
{
	struct peer *first = settle_as(ALICE);

	(void)state;
	for (unsigned i = 1; i < CLIENTS_MAX; i++)
		assert_false(settle_as(ALICE)->is_lost);
	assert_true(settle_as(ALICE)->is_lost);
	for (unsigned i = 0; i < CLIENTS_MAX; i++)
		assert_false(settle_as(BOB)->is_lost);
	assert_true(settle_as(BOB)->is_lost);
	ipc_channel_close(first->channel);
	first->channel = NULL;
	settle();
	assert_int_equal(world.served[0].lost, 1);
	assert_false(settle_as(ALICE)->is_lost);
	assert_true(settle_as(ALICE)->is_lost);
}

static void what_is_malformed_ends_the_connection(void **state)
{
	struct peer *bad = settle_as(ALICE);
	struct peer *good = settle_as(ALICE);

	(void)state;
	ipc_channel_send(bad->channel, BAD, 0, STR(""), NULL, 0);
	ipc_channel_send(bad->channel, GOOD, 0, STR(""), NULL, 0);
	settle();
	assert_true(bad->is_lost);
	assert_int_equal(world.served[0].messages, 1);
	assert_int_equal(world.served[0].lost, 1);
	assert_false(good->is_lost);
	assert_int_equal(world.served[1].lost, 0);
}

static void descriptors_end_the_connection(void **state)
{
	struct peer *peer = settle_as(ALICE);
	int file = os_process_share_text(STR("x"));

	(void)state;
	assert_true(file >= 0);
	ipc_channel_send(peer->channel, GOOD, 0, STR(""), &file, 1);
	close(file);
	settle();
	assert_true(peer->is_lost);
	assert_int_equal(world.served[0].messages, 0);
}

/* Fills what the kernel holds for PEER, who does not read, and as much again. */
static void let_answers_pile_up(struct peer *peer)
{
	static char text[IPC_BODY_MAX / 2];

	ipc_channel_pause(peer->channel, true);
	for (unsigned i = 0; i < 200; i++)
		ipc_channel_send(peer->channel, ECHO, i, str_slice(text, sizeof text), NULL, 0);
	for (unsigned i = 0; i < 50; i++)
		settle();
	if (peer->channel != NULL)
		ipc_channel_pause(peer->channel, false);
}

static void who_does_not_read_is_disconnected(void **state)
{
	struct peer *peer = settle_as(ALICE);

	(void)state;
	let_answers_pile_up(peer);
	settle();
	assert_int_equal(world.served[0].lost, 1);
	assert_in_range(world.served[0].messages, 1, 199);
}

/* Asks until three quarters of what one connection may leave wait for PEER, who does not read. */
static void leave_a_little(struct peer *peer, const struct served *served)
{
	static char text[1000];

	ipc_channel_pause(peer->channel, true);
	while (served->lost == 0 && ipc_channel_backlog(served->channel) < BACKLOG_MAX * 3 / 4) {
		ipc_channel_send(peer->channel, ECHO, 0, str_slice(text, sizeof text), NULL, 0);
		settle();
	}
}

/* What one connection may leave unread is not left by many of one user. */
static void who_reads_nothing_has_little_by_many_connections(void **state)
{
	static const struct ipc_server_kind generous = {PEERS, BACKLOG_MAX, on_connected,
							on_question, on_served_lost};
	static const uid_t users[] = {ALICE, BOB};
	struct peer *reader;
	size_t last = 0;

	(void)state;
	ipc_server_free(world.server);
	world.server = ipc_server_new(world.loop, world.listening, &generous, &world);
	ipc_server_set_users(world.server, users, COUNT_OF(users));
	reader = settle_as(ALICE);
	do
		leave_a_little(settle_as(ALICE), &world.served[++last]);
	while (world.served[last].lost == 0);
	assert_in_range(last, IPC_SERVER_BEHIND_MAX + 1, IPC_SERVER_BEHIND_MAX * 4 / 3 + 1);
	for (size_t i = 0; i < last; i++)
		assert_int_equal(world.served[i].lost, 0);
	assert_false(reader->is_lost);
	leave_a_little(settle_as(BOB), &world.served[last + 1]);
	assert_int_equal(world.served[last + 1].lost, 0);
}

/* It is memory that counts, not only what is in it. */
static void small_answers_are_no_way_round_it(void **state)
{
	struct peer *peer = settle_as(ALICE);
	size_t most = 0;

	(void)state;
	ipc_channel_pause(peer->channel, true);
	for (unsigned i = 0; i < 20000 && world.served[0].lost == 0; i++) {
		size_t backlog = ipc_channel_backlog(world.served[0].channel);

		if (backlog == 0)
			most = world.served[0].messages;
		ipc_channel_send(peer->channel, ECHO, i, STR(""), NULL, 0);
		settle();
	}
	assert_int_equal(world.served[0].lost, 1);
	assert_in_range(world.served[0].messages - most, 1, BACKLOG_MAX / 32);
}

static void the_bound_can_be_raised(void **state)
{
	struct peer *peer = settle_as(ALICE);

	(void)state;
	ipc_server_set_backlog_max(world.server, (size_t)100 << 20);
	let_answers_pile_up(peer);
	for (unsigned i = 0; i < 50; i++)
		settle();
	assert_int_equal(world.served[0].lost, 0);
	assert_int_equal(peer->received, 201);
}

static char news[IPC_BODY_MAX];

static void tell(void *client, struct ipc_channel *channel)
{
	(void)client;
	ipc_channel_send(channel, NEWS, 0, str_slice(news, sizeof news), NULL, 0);
}

/* ... although it has asked for nothing. */
static void news_reach_those_who_read(void **state)
{
	struct peer *reader = settle_as(ALICE);
	struct peer *sleeper = settle_as(BOB);

	(void)state;
	ipc_channel_pause(sleeper->channel, true);
	for (unsigned i = 0; i < 50; i++) {
		ipc_server_each(world.server, tell);
		settle();
	}
	assert_int_equal(reader->received, 51);
	assert_int_equal(world.served[0].lost, 0);
	assert_int_equal(world.served[1].lost, 1);
}

static void the_end_of_the_server_ends_all(void **state)
{
	struct peer *alice = settle_as(ALICE);
	struct peer *bob = settle_as(BOB);

	(void)state;
	ipc_server_free(world.server);
	world.server = NULL;
	settle();
	assert_true(alice->is_lost && bob->is_lost);
	assert_int_equal(world.served[0].lost, 1);
	assert_int_equal(world.served[1].lost, 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(those_allowed_are_served),
		TEST(others_are_not),
		TEST(one_user_does_not_shut_out_another),
		TEST(what_is_malformed_ends_the_connection),
		TEST(descriptors_end_the_connection),
		TEST(who_does_not_read_is_disconnected),
		TEST(who_reads_nothing_has_little_by_many_connections),
		TEST(small_answers_are_no_way_round_it),
		TEST(the_bound_can_be_raised),
		TEST(news_reach_those_who_read),
		TEST(the_end_of_the_server_ends_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
