// SPDX-License-Identifier: ISC
/*
 * tests/unit/auth/auth_client_scene.h - the client's side of auth/protocol.h, with an "auth" that
 * is played here and may lie.
 */
#ifndef TESTS_UNIT_AUTH_CLIENT_SCENE_H
#define TESTS_UNIT_AUTH_CLIENT_SCENE_H

#include "auth/client.h"
#include "auth/login.h"
#include "ipc/channel.h"
#include "ipc/listener.h"
#include "scratch.h"
#include "test.h"

extern struct auth_scene {
	struct os_loop *loop;
	char folder[SCRATCH_SIZE];
	int listening;
	struct ipc_listener *listener;
	struct ipc_channel *channel;
	struct auth *auth;
	struct os_timer *enough;
	/* what "auth" heard last */
	unsigned heard;
	uint16_t type;
	uint32_t tag;
	struct buffer body;
	/* what the caller was told last */
	unsigned answers;
	struct auth_answer answer;
	char message[64];
	char user[64];
	/* about a login */
	unsigned told;
	enum auth_login_state state;
} auth_scene;

extern const struct auth_peer auth_scene_peer;

/* For cmocka. */
int auth_scene_set_up(void **state);
int auth_scene_tear_down(void **state);

/* Until COUNTER is COUNT, ten seconds at most; for a fifth of a second. */
void auth_scene_run_until(const unsigned *counter, unsigned count);
void auth_scene_run_a_little(void);
/* Until the client has a connection, and an offer. */
void auth_scene_connect_both(void);

/* "auth" says which mechanisms there are, COUNT of them, of four; and answers the exchange TAG. */
void auth_scene_say_offer(uint32_t count);
void auth_scene_say_stamped(uint32_t tag, uint32_t outcome, uint32_t refusal, struct str message,
			    struct str user, struct str stamp);
void auth_scene_say(uint32_t tag, uint32_t outcome, uint32_t refusal, struct str message,
		    struct str user);

/* An exchange whose answers come into the scene; the ANSWERSth is REFUSAL. */
struct auth_exchange auth_scene_fresh(void);
void auth_scene_expect_refused(unsigned answers, enum auth_refusal refusal);

#endif
