// SPDX-License-Identifier: ISC
/* What "pipe" makes of a "launch" that was taken over: what it is handed has an owner. */
#include "deliver/launch/client.h"
#include "deliver/launch/launch.h"
#include "ipc/channel.h"
#include "ipc/listener.h"
#include "ipc/pack.h"
#include "log/event.h"
#include "os/socket/socket.h"
#include "scratch.h"
#include "test.h"
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

struct play { /* what is said after RUN, and what is heard of it */
	const char *name;
	enum launch_message says[3]; /* 0: no more */
	unsigned started, refused, ended, lost;
};

static struct {
	const struct play *play;
	struct os_loop *loop;
	struct launch_client *client;
	struct launch launch;
	struct ipc_channel *channel;
	int given[2]; /* a pipe: its reading end sees the end of all copies of the other */
	int held[9];
	size_t held_count;
	struct play heard;
} world;

/* --- "launch" --- */

static void check_order(struct str body)
{
	struct unpack order = {body, false};

	assert_true(str_equal(unpack_str(&order), STR("box")));
	assert_int_equal(unpack_u64(&order), 457);
	assert_int_equal(unpack_u64(&order), 1);
	assert_true(str_equal(unpack_str(&order), STR("s@a.test")));
	assert_true(str_equal(unpack_str(&order), STR("ann@b.test")));
	assert_true(unpack_is_whole(&order));
}

static void on_message(void *context, struct ipc_channel *channel, struct ipc_message *message)
{
	const int files[LAUNCH_DESCRIPTORS] = {world.given[1], world.given[1], world.given[1]};

	(void)context;
	if (message->type != LAUNCH_RUN)
		return;
	check_order(message->body);
	for (size_t i = 0; i < COUNT_OF(world.play->says) && world.play->says[i] != 0; i++) {
		bool has_files = world.play->says[i] == LAUNCH_STARTED;
		char nothing[16] = "";

		ipc_channel_send(channel, (uint16_t)world.play->says[i], message->tag,
				 str_slice(nothing, sizeof nothing), files,
				 has_files ? LAUNCH_DESCRIPTORS : 0);
	}
}

static void on_gone(void *context, struct ipc_channel *channel)
{
	(void)context;
	ipc_channel_close(channel);
	world.channel = NULL;
}

static void on_connection(void *context, int socket)
{
	static const struct ipc_channel_handler handler = {on_message, on_gone};

	(void)context;
	ipc_channel_close(world.channel);
	world.channel = ipc_channel_new(world.loop, socket, &handler, NULL);
}

/* --- "pipe" --- */

static void on_started(void *context, const int *descriptors)
{
	(void)context;
	if (world.heard.started++ > 0)
		os_loop_stop(world.loop);
	for (size_t i = 0; i < LAUNCH_DESCRIPTORS; i++) {
		assert_true(world.held_count < COUNT_OF(world.held));
		world.held[world.held_count++] = descriptors[i];
	}
}

static void on_refused(void *context, const struct mail_verdict *why)
{
	(void)context;
	(void)why;
	world.heard.refused++;
	os_loop_stop(world.loop);
}

static void on_ended(void *context, int status, bool is_late)
{
	(void)context;
	(void)status;
	(void)is_late;
	world.heard.ended++;
	os_loop_stop(world.loop);
}

static void on_lost(void *context)
{
	(void)context;
	world.heard.lost++;
	os_loop_stop(world.loop);
}

static void on_ready(void *context)
{
	static const struct launch_handler handler = {on_started, on_refused, on_ended, on_lost};

	(void)context;
	if (world.launch.handler != NULL)
		return;
	world.launch = (struct launch){.handler = &handler};
	launch_begin(world.client, &world.launch,
		     &(struct launch_order){"box", {457, 1}, STR("s@a.test"), STR("ann@b.test")});
}

static void run(const struct play *play, const char *path)
{
	struct ipc_listener *listener;
	int listening = os_socket_listen_unix(path, SOCK_SEQPACKET, 0600);
	char byte;

	assert_true(listening >= 0);
	memset(&world, 0, sizeof world);
	world.play = play;
	world.loop = os_loop_new();
	assert_int_equal(pipe(world.given), 0);
	listener = ipc_listener_new(world.loop, listening, on_connection, NULL);
	world.client = launch_client_new(world.loop, path, STR("pipe-1"), on_ready, NULL);
	os_loop_run(world.loop);
	assert_int_equal(world.heard.started, play->started);
	assert_int_equal(world.heard.refused, play->refused);
	assert_int_equal(world.heard.ended, play->ended);
	assert_int_equal(world.heard.lost, play->lost);
	launch_client_free(world.client);
	ipc_channel_close(world.channel);
	ipc_listener_free(listener);
	os_loop_free(world.loop);
	for (size_t i = 0; i < world.held_count; i++)
		os_socket_close(world.held[i]);
	os_socket_close(world.given[1]);
	assert_int_equal(read(world.given[0], &byte, 1), 0); /* nobody has kept one */
	os_socket_close(world.given[0]);
	os_socket_close(listening);
}

static void what_does_not_fit_loses_the_connection(void **state)
{
	static const struct play plays[] = {
		{"as it should be", {LAUNCH_STARTED, LAUNCH_ENDED}, .started = 1, .ended = 1},
		{"not started", {LAUNCH_REFUSED}, .refused = 1},
		{"started twice", {LAUNCH_STARTED, LAUNCH_STARTED}, .started = 1, .lost = 1},
		{"refused when it runs", {LAUNCH_STARTED, LAUNCH_REFUSED}, .started = 1, .lost = 1},
		{"ended before it ran", {LAUNCH_ENDED}, .lost = 1},
		{"what only pipe says", {LAUNCH_STARTED, LAUNCH_WHOLE}, .started = 1, .lost = 1},
	};
	char directory[SCRATCH_SIZE];
	char path[SCRATCH_SIZE + 16];

	(void)state;
	log_open("test", LOG_ERROR_LEVEL);
	assert_int_equal(scratch_make(directory), 0);
	for (size_t i = 0; i < COUNT_OF(plays); i++) {
		print_message("%s\n", plays[i].name);
		snprintf(path, sizeof path, "%s/launch%zu", directory, i);
		run(&plays[i], path);
	}
	(void)scratch_remove(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_does_not_fit_loses_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
