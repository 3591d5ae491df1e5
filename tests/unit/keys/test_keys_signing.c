// SPDX-License-Identifier: ISC
/* Signatures by "keys" against a model: any order of requests, answers, cancellations, lost
 * connections and sets; what is no answer; and how many may be asked for. The connection and the
 * loop are played. */
#include "chance.h"
#include "fake_ipc_client.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "keys/client.h"
#include "keys/protocol.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIGNINGS = 8, TURNS = 40000, ASKED_MAX = 5000 };

enum signing_state { SIGNING_NONE, SIGNING_ASKED, SIGNING_TO_FAIL };

struct tls_signing {
	void *state;
	enum signing_state is;
	uint32_t tag;
	unsigned answers;
	char signature[20];
};

static struct {
	unsigned changed, resumed, sent;
	struct os_task *deferred[2];
	struct tls_signing *asking; /* during sign() */
	struct keys *keys;
	uint32_t old_tags[SIGNINGS]; /* of those that were cancelled while they were asked */
} world;

static struct tls_signing signings[SIGNINGS];

/* --- in the place of a connection and a loop --- */

static const struct tls_signing_request wanted = {.key = "0123456789abcdef0123456789abcde",
						  .scheme = (enum tls_scheme)3,
						  .hash = TLS_HASH_SHA384,
						  .data = {"digest", 6}};

void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *descriptors, size_t descriptor_count)
{
	struct unpack unpack = {body, false};
	struct str key = unpack_str(&unpack);

	assert_non_null(channel);
	assert_true(type == KEYS_SIGN && tag != 0 && descriptors == NULL && descriptor_count == 0);
	assert_int_equal(key.length, sizeof wanted.key);
	assert_memory_equal(key.data, wanted.key, key.length);
	assert_int_equal(unpack_u32(&unpack), wanted.scheme);
	assert_int_equal(unpack_u32(&unpack), wanted.hash);
	assert_true(str_equal(unpack_str(&unpack), wanted.data) && unpack_is_whole(&unpack));
	for (size_t i = 0; i < SIGNINGS; i++)
		assert_true(signings[i].is != SIGNING_ASKED || signings[i].tag != tag);
	assert_non_null(world.asking);
	world.asking->tag = tag;
	world.asking->is = SIGNING_ASKED;
	world.sent++;
}

void os_loop_defer(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	for (size_t i = 0; i < COUNT_OF(world.deferred); i++)
		if (world.deferred[i] == task)
			return;
	for (size_t i = 0; i < COUNT_OF(world.deferred); i++)
		if (world.deferred[i] == NULL) {
			world.deferred[i] = task;
			return;
		}
	fail_msg("a third task");
}

void os_task_cancel(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	for (size_t i = 0; i < COUNT_OF(world.deferred); i++)
		if (world.deferred[i] == task)
			world.deferred[i] = NULL;
}

static void play_deferred(void)
{
	for (size_t i = 0; i < COUNT_OF(world.deferred); i++) {
		struct os_task *task = world.deferred[i];

		world.deferred[i] = NULL;
		if (task != NULL)
			task->call(task->context);
	}
}

void tls_signing_go_on(void)
{
	world.resumed++;
}

void tls_signing_done(struct tls_signing *signing, struct str signature)
{
	assert_int_not_equal(signing->is, SIGNING_NONE);
	assert_true(signature.length < sizeof signing->signature);
	signing->is = SIGNING_NONE;
	signing->answers++;
	memcpy(signing->signature, signature.data, signature.length);
	signing->signature[signature.length] = '\0';
}

void tls_signing_set_state(struct tls_signing *signing, void *state)
{
	signing->state = state;
}

void *tls_signing_state(const struct tls_signing *signing)
{
	return signing->state;
}

static void on_changed(void *context)
{
	assert_ptr_equal(context, &world);
	world.changed++;
}

/* --- what happens --- */

static void say(uint16_t type, uint32_t tag, struct str body)
{
	struct ipc_message message = {.type = type, .tag = tag, .body = body};

	fake_ipc.client.handler.message(fake_ipc.client.context, &message);
}

static void say_signature(uint32_t tag, const char *signature, const char *more)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_str(&body, str_from(signature));
	buffer_append_string(&body, more);
	say(KEYS_SIGNED, tag, buffer_view(&body));
}

static void connect_now(void)
{
	fake_ipc.is_connected = true;
	fake_ipc.is_secret = false;
	fake_ipc.client.handler.connected(fake_ipc.client.context);
	assert_true(fake_ipc.is_secret);
}

