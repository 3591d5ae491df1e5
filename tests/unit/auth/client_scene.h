// SPDX-License-Identifier: ISC
/* tests/unit/auth/client_scene.h - the client's side of auth/protocol.h, and an "auth" that is
 * played. */
#ifndef TESTS_UNIT_AUTH_CLIENT_SCENE_H
#define TESTS_UNIT_AUTH_CLIENT_SCENE_H

#include "auth/internal.h"
#include "fake_loop.h"
#include "ipc/pack.h"
#include "os/clock.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

struct ipc_client {
	struct ipc_client_handler handler;
	void *context;
};

static struct {
	struct ipc_client client;
	struct auth *auth;
	bool is_connected, is_secret;
	unsigned refused;
	/* what "auth" heard last */
	unsigned heard;
	uint16_t type;
	uint32_t tag;
	char text[2][40];     /* of its body */
	struct buffer *begun; /* the whole body of AUTH_BEGIN; NULL: nobody wants it */
} world;

struct ipc_client *ipc_client_new(struct os_loop *loop, const char *path,
				  const struct ipc_client_handler *handler, void *context)
{
	(void)loop;
	assert_string_equal(path, "the path");
	world.client = (struct ipc_client){*handler, context};
	return &world.client;
}

void ipc_client_free(struct ipc_client *client)
{
	assert_ptr_equal(client, &world.client);
}

struct ipc_channel *ipc_client_channel(struct ipc_client *client)
{
	static char channel;

	assert_ptr_equal(client, &world.client);
	return world.is_connected ? (struct ipc_channel *)(void *)&channel : NULL;
}

void ipc_channel_set_secret(struct ipc_channel *channel)
{
	assert_non_null(channel);
	world.is_secret = true;
}

void ipc_channel_refuse(struct ipc_channel *channel, uint16_t type)
{
	(void)type;
	assert_non_null(channel);
	world.refused++;
}

void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *descriptors, size_t descriptor_count)
{
	struct unpack unpack = {body, false};
	size_t texts = type == AUTH_FOLLOW ? 2 : type == AUTH_RESPOND ? 1 : 0;

	assert_non_null(channel);
	assert_true(world.is_secret && descriptors == NULL && descriptor_count == 0);
	world.heard++;
	world.type = type;
	world.tag = tag;
	if (type == AUTH_BEGIN && world.begun != NULL)
		buffer_append_str(world.begun, body);
	for (size_t i = 0; i < texts; i++) {
		struct str text = unpack_str(&unpack);

		assert_true(text.length < sizeof world.text[i]);
		memcpy(world.text[i], text.data, text.length);
		world.text[i][text.length] = '\0';
	}
	assert_true(type == AUTH_BEGIN || unpack_is_whole(&unpack));
}

static inline void say(uint16_t type, uint32_t tag, struct str body)
{
	struct ipc_message message = {.type = type, .tag = tag, .body = body};

	world.client.handler.message(world.client.context, &message);
}

static inline void say_answer(uint32_t tag, uint32_t outcome, uint32_t refusal, struct str message,
			      struct str user, struct str stamp, const char *more)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u32(&body, outcome);
	pack_u32(&body, refusal);
	pack_str(&body, message);
	pack_str(&body, user);
	pack_str(&body, stamp);
	buffer_append_string(&body, more);
	say(AUTH_ANSWER, tag, buffer_view(&body));
}

static inline void say_login(uint32_t tag, uint32_t state, const char *more)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u32(&body, state);
	buffer_append_string(&body, more);
	say(AUTH_LOGIN, tag, buffer_view(&body));
}

#endif
