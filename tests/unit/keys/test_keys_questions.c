// SPDX-License-Identifier: ISC
/* Questions for passwords against a model: any order of questions, answers, cancellations and lost
 * connections; and keys that are retired: the latest, for their time. The connection, the keys and
 * the clock are played. */
#include "chance.h"
#include "fake_ipc_client.h"
#include "fake_loop.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "keys/password_client.h"
#include "keys/protocol.h"
#include "keys/retired.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUESTIONS = 6, TURNS = 20000, KEYS = 400 };

/* --- in the place of a connection --- */

static struct {
	uint32_t last_tag, sent;
	char asked[60];
	struct keys_passwords *passwords;
	int64_t now_us;
} world;

/* --- a model --- */

struct asked {
	struct keys_password_question question;
	char relay[20], user[20];
	bool is_open, is_sent;
	uint32_t tag;
	unsigned answers;
	char password[30], problem[30];
};

static struct asked asked[QUESTIONS];

void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *descriptors, size_t descriptor_count)
{
	struct unpack unpack = {body, false};
	struct str relay = unpack_str(&unpack);
	uint32_t port = unpack_u32(&unpack);
	struct str user = unpack_str(&unpack);
	size_t i = 0;

	assert_non_null(channel);
	assert_null(descriptors);
	assert_int_equal(type, KEYS_ASK_PASSWORD);
	assert_int_equal(descriptor_count, 0);
	assert_true(fake_ipc.is_secret); /* nothing of it stays in memory */
	assert_true(unpack_is_whole(&unpack) && tag != 0);
	while (i < QUESTIONS && !str_equal(relay, str_from(asked[i].relay)))
		i++;
	assert_true(i < QUESTIONS && asked[i].is_open && !asked[i].is_sent);
	assert_true(str_equal(user, str_from(asked[i].user)));
	assert_int_equal(port, 25 + i);
	for (size_t k = 0; k < QUESTIONS; k++)
		assert_true(!asked[k].is_open || !asked[k].is_sent || asked[k].tag != tag);
	asked[i].tag = tag;
	asked[i].is_sent = true;
	world.sent++;
}

static void on_answer(void *context, struct str password, struct str problem)
{
	struct asked *one = context;

	assert_true(one->is_open);
	assert_null(one->question.asked.questions);
	one->is_open = one->is_sent = false;
	one->answers++;
	snprintf(one->password, sizeof one->password, STR_FORMAT, STR_ARGUMENTS(password));
	snprintf(one->problem, sizeof one->problem, STR_FORMAT, STR_ARGUMENTS(problem));
}

static void say(uint16_t type, uint32_t tag, const char *password, const char *problem,
		const char *more)
{
	struct ipc_message message = {.type = type, .tag = tag};
	struct buffer body = {0};

	pack_str(&body, str_from(password));
	pack_str(&body, str_from(problem));
	buffer_append_string(&body, more);
	message.body = buffer_view(&body);
	fake_ipc.client.handler.message(fake_ipc.client.context, &message);
	buffer_clear(&body);
}

static void connect_or_lose(void)
{
	if (fake_ipc.is_connected) {
		fake_ipc.is_connected = false;
		fake_ipc.is_secret = false;
		fake_ipc.client.handler.lost(fake_ipc.client.context);
		for (size_t i = 0; i < QUESTIONS; i++)
			asked[i].is_sent = false;
		return;
	}
	fake_ipc.is_connected = true;
	fake_ipc.client.handler.connected(fake_ipc.client.context);
	for (size_t i = 0; i < QUESTIONS; i++)
		assert_int_equal(asked[i].is_open, asked[i].is_sent);
}

static void answer_one(struct asked *one)
{
	unsigned before = one->answers;
	bool is_expected = one->is_open && one->is_sent;
	uint32_t tag = chance(10) == 0 ? 1 << 30 : one->tag;
	bool has_password = chance(2) == 0;

	if (!fake_ipc.is_connected || tag == 0)
		return;
	/* of a question that was cancelled or answered the tag is not used again so soon */
	is_expected &= tag == one->tag;
	say(KEYS_PASSWORD, tag, has_password ? "secret" : "", has_password ? "" : "no such line",
	    "");
	assert_int_equal(one->answers - before, is_expected);
	if (is_expected) {
		assert_string_equal(one->password, has_password ? "secret" : "");
		assert_string_equal(one->problem, has_password ? "" : "no such line");
	}
}

static void do_something(size_t i)
{
	struct asked *one = &asked[i];

	switch (chance(10)) {
	case 0:
		connect_or_lose();
		break;
	case 1:
	case 2:
		keys_password_cancel(&one->question);
		one->is_open = one->is_sent = false;
		assert_null(one->question.asked.questions);
		break;
	case 3:
	case 4:
	case 5:
		answer_one(one);
		break;
	default:
		if (one->is_open)
			break;
		one->is_open = true;
		one->is_sent = false;
		keys_passwords_ask(world.passwords, &one->question);
		assert_int_equal(one->is_sent, fake_ipc.is_connected);
	}
}

