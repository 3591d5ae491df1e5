// SPDX-License-Identifier: ISC
/* Exchanges with "auth" in the same storage and by the same connection, each after each other one:
 * it must go as if it were the first. "auth" is played here. */
#include "auth/client.h"
#include "auth/protocol.h"
#include "base/buffer.h"
#include "ipc/channel.h"
#include "ipc/listener.h"
#include "ipc/pack.h"
#include "os/socket/socket.h"
#include "pairs.h"
#include "scratch.h"
#include "test.h"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { PATIENCE_S = 10 };

/* Of SAYS each letter is an answer: 'c' a challenge, 'l' the last one, 'a' accepted, 'f' failed,
 * 't' not now, 's' one to nobody's question; '-' the client leaves, 'x' "auth" is gone. */
static const struct life {
	const char *name, *mechanism, *says;
	bool has_initial;
} lives[] = {
	{"accepted at once", "PLAIN", "a", true},
	{"accepted", "SCRAM-SHA-256", "cca"},
	{"refused", "PLAIN", "f", true},
	{"refused after a challenge", "LOGIN", "cf"},
	{"refused after the last challenge", "XOAUTH2", "lf", true},
	{"deferred", "LOGIN", "ct"},
	{"left while it asks", "PLAIN", "-", true},
	{"left before it responds", "LOGIN", "c-"},
	{"answered twice", "PLAIN", "sa", true},
	{"lost while it asks", "PLAIN", "x", true},
	{"lost before it responds", "LOGIN", "cx"},
	{"lost after the last challenge", "XOAUTH2", "lx"},
};

enum { LIVES = COUNT_OF(lives) };

static struct {
	struct os_loop *loop;
	struct os_timer *enough;
	char folder[SCRATCH_SIZE];
	char path[SCRATCH_SIZE + 8];
	int listening;
	struct ipc_listener *listener;
	struct ipc_channel *channel;
	struct auth *auth;
	struct auth_exchange exchange; /* of all lives */
	unsigned offers, heard, answers, ended;
	uint32_t tag;              /* of the last message */
	enum auth_outcome outcome; /* of the last answer */
	struct buffer said;
} world;

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

/* --- "auth" --- */

static void on_message(void *context, struct ipc_channel *channel, struct ipc_message *message)
{
	(void)context, (void)channel;
	world.tag = message->tag;
	world.heard++;
	buffer_append_format(&world.said, "asked %u, %zu bytes\n", (unsigned)message->type,
			     message->body.length);
	os_loop_stop(world.loop);
}

static void on_lost(void *context, struct ipc_channel *channel)
{
	(void)context;
	ipc_channel_close(channel);
	world.channel = NULL;
}

static void on_connection(void *context, int socket)
{
	static const struct ipc_channel_handler handler = {on_message, on_lost};
	struct buffer body CLEANUP(buffer_clear) = {0};

	(void)context;
	world.channel = ipc_channel_new(world.loop, socket, &handler, NULL);
	pack_u32(&body, 1);
	pack_str(&body, STR("PLAIN"));
	pack_u32(&body, 0);
	ipc_channel_send(world.channel, AUTH_OFFER, 0, buffer_view(&body), NULL, 0);
}

static void say(uint32_t tag, enum auth_outcome outcome, enum auth_refusal refusal)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u32(&body, outcome);
	pack_u32(&body, refusal);
	pack_str(&body, outcome == AUTH_REFUSED ? STR("") : STR("r=1"));
	pack_str(&body, outcome == AUTH_ACCEPTED ? STR("ann") : STR(""));
	pack_str(&body, outcome == AUTH_ACCEPTED ? STR("Hx") : STR(""));
	ipc_channel_send(world.channel, AUTH_ANSWER, tag, buffer_view(&body), NULL, 0);
}

/* --- the caller --- */

static void on_answer(void *context, const struct auth_answer *answer)
{
	(void)context;
	world.answers++;
	world.outcome = answer->outcome;
	buffer_append_format(&world.said,
			     "outcome %d, refusal %d, failure %d, message " STR_FORMAT
			     ", user " STR_FORMAT ", stamp " STR_FORMAT "\n",
			     (int)answer->outcome, (int)answer->refusal, answer->is_failure,
			     STR_ARGUMENTS(answer->message), STR_ARGUMENTS(answer->user),
			     STR_ARGUMENTS(answer->stamp));
	os_loop_stop(world.loop);
}

static void on_offered(void *context)
{
	(void)context;
	world.offers++;
	os_loop_stop(world.loop);
}

static void await_offer(void)
{
	auth_when_offered(world.auth, on_offered, NULL);
	await(&world.offers, world.offers + 1);
}

static void lose_connection(void)
{
	bool is_asked = world.heard > world.answers;

	ipc_channel_close(world.channel);
	world.channel = NULL;
	if (is_asked)
		await(&world.answers, world.answers + 1);
	await_offer();
}

/* Whether the exchange goes on with a response. */
static bool play_answer(char letter)
{
	static const struct {
		char letter;
		enum auth_outcome outcome;
		enum auth_refusal refusal;
	} answers[] = {{'c', AUTH_CHALLENGE, 0},
		       {'l', AUTH_LAST_CHALLENGE, 0},
		       {'a', AUTH_ACCEPTED, 0},
		       {'f', AUTH_REFUSED, AUTH_FAILED},
		       {'t', AUTH_REFUSED, AUTH_TEMPORARY}};

	for (size_t i = 0; i < COUNT_OF(answers); i++) {
		if (answers[i].letter != letter)
			continue;
		say(world.tag, answers[i].outcome, answers[i].refusal);
		await(&world.answers, world.answers + 1);
	}
	if (letter == 's')
		say(world.tag + 1, AUTH_ACCEPTED, 0);
	if (letter == '-')
		auth_exchange_cancel(&world.exchange);
	if (letter == 'x')
		lose_connection();
	return letter == 'c' || letter == 'l';
}

static void play_life(const struct life *life)
{
	static const struct auth_peer peer = {.is_secured = true, .protocol = STR("submission")};
	unsigned asked = 1;

	buffer_reset(&world.said);
	world.heard = world.answers = 0;
	world.exchange.answered = on_answer;
	auth_exchange_begin(world.auth, &peer, str_from(life->mechanism), life->has_initial,
			    STR("first"), &world.exchange);
	await(&world.heard, asked);
	for (const char *letter = life->says; *letter != '\0'; letter++) {
		if (!play_answer(*letter) || letter[1] == '-')
			continue;
		if (letter[1] == 'x') { /* it is told when it responds */
			lose_connection();
			auth_exchange_respond(&world.exchange, STR("more"));
			break;
		}
		auth_exchange_respond(&world.exchange, STR("more"));
		await(&world.heard, ++asked);
	}
	if (life->says[strlen(life->says) - 1] == '-') /* which "auth" is told */
		await(&world.heard, ++asked);
	assert_null(world.exchange.auth);
}

static void open_objects(void)
{
	world.exchange = (struct auth_exchange){.context = NULL};
	world.auth = auth_new(world.loop, world.path);
	await_offer();
}

static void close_objects(void)
{
	auth_free(world.auth);
	ipc_channel_close(world.channel);
	world.channel = NULL;
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
	snprintf(world.path, sizeof world.path, "%s/auth", world.folder);
	world.loop = os_loop_new();
	world.enough = os_timer_new(world.loop, on_enough, NULL);
	world.listening = os_socket_listen_unix(world.path, SOCK_SEQPACKET, 0600);
	world.listener = ipc_listener_new(world.loop, world.listening, on_connection, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ipc_listener_free(world.listener);
	os_socket_close(world.listening);
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
