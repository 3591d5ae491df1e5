// SPDX-License-Identifier: ISC
/* Connections of one client to one server, each after each other one: whatever has happened in the
 * one before, it must go as if it were the first. */
#include "base/timestamp.h"
#include "ipc/channel.h"
#include "ipc/server.h"
#include "os/process/process.h"
#include "os/socket/socket.h"
#include "pairs.h"
#include "scratch.h"
#include "test.h"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLIENTS_MAX = 2, BACKLOG_MAX = 1 << 20, LIVES = 9, PATIENCE_S = 10 };
enum { BAD = 1, ECHO, COUNT, MANY, NEWS };

static struct {
	struct os_loop *loop;
	struct os_timer *enough;
	char folder[SCRATCH_SIZE];
	char path[SCRATCH_SIZE + 16];
	int listening, file;
	struct ipc_server *server;
	struct ipc_client *client;
	unsigned connected, lost, heard;
	unsigned ended;     /* connections, for the server */
	bool refuses;       /* the client, the next message */
	struct buffer said; /* what the client has heard in this life */
} world;

/* --- the server --- */

static void *on_served(void *context, struct ipc_channel *channel)
{
	(void)context;
	ipc_channel_send(channel, NEWS, 7, STR("hello"), NULL, 0);
	return &world;
}

static bool on_question(void *client, struct ipc_channel *channel,
			const struct ipc_message *message)
{
	char text[20];

	(void)client;
	if (message->type == ECHO)
		ipc_channel_send(channel, ECHO, message->tag, message->body, message->descriptors,
				 message->descriptor_count);
	for (unsigned i = 0; message->type == MANY && i < 10; i++)
		ipc_channel_send(channel, MANY, i, message->body, NULL, 0);
	snprintf(text, sizeof text, "%zu", message->descriptor_count);
	if (message->type == COUNT)
		ipc_channel_send(channel, COUNT, message->tag, str_from(text), NULL, 0);
	return message->type != BAD;
}

static void on_served_lost(void *client)
{
	(void)client;
	world.ended++;
	os_loop_stop(world.loop);
}

/* --- the client --- */

static void on_connected(void *context)
{
	(void)context;
	world.connected++;
	os_loop_stop(world.loop);
}

static void on_message(void *context, struct ipc_message *message)
{
	(void)context;
	world.heard++;
	buffer_append_format(&world.said, "type %u, tag %u, %zu bytes, %zu descriptors\n",
			     (unsigned)message->type, (unsigned)message->tag, message->body.length,
			     message->descriptor_count);
	if (world.refuses)
		ipc_channel_refuse(ipc_client_channel(world.client), message->type);
	world.refuses = false;
	os_loop_stop(world.loop);
}

static void on_lost(void *context)
{
	(void)context;
	assert_null(ipc_client_channel(world.client));
	world.lost++;
	os_loop_stop(world.loop);
}

static void on_enough(void *context)
{
	(void)context;
	fail_msg("nothing happens");
}

static void await(const unsigned *counter, unsigned count)
{
	os_timer_start(world.enough, PATIENCE_S * SECOND_US);
	while (*counter < count)
		os_loop_run(world.loop);
	os_timer_stop(world.enough);
}

static void send_message(uint16_t type, uint32_t tag, size_t length, size_t descriptors)
{
	static char bytes[IPC_BODY_MAX];
	const int files[] = {world.file, world.file};

	ipc_channel_send(ipc_client_channel(world.client), type, tag, str_slice(bytes, length),
			 files, descriptors);
}

/* Of the server's answers COUNT. */
static void hear(unsigned count)
{
	await(&world.heard, world.heard + count);
}

/* --- lives --- */

static void says_nothing(void)
{
}

static void is_echoed(void)
{
	send_message(ECHO, 1, 5, 0);
	hear(1);
}

static void sends_descriptors(void)
{
	send_message(COUNT, 2, 0, 2);
	hear(1);
	send_message(ECHO, 3, 0, 1);
	hear(1);
}

static void sends_much(void)
{
	for (uint32_t i = 0; i < 10; i++)
		send_message(ECHO, i, IPC_BODY_MAX, 0);
	hear(10);
}