static void any_order(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++)
		do_something(chance(QUESTIONS));
	assert_int_equal(fake_ipc.refused, 0);
	assert_true(world.sent > 1000);
}

static void what_is_no_answer_is_refused(void **state)
{
	static const struct {
		uint16_t type;
		uint32_t tag;
		const char *more;
		unsigned refused;
	} rows[] = {{KEYS_PASSWORD, 5, "", 0},
		    {KEYS_PASSWORD, 0, "", 1},
		    {KEYS_PASSWORD, 5, "x", 1},
		    {KEYS_SET_PART, 0, "x", 0},
		    {KEYS_SET_END, 0, "", 0},
		    {KEYS_SIGNED, 5, "", 1},
		    {KEYS_SIGN, 5, "", 1},
		    {KEYS_ASK_PASSWORD, 5, "", 1},
		    {99, 5, "", 1}};

	(void)state;
	connect_or_lose();
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		fake_ipc.refused = 0;
		say(rows[i].type, rows[i].tag, "a", "b", rows[i].more);
		assert_int_equal(fake_ipc.refused, rows[i].refused);
	}
}

/* By "keys" that does not answer, or is not there. */
static void nobody_waits_for_ever(void **state)
{
	struct asked *one = &asked[0];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		one->is_open = true;
		keys_passwords_ask(world.passwords, &one->question);
		fake_advance(KEYS_PASSWORD_PATIENCE_US - 1);
		assert_int_equal(one->answers, i);
		fake_advance(1);
		assert_int_equal(one->answers, i + 1);
		assert_string_equal(one->password, "");
		assert_string_equal(one->problem, "it was not found out in time");
		if (i == 0)
			connect_or_lose();
	}
	say(KEYS_PASSWORD, one->tag, "late", "", ""); /* nobody waits for it */
	assert_int_equal(one->answers, 2);
	assert_int_equal(fake_ipc.refused, 0);
}

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof world);
	memset(&fake_ipc, 0, sizeof fake_ipc);
	memset(asked, 0, sizeof asked);
	fake_begin(1);
	world.passwords = keys_passwords_new(NULL, "the path");
	for (size_t i = 0; i < QUESTIONS; i++) {
		snprintf(asked[i].relay, sizeof asked[i].relay, "relay%zu.test", i);
		snprintf(asked[i].user, sizeof asked[i].user, "user%zu", i);
		asked[i].question = (struct keys_password_question){.answered = on_answer,
								    .context = &asked[i],
								    .relay = asked[i].relay,
								    .user = asked[i].user,
								    .port = (uint16_t)(25 + i)};
	}
	return 0;
}

/* Those that are left are nobody's. */
static int tear_down(void **state)
{
	(void)state;
	keys_passwords_free(world.passwords);
	keys_passwords_free(NULL);
	assert_true(fake_ipc.is_freed);
	for (size_t i = 0; i < QUESTIONS; i++) {
		assert_null(asked[i].question.asked.questions);
		keys_password_cancel(&asked[i].question);
	}
	return 0;
}

/* --- keys that are retired --- */

struct tls_private_key {
	unsigned char id[TLS_KEY_ID_SIZE];
	bool is_freed;
};

void tls_private_key_free(struct tls_private_key *key)
{
	assert_false(key->is_freed);
	key->is_freed = true;
}

const uint8_t *tls_private_key_id(const struct tls_private_key *key)
{
	assert_false(key->is_freed);
	return key->id;
}

int64_t __wrap_os_clock_monotonic_us(void);
int64_t __wrap_os_clock_monotonic_us(void)
{
	return world.now_us;
}

static void the_latest_are_kept_for_their_time(void **state)
{
	struct tls_private_key keys[KEYS];
	int64_t since_us[KEYS];
	struct keys_retired retired = {0};
	size_t first = 0, count = 0;

	(void)state;
	memset(keys, 0, sizeof keys);
	while (count < KEYS) {
		world.now_us += chance(20) > 0 ? (int64_t)chance(3) * KEYS_RETIRED_US / 150
					       : KEYS_RETIRED_US / 2;
		keys_retired_expire(&retired);
		while (first < count && world.now_us - since_us[first] >= KEYS_RETIRED_US)
			first++;
		if (chance(3) > 0) {
			memcpy(keys[count].id, &count, sizeof count);
			since_us[count] = world.now_us;
			keys_retired_add(&retired, &keys[count++]);
			if (count - first > KEYS_RETIRED_MAX)
				first++;
		}
		keys_retired_add(&retired, NULL);
		for (size_t i = 0; i < count; i++) {
			assert_int_equal(keys[i].is_freed, i < first);
			assert_ptr_equal(keys_retired_find(&retired, keys[i].id),
					 i < first ? NULL : &keys[i]);
		}
	}
	keys_retired_clear(&retired);
	for (size_t i = 0; i < KEYS; i++)
		assert_true(keys[i].is_freed);
	assert_null(keys_retired_find(&retired, keys[0].id));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(any_order),
		CASE(what_is_no_answer_is_refused),
		CASE(nobody_waits_for_ever),
		CASE(the_latest_are_kept_for_their_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
