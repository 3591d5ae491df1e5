// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_auth_server.c - a process that asks "auth", and was taken over.
 *
 * Each message: a byte for its type, one for its tag, and a text; or, if the type's highest bit is
 * set, a good AUTH_BEGIN of PLAIN, LOGIN or SCRAM with that text. There is no directory, so nobody
 * is accepted.
 */
#include "auth/protocol.h"
#include "auth/server/server.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "config/text.h"
#include "input.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "os/process/process.h"
#include "os/socket/socket.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
	struct os_loop *loop;
	struct auth_server *server;
	struct os_timer *enough;
	char path[108];
	bool is_lost;
} scene;

static const char SETTINGS[] = "hostname = \"mx.test\"\n"
			       "listen smtp { address = { \"127.0.0.1:25\" } }\n"
			       "directory { path = \"/nowhere/directory.db\" }\n"
			       "auth { failure_limit = 0 }\n";

static void stop(void *context)
{
	(void)context;
	os_loop_stop(scene.loop);
}

static void open_scene(void)
{
	struct config_problems problems = {0};
	struct config *config;
	char folder[] = "/tmp/stagepost-fuzz-XXXXXX";
	struct auth_server_ways ways = {.directory = "unix:/nowhere/directory",
					.seed = STR("seed")};
	uid_t user = os_process_effective_user();

	if (mkdtemp(folder) == NULL ||
	    config_parse("x", str_slice(SETTINGS, sizeof SETTINGS - 1), &config, &problems) < 0)
		panic("no scene");
	config_problems_clear(&problems);
	snprintf(scene.path, sizeof scene.path, "%s/auth", folder);
	scene.loop = os_loop_new();
	scene.enough = os_timer_new(scene.loop, stop, NULL);
	ways.loop = scene.loop;
	ways.listening = os_socket_listen_unix(scene.path, SOCK_SEQPACKET, 0600);
	if (ways.listening < 0 || auth_server_new(&ways, config, &scene.server) < 0)
		panic("no server");
	auth_server_set_users(scene.server, &user, 1);
}

static void on_message(void *context, struct ipc_channel *channel, struct ipc_message *message)
{
	struct unpack unpack = {message->body, false};

	(void)context;
	(void)channel;
	if (message->type == AUTH_ANSWER && unpack_u32(&unpack) == AUTH_ACCEPTED)
		panic("somebody was accepted");
}

static void on_lost(void *context, struct ipc_channel *channel)
{
	(void)context;
	(void)channel;
	scene.is_lost = true;
	os_loop_stop(scene.loop);
}

static void append_begin(struct buffer *body, unsigned choice, struct str text)
{
	static const char *const names[] = {"PLAIN", "LOGIN", "SCRAM-SHA-256",
					    "SCRAM-SHA-256-PLUS"};
	static const char address[AUTH_ADDRESS_SIZE] = {1};

	pack_str(body, str_slice(address, sizeof address));
	pack_u32(body, 1);
	pack_str(body, STR("exporter"));
	pack_str(body, STR("end point"));
	pack_str(body, STR(""));
	pack_str(body, STR(""));
	pack_str(body, STR("submission"));
	pack_str(body, str_from(names[choice % COUNT_OF(names)]));
	pack_u32(body, choice & 4 ? 1 : 0);
	pack_str(body, text);
}

static void say(struct ipc_channel *channel, struct input *input)
{
	unsigned type = input_byte(input);
	unsigned tag = input_byte(input);
	struct buffer body = {0};

	if ((type & 0x80) != 0) {
		append_begin(&body, type, input_text(input));
		type = AUTH_BEGIN;
	} else if (type % 6 == AUTH_RESPOND) {
		pack_str(&body, input_text(input));
	} else {
		buffer_append_str(&body, input_text(input));
	}
	ipc_channel_send(channel, (uint16_t)(type % 6), tag % 4, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ipc_channel_handler handler = {on_message, on_lost};
	struct input input = {str_slice((const char *)data, size)};
	struct ipc_channel *channel;
	int socket;

	if (scene.loop == NULL)
		open_scene();
	socket = os_socket_connect_unix(scene.path, SOCK_SEQPACKET);
	if (socket < 0)
		panic("cannot connect");
	scene.is_lost = false;
	channel = ipc_channel_new(scene.loop, socket, &handler, NULL);
	for (unsigned i = 0; i < 50 && input.rest.length > 0 && !scene.is_lost; i++)
		say(channel, &input);
	os_timer_start(scene.enough, SECOND_US / 500);
	os_loop_run(scene.loop);
	os_timer_stop(scene.enough);
	ipc_channel_close(channel);
	os_timer_start(scene.enough, 0);
	os_loop_run(scene.loop);
	return 0;
}