static void lose(void)
{
	fake_ipc.is_connected = false;
	fake_ipc.client.handler.lost(fake_ipc.client.context);
	memset(world.old_tags, 0, sizeof world.old_tags);
	for (size_t i = 0; i < SIGNINGS; i++)
		if (signings[i].is == SIGNING_ASKED)
			signings[i].is = SIGNING_TO_FAIL;
}

static void sign(struct tls_signing *signing)
{
	const struct tls_signer *signer = keys_signer(world.keys);
	const unsigned answers = signing->answers;

	signing->is = SIGNING_TO_FAIL; /* unless it is sent */
	world.asking = signing;
	signer->sign(signer->context, signing, &wanted);
	world.asking = NULL;
	assert_int_equal(signing->is, fake_ipc.is_connected ? SIGNING_ASKED : SIGNING_TO_FAIL);
	assert_int_equal(signing->answers, answers); /* never during the call */
}

static void cancel(struct tls_signing *signing, size_t i)
{
	const struct tls_signer *signer = keys_signer(world.keys);

	if (signing->is == SIGNING_ASKED)
		world.old_tags[i] = signing->tag;
	signing->is = SIGNING_NONE;
	signer->cancel(signer->context, signing);
}

/* Everything that cannot be asked fails at the end of the turn, and nothing else. */
static void end_turn(void)
{
	unsigned before[SIGNINGS];
	bool fails[SIGNINGS];

	for (size_t i = 0; i < SIGNINGS; i++) {
		before[i] = signings[i].answers;
		fails[i] = signings[i].is == SIGNING_TO_FAIL;
	}
	play_deferred();
	for (size_t i = 0; i < SIGNINGS; i++) {
		assert_int_equal(signings[i].answers - before[i], fails[i]);
		if (fails[i])
			assert_string_equal(signings[i].signature, "");
	}
}

static void do_something(size_t i)
{
	struct tls_signing *signing = &signings[i];

	switch (chance(12)) {
	case 0:
		if (fake_ipc.is_connected)
			lose();
		else
			connect_now();
		break;
	case 1:
	case 2:
		if (signing->is != SIGNING_NONE)
			cancel(signing, i);
		break;
	case 3:
		end_turn();
		break;
	case 4: /* one that nobody waits for */
		if (fake_ipc.is_connected && world.old_tags[i] != 0) {
			say_signature(world.old_tags[i], "late", "");
			world.old_tags[i] = 0;
		}
		break;
	case 5:
	case 6:
	case 7:
		if (fake_ipc.is_connected && signing->is == SIGNING_ASKED) {
			const unsigned before = signing->answers;

			say_signature(signing->tag, "signature", "");
			assert_int_equal(signing->answers, before + 1);
			assert_string_equal(signing->signature, "signature");
		}
		break;
	default:
		if (signing->is == SIGNING_NONE && world.old_tags[i] == 0)
			sign(signing);
	}
}

static void any_order_of_requests(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++)
		do_something(chance(SIGNINGS));
	assert_int_equal(fake_ipc.refused, 0);
	assert_int_equal(world.changed, 0);
	assert_true(world.sent > 1000);
}

/* --- tests --- */

static void what_is_no_signature_is_refused(void **state)
{
	static char long_text[TLS_SIGNATURE_MAX + 2];
	uint32_t tag;

	(void)state;
	memset(long_text, 's', TLS_SIGNATURE_MAX + 1);
	connect_now();
	sign(&signings[0]);
	tag = signings[0].tag;
	say_signature(tag + 1, "x", "");
	say_signature(0, "x", "");
	say_signature(tag, "x", "more");
	say(KEYS_SIGNED, tag, STR(""));
	say(KEYS_SIGN, tag, STR(""));
	say(KEYS_PASSWORD, tag, STR(""));
	say(KEYS_ASK_PASSWORD, tag, STR(""));
	say(99, tag, STR(""));
	say_signature(tag, long_text, "");
	assert_int_equal(fake_ipc.refused, 9);
	assert_int_equal(signings[0].answers, 0);
	cancel(&signings[0], 0);
	long_text[TLS_SIGNATURE_MAX] = '\0';
	say_signature(tag, long_text, ""); /* the longest, which nobody takes */
	assert_int_equal(fake_ipc.refused, 9);
	say_signature(tag, "again", "");
	assert_int_equal(fake_ipc.refused, 10);
}

