// SPDX-License-Identifier: ISC
/* tests/unit/auth/client_scene.h - the client's side of auth/protocol.h, and an "auth" that is
 * played. */
#ifndef TESTS_UNIT_AUTH_CLIENT_SCENE_H
#define TESTS_UNIT_AUTH_CLIENT_SCENE_H

#include "auth/internal.h"
#include "fake_ipc_client.h"
#include "fake_loop.h"
#include "ipc/pack.h"
#include "os/clock.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

static struct {
	struct auth *auth;
	/* what "auth" heard last */
	unsigned heard;
	uint16_t type;
	uint32_t tag;
	char text[2][40];     /* of its body */
	struct buffer *begun; /* the whole body of AUTH_BEGIN; NULL: nobody wants it */
} world;

void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *descriptors, size_t descriptor_count)
{
	struct unpack unpack = {body, false};
	size_t texts = type == AUTH_FOLLOW ? 2 : type == AUTH_RESPOND ? 1 : 0;

	assert_non_null(channel);
	assert_true(fake_ipc.is_secret && descriptors == NULL && descriptor_count == 0);
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

	fake_ipc.client.handler.message(fake_ipc.client.context, &message);
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
