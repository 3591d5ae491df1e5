// SPDX-License-Identifier: ISC
#include "auth_client_scene.h"
#include "auth/protocol.h"
#include "ipc/pack.h"
#include "os/socket/socket.h"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

struct auth_scene auth_scene;

const struct auth_peer auth_scene_peer = {.is_secured = true, .protocol = STR("submission")};

static void stop(void *context)
{
	(void)context;
	os_loop_stop(auth_scene.loop);
}

void auth_scene_run_until(const unsigned *counter, unsigned count)
{
	os_timer_start(auth_scene.enough, 10 * SECOND_US);
	while (*counter < count && os_timer_is_running(auth_scene.enough))
		os_loop_run(auth_scene.loop);
	os_timer_stop(auth_scene.enough);
	assert_int_equal(*counter, count);
}

void auth_scene_run_a_little(void)
{
	os_timer_start(auth_scene.enough, SECOND_US / 5);
	os_loop_run(auth_scene.loop);
}

static void on_message(void *context, struct ipc_channel *channel, struct ipc_message *message)
{
	(void)context;
	(void)channel;
	auth_scene.heard++;
	auth_scene.type = message->type;
	auth_scene.tag = message->tag;
	buffer_reset(&auth_scene.body);
	buffer_append_str(&auth_scene.body, message->body);
	os_loop_stop(auth_scene.loop);
}

static void on_lost(void *context, struct ipc_channel *channel)
{
	(void)context;
	ipc_channel_close(channel);
	if (auth_scene.channel == channel)
		auth_scene.channel = NULL;
	os_loop_stop(auth_scene.loop);
}

void auth_scene_say_offer(uint32_t count)
{
	struct buffer body = {0};

	pack_u32(&body, count);
	pack_str(&body, STR("SCRAM-SHA-256-PLUS"));
	pack_u32(&body, AUTH_NEEDS_SECURED | AUTH_NEEDS_BINDING);
	pack_str(&body, STR("EXTERNAL"));
	pack_u32(&body, AUTH_NEEDS_SECURED | AUTH_NEEDS_CERTIFICATE);
	pack_str(&body, STR("SCRAM-SHA-256"));
	pack_u32(&body, 0);
	pack_str(&body, STR("PLAIN"));
	pack_u32(&body, AUTH_NEEDS_SECURED);
	ipc_channel_send(auth_scene.channel, AUTH_OFFER, 0, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}

static void on_connection(void *context, int socket)
{
	static const struct ipc_channel_handler handler = {on_message, on_lost};

	(void)context;
	auth_scene.channel = ipc_channel_new(auth_scene.loop, socket, &handler, NULL);
	auth_scene_say_offer(4);
}

void auth_scene_say_stamped(uint32_t tag, uint32_t outcome, uint32_t refusal, struct str message,
			    struct str user, struct str stamp)
{
	struct buffer body = {0};

	pack_u32(&body, outcome);
	pack_u32(&body, refusal);
	pack_str(&body, message);
	pack_str(&body, user);
	pack_str(&body, stamp);
	ipc_channel_send(auth_scene.channel, AUTH_ANSWER, tag, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}

void auth_scene_say(uint32_t tag, uint32_t outcome, uint32_t refusal, struct str message,
		    struct str user)
{
	auth_scene_say_stamped(tag, outcome, refusal, message, user, STR(""));
}

static void on_answer(void *context, const struct auth_answer *answer)
{
	(void)context;
	auth_scene.answers++;
	auth_scene.answer = *answer;
	snprintf(auth_scene.message, sizeof auth_scene.message, STR_FORMAT,
		 STR_ARGUMENTS(answer->message));
	snprintf(auth_scene.user, sizeof auth_scene.user, STR_FORMAT, STR_ARGUMENTS(answer->user));
	os_loop_stop(auth_scene.loop);
}

void auth_scene_expect_refused(unsigned answers, enum auth_refusal refusal)
{
	auth_scene_run_until(&auth_scene.answers, answers);
	assert_int_equal(auth_scene.answer.outcome, AUTH_REFUSED);
	assert_int_equal(auth_scene.answer.refusal, refusal);
}

static void on_offered(void *context)
{
	unsigned *offers = context;

	(*offers)++;
	os_loop_stop(auth_scene.loop);
}

void auth_scene_connect_both(void)
{
	unsigned offers = 0;

	auth_when_offered(auth_scene.auth, on_offered, &offers);
	auth_scene_run_until(&offers, 1);
	assert_true(auth_mechanisms(auth_scene.auth, true, true, true).length > 0);
}

int auth_scene_set_up(void **state)
{
	static char path[SCRATCH_SIZE + 8];

	(void)state;
	memset(&auth_scene, 0, sizeof auth_scene);
	if (scratch_make(auth_scene.folder) < 0)
		return -1;
	snprintf(path, sizeof path, "%s/auth", auth_scene.folder);
	auth_scene.loop = os_loop_new();
	auth_scene.enough = os_timer_new(auth_scene.loop, stop, NULL);
	auth_scene.listening = os_socket_listen_unix(path, SOCK_SEQPACKET, 0600);
	auth_scene.listener =
		ipc_listener_new(auth_scene.loop, auth_scene.listening, on_connection, NULL);
	auth_scene.auth = auth_new(auth_scene.loop, path);
	auth_scene_connect_both();
	return 0;
}

int auth_scene_tear_down(void **state)
{
	(void)state;
	auth_free(auth_scene.auth);
	ipc_channel_close(auth_scene.channel);
	ipc_listener_free(auth_scene.listener);
	os_socket_close(auth_scene.listening);
	os_timer_free(auth_scene.enough);
	os_loop_free(auth_scene.loop);
	buffer_clear(&auth_scene.body);
	return scratch_remove(auth_scene.folder);
}

struct auth_exchange auth_scene_fresh(void)
{
	struct auth_exchange exchange = {.answered = on_answer};

	return exchange;
}