/* Also those count that nobody waits for, as their answers come yet. */
static void so_many_are_asked_for(void **state)
{
	(void)state;
	connect_now();
	for (unsigned i = 0; i < ASKED_MAX; i++) {
		sign(&signings[0]);
		cancel(&signings[0], 0);
	}
	assert_int_equal(world.sent, ASKED_MAX);
	world.asking = &signings[0];
	signings[0].is = SIGNING_TO_FAIL;
	keys_signer(world.keys)->sign(keys_signer(world.keys)->context, &signings[0], &wanted);
	assert_int_equal(world.sent, ASKED_MAX);
	end_turn();
	assert_int_equal(signings[0].answers, 1);
	say_signature(world.old_tags[0], "", "");
	sign(&signings[0]); /* there is a place again */
	lose();
	end_turn();
	assert_int_equal(signings[0].answers, 2);
	connect_now();
	sign(&signings[0]);
}

/* In parts of any size: the set in force is the last whole one. */
static void sets_replace_each_other(void **state)
{
	(void)state;
	assert_null(keys_set(world.keys));
	for (unsigned turn = 0; turn < 200; turn++) {
		struct keys_set *set = calloc(1, sizeof *set);
		struct buffer packed CLEANUP(buffer_clear) = {0};
		const struct keys_set *found;
		char name[20];
		size_t part = 1 + chance(40);
		const unsigned before = world.changed;

		snprintf(name, sizeof name, "name %u", turn);
		if (!fake_ipc.is_connected)
			connect_now();
		set->authorities[0] = (struct keys_text){str_from(name), STR("text")};
		set->authority_count = 1;
		keys_set_pack_texts(set, &packed);
		keys_set_pack_tickets(set, &packed);
		free(set);
		for (struct str rest = buffer_view(&packed); rest.length > 0;) {
			size_t length = rest.length < part ? rest.length : part;

			say(KEYS_SET_PART, 0, str_slice(rest.data, length));
			rest = str_skip(rest, length);
		}
		assert_int_equal(world.changed, before);
		if (chance(3) == 0) {
			lose(); /* before its end: what has come is gone */
			continue;
		}
		say(KEYS_SET_END, 0, STR(""));
		assert_int_equal(world.changed, before + 1);
		found = keys_set(world.keys);
		assert_true(str_equal(found->authorities[0].name, str_from(name)));
		assert_int_equal(found->authority_count, 1);
		if (chance(4) > 0)
			continue;
		say(KEYS_SET_PART, 0, STR("not a set"));
		say(KEYS_SET_END, 0, STR(""));
		assert_int_equal(fake_ipc.refused, 1);
		assert_int_equal(world.changed, before + 1);
		assert_ptr_equal(keys_set(world.keys), found);
		fake_ipc.refused = 0;
	}
	assert_true(world.changed > 50);
}

static void a_set_has_a_largest_size(void **state)
{
	static char part[1 << 16];

	(void)state;
	connect_now();
	for (size_t size = 0; size < KEYS_SET_SIZE_MAX; size += sizeof part)
		say(KEYS_SET_PART, 0, str_slice(part, sizeof part));
	assert_int_equal(fake_ipc.refused, 0);
	say(KEYS_SET_PART, 0, str_slice(part, 1));
	assert_int_equal(fake_ipc.refused, 1);
}

static void they_are_woken_at_the_end_of_the_turn(void **state)
{
	const struct tls_signer *signer = keys_signer(world.keys);

	(void)state;
	signer->wake(signer->context);
	assert_int_equal(world.resumed, 0);
	play_deferred();
	assert_int_equal(world.resumed, 1);
	signer->wake(signer->context); /* and nobody when it is freed */
}

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof world);
	memset(&fake_ipc, 0, sizeof fake_ipc);
	memset(signings, 0, sizeof signings);
	world.keys = keys_new(NULL, "the path", on_changed, &world);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < SIGNINGS; i++) /* connections are closed before */
		if (signings[i].is != SIGNING_NONE)
			cancel(&signings[i], i);
	keys_free(world.keys);
	keys_free(NULL);
	assert_true(fake_ipc.is_freed);
	for (size_t i = 0; i < COUNT_OF(world.deferred); i++)
		assert_null(world.deferred[i]);
	return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(any_order_of_requests),    CASE(what_is_no_signature_is_refused),
		CASE(so_many_are_asked_for),    CASE(sets_replace_each_other),
		CASE(a_set_has_a_largest_size), CASE(they_are_woken_at_the_end_of_the_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