static void leaves_much_unsent(void)
{
	for (uint32_t i = 0; i < 10; i++)
		send_message(ECHO, i, IPC_BODY_MAX, 0);
	assert_true(ipc_channel_backlog(ipc_client_channel(world.client)) > 0);
	send_message(BAD, 0, 0, 0);
	world.refuses = true;
	hear(1);
}

static void leaves_much_unread(void)
{
	send_message(MANY, 0, IPC_BODY_MAX, 0);
	ipc_channel_pause(ipc_client_channel(world.client), true);
	ipc_channel_pause(ipc_client_channel(world.client), false);
	hear(1);
	world.refuses = true;
	hear(1);
}

static void stops_reading(void)
{
	send_message(ECHO, 1, 1, 0);
	hear(1);
	send_message(BAD, 1, 1, 0);
	ipc_channel_pause(ipc_client_channel(world.client), true);
	await(&world.ended, world.ended + 1);
	ipc_channel_pause(ipc_client_channel(world.client), false);
}

static void is_secret(void)
{
	ipc_channel_set_secret(ipc_client_channel(world.client));
	send_message(ECHO, 4, 100, 0);
	hear(1);
}

static void is_refused(void)
{
	world.refuses = true;
	send_message(ECHO, 4, 100, 0);
	hear(1);
}

static const struct life {
	const char *name;
	void (*play)(void);
} lives[] = {
	{"says nothing", says_nothing},
	{"is echoed", is_echoed},
	{"sends descriptors", sends_descriptors},
	{"sends much", sends_much},
	{"leaves much unsent", leaves_much_unsent},
	{"leaves much unread", leaves_much_unread},
	{"stops reading", stops_reading},
	{"is secret", is_secret},
	{"is refused", is_refused},
};

_Static_assert(COUNT_OF(lives) == LIVES, "as many as there is room for");

static void open_objects(void)
{
	static const struct ipc_server_kind kind = {.clients_max = CLIENTS_MAX,
						    .backlog_max = BACKLOG_MAX,
						    .connected = on_served,
						    .message = on_question,
						    .lost = on_served_lost,
						    .takes_descriptors = true};
	static const struct ipc_client_handler handler = {on_connected, on_message, on_lost};
	const uid_t user = getuid();

	world.connected = world.lost = 0;
	unlink(world.path);
	world.listening = os_socket_listen_unix(world.path, SOCK_SEQPACKET, 0600);
	assert_true(world.listening >= 0);
	world.server = ipc_server_new(world.loop, world.listening, &kind, NULL);
	ipc_server_set_users(world.server, &user, 1);
	world.client = ipc_client_new(world.loop, world.path, &handler, NULL);
}

static void close_objects(void)
{
	ipc_client_free(world.client);
	ipc_server_free(world.server);
	os_socket_close(world.listening);
}

/* From a connection to its end; what was heard is in WORLD. */
static void play_life(const struct life *life)
{
	unsigned lost = world.lost;

	buffer_reset(&world.said);
	world.refuses = false;
	await(&world.connected, lost + 1);
	assert_int_equal(ipc_channel_backlog(ipc_client_channel(world.client)), 0);
	hear(1);
	life->play();
	if (world.lost == lost && ipc_client_channel(world.client) != NULL)
		send_message(BAD, 0, 0, 0);
	await(&world.lost, lost + 1);
	assert_int_equal(world.lost, lost + 1);
}

static const char *name_of_life(size_t number)
{
	return lives[number].name;
}

static void play_numbered_life(size_t number)
{
	play_life(&lives[number]);
}

static void each_after_each_other_one(void **state)
{
	static const struct pairs pairs = {
		LIVES, name_of_life, open_objects, play_numbered_life, close_objects, &world.said};

	(void)state;
	check_pairs(&pairs);
}

static int set_up(void **state)
{
	(void)state;
	assert_int_equal(scratch_make(world.folder), 0);
	snprintf(world.path, sizeof world.path, "%s/socket", world.folder);
	world.loop = os_loop_new();
	world.enough = os_timer_new(world.loop, on_enough, NULL);
	world.file = os_process_share_text(STR("x"));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	close(world.file);
	os_timer_free(world.enough);
	os_loop_free(world.loop);
	buffer_clear(&world.said);
	return scratch_remove(world.folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_after_each_other_one, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
