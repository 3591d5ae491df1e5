// SPDX-License-Identifier: ISC
/* What "keys" answers to whom: signatures, passwords, sets in parts, and what it tells of its files
 * and how soon it looks at them again. The connections, the store and the passwords are this
 * test's. */
#include "base/timestamp.h"
#include "config/config.h"
#include "fake_loop.h"
#include "ipc/pack.h"
#include "ipc/server.h"
#include "keys/passwords.h"
#include "keys/protocol.h"
#include "keys/server.h"
#include "keys/store.h"
#include "log_lines.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PART_SIZE = 56 * 1024, SENDER = 100, ACCEPTOR = 200, OTHER = 300 };

struct ipc_channel {
	uid_t user;
	bool is_secret;
};

static struct {
	const struct ipc_server_kind *kind;
	void *context;
	struct ipc_channel *channel; /* the one that is connected */
	size_t backlog_max;
	const uid_t *users;
	size_t user_count;
	unsigned freed;
	/* what was sent */
	unsigned sent;
	uint16_t types[20];
	size_t lengths[20];
	uint32_t tag;
	bool was_secret;
	struct buffer body; /* the last one */
	/* the store */
	bool has_changed, is_unsure;
	const char *problems;
	size_t texts, tickets;
	unsigned refreshed;
	int sign_error;
	struct tls_signing_request signed_for;
	char signed_data[40];
	/* passwords */
	int password_error;
	uint16_t port;
	/* trouble */
	unsigned troubles;
	char trouble[60];
	struct config config, other_config;
	const struct config *refreshed_for;
} world;

/* --- connections --- */

struct ipc_server *ipc_server_new(struct os_loop *loop, int listening,
				  const struct ipc_server_kind *kind, void *context)
{
	(void)loop;
	assert_int_equal(listening, 5);
	world.kind = kind;
	world.context = context;
	return (struct ipc_server *)(void *)&world;
}

void ipc_server_set_users(struct ipc_server *server, const uid_t *users, size_t count)
{
	(void)server;
	world.users = users;
	world.user_count = count;
}

void ipc_server_set_backlog_max(struct ipc_server *server, size_t bytes)
{
	(void)server;
	world.backlog_max = bytes;
}

void ipc_server_each(struct ipc_server *server,
		     void (*call)(void *client, struct ipc_channel *channel))
{
	(void)server;
	if (world.channel != NULL)
		call(world.context, world.channel);
}

void ipc_server_free(struct ipc_server *server)
{
	(void)server;
	world.freed++;
}

uid_t ipc_channel_user(const struct ipc_channel *channel)
{
	return channel->user;
}

void ipc_channel_set_secret(struct ipc_channel *channel)
{
	channel->is_secret = true;
}

void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *descriptors, size_t descriptor_count)
{
	assert_true(descriptors == NULL && descriptor_count == 0);
	assert_true(world.sent < COUNT_OF(world.types));
	world.types[world.sent] = type;
	world.lengths[world.sent++] = body.length;
	world.tag = tag;
	world.was_secret = channel->is_secret;
	buffer_reset(&world.body);
	buffer_append_str(&world.body, body);
}

/* --- the store --- */

struct keys_store *keys_store_new(void)
{
	return (struct keys_store *)(void *)&world;
}

void keys_store_free(struct keys_store *store)
{
	assert_ptr_equal(store, &world);
	world.freed++;
}

bool keys_store_refresh(struct keys_store *store, const struct config *config)
{
	assert_ptr_equal(store, &world);
	world.refreshed++;
	world.refreshed_for = config;
	return world.has_changed;
}

bool keys_store_is_unsure(const struct keys_store *store)
{
	assert_ptr_equal(store, &world);
	return world.is_unsure;
}

void keys_store_append_problems(const struct keys_store *store, struct buffer *out)
{
	assert_ptr_equal(store, &world);
	buffer_append_string(out, world.problems);
}

static void append_letters(struct buffer *out, char letter, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buffer_append_byte(out, letter);
}

void keys_store_pack(const struct keys_store *store, struct keys_packed *out)
{
	assert_ptr_equal(store, &world);
	append_letters(&out->texts, 'x', world.texts);
	append_letters(&out->tickets, 't', world.tickets);
	append_letters(&out->no_tickets, 'n', 4);
}

void keys_packed_clear(struct keys_packed *packed)
{
	buffer_clear(&packed->texts);
	buffer_clear(&packed->tickets);
	buffer_clear(&packed->no_tickets);
}

const struct tls_private_key *keys_store_find(const struct keys_store *store, const void *id)
{
	assert_ptr_equal(store, &world);
	return memcmp(id, "known", 5) == 0 ? (const struct tls_private_key *)(const void *)&world
					   : NULL;
}

int tls_private_key_sign(const struct tls_private_key *key, enum tls_scheme scheme,
			 enum tls_hash hash, struct str data,
			 uint8_t signature_out[TLS_SIGNATURE_MAX], size_t *length_out)
{
	assert_ptr_equal(key, &world);
	world.signed_for.scheme = scheme;
	world.signed_for.hash = hash;
	memcpy(world.signed_data, data.data, data.length);
	memcpy(signature_out, "signature", 9);
	*length_out = 9;
	return world.sign_error;
}

int keys_password_find(const struct config *config, struct str relay, uint16_t port,
		       struct str user, struct buffer *password, struct buffer *reason)
{
	assert_ptr_equal(config, world.refreshed_for);
	assert_true(password->is_secret);
	assert_true(str_equal(relay, STR("relay")) && str_equal(user, STR("ann")));
	world.port = port;
	if (world.password_error == 0)
		buffer_append_string(password, "sesame");
	else
		buffer_append_string(reason, "why");
	return world.password_error;
}

/* --- the scene --- */

static struct keys_server *server;
static struct ipc_channel channel;

static void note_trouble(void *context, struct str problems)
{
	assert_ptr_equal(context, &world);
	world.troubles++;
	assert_true(problems.length < sizeof world.trouble);
	memcpy(world.trouble, problems.data, problems.length);
	world.trouble[problems.length] = '\0';
}

static int set_up(void **state)
{
	(void)state;
	fake_begin(1);
	memset(&world, 0, sizeof world);
	world.problems = "";
	world.texts = 3;
	world.tickets = 2;
	world.has_changed = true;
	server = keys_server_new(NULL, 5, &world.config);
	world.has_changed = false;
	assert_int_equal(world.refreshed, 1);
	channel = (struct ipc_channel){.user = OTHER};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	keys_server_free(server);
	keys_server_free(NULL);
	assert_int_equal(world.freed, 2);
	buffer_clear(&world.body);
	buffer_clear(&log_lines);
	return fake_timers() > 0 ? -1 : 0;
}

static bool ask(uint16_t type, uint32_t tag, const struct buffer *body)
{
	const struct ipc_message message = {.type = type, .tag = tag, .body = buffer_view(body)};

	world.sent = 0;
	return world.kind->message(world.context, &channel, &message);
}

/* --- signatures --- */

static bool ask_signature(const char *key, size_t key_length, const char *more)
{
	char padded[TLS_KEY_ID_SIZE + 1] = {0};
	struct buffer body CLEANUP(buffer_clear) = {0};

	strcpy(padded, key);
	pack_str(&body, str_slice(padded, key_length));
	pack_u32(&body, 11);
	pack_u32(&body, TLS_HASH_SHA384);
	pack_str(&body, STR("digest"));
	buffer_append_string(&body, more);
	return ask(KEYS_SIGN, 77, &body);
}

static void check_signature(const char *expected)
{
	struct unpack unpack = {buffer_view(&world.body), false};

	assert_int_equal(world.sent, 1);
	assert_int_equal(world.types[0], KEYS_SIGNED);
	assert_int_equal(world.tag, 77);
	assert_true(str_equal(unpack_str(&unpack), str_from(expected)));
	assert_true(unpack_is_whole(&unpack));
}

static void who_asks_gets_a_signature_or_none(void **state)
{
	(void)state;
	assert_true(ask_signature("known", TLS_KEY_ID_SIZE, ""));
	check_signature("signature");
	assert_int_equal(world.signed_for.scheme, 11);
	assert_int_equal(world.signed_for.hash, TLS_HASH_SHA384);
	assert_string_equal(world.signed_data, "digest");
	assert_true(ask_signature("gone", TLS_KEY_ID_SIZE, ""));
	check_signature("");
	world.sign_error = -EINVAL;
	assert_true(ask_signature("known", TLS_KEY_ID_SIZE, ""));
	check_signature("");
	assert_false(ask_signature("known", TLS_KEY_ID_SIZE, "x"));
	assert_false(ask_signature("known", TLS_KEY_ID_SIZE - 1, ""));
	assert_false(ask_signature("known", TLS_KEY_ID_SIZE + 1, ""));
	for (uint16_t type = 0; type < 20; type++) {
		const struct buffer nothing = {0};

		assert_false(ask(type, 1, &nothing));
		assert_int_equal(world.sent, 0);
	}
}

/* --- passwords --- */

static bool ask_password(uint32_t port, const char *more)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_str(&body, STR("relay"));
	pack_u32(&body, port);
	pack_str(&body, STR("ann"));
	buffer_append_string(&body, more);
	return ask(KEYS_ASK_PASSWORD, 78, &body);
}

static void check_password(const char *password, const char *problem)
{
	struct unpack unpack = {buffer_view(&world.body), false};

	assert_int_equal(world.sent, 1);
	assert_int_equal(world.types[0], KEYS_PASSWORD);
	assert_int_equal(world.tag, 78);
	assert_true(world.was_secret);
	assert_true(str_equal(unpack_str(&unpack), str_from(password)));
	assert_true(str_equal(unpack_str(&unpack), str_from(problem)));
	assert_true(unpack_is_whole(&unpack));
}

static void the_sender_alone_gets_passwords(void **state)
{
	(void)state;
	channel.user = SENDER;
	assert_false(ask_password(25, "")); /* nobody is */
	channel.user = SENDER;
	keys_server_set_sender(server, SENDER);
	channel.user = OTHER;
	assert_false(ask_password(25, ""));
	channel.user = SENDER;
	assert_true(ask_password(25, ""));
	check_password("sesame", "");
	assert_int_equal(world.port, 25);
	check_log("");
	assert_true(ask_password(UINT16_MAX, ""));
	assert_int_equal(world.port, UINT16_MAX);
	assert_false(ask_password(UINT16_MAX + 1, ""));
	assert_false(ask_password(25, "x"));
	world.password_error = -ENOENT;
	assert_true(ask_password(587, ""));
	check_password("", "why");
	check_log("~LOGIN_IMPOSSIBLE relay=relay user=ann text=why\n");
}

/* --- sets --- */

static void check_set(size_t texts, size_t tickets)
{
	size_t whole = texts / PART_SIZE, i = 0;

	for (; i < whole; i++)
		assert_int_equal(world.lengths[i], PART_SIZE);
	if (texts % PART_SIZE > 0)
		assert_int_equal(world.lengths[i++], texts % PART_SIZE);
	assert_int_equal(world.lengths[i++], tickets);
	for (size_t k = 0; k < i; k++)
		assert_int_equal(world.types[k], KEYS_SET_PART);
	assert_int_equal(world.types[i], KEYS_SET_END);
	assert_int_equal(world.lengths[i], 0);
	assert_int_equal(world.sent, i + 1);
}

static void sets_come_in_parts(void **state)
{
	static const size_t sizes[] = {
		0, 1, PART_SIZE - 1, PART_SIZE, PART_SIZE + 1, 2 * PART_SIZE, 3 * PART_SIZE + 7};
	static const uid_t acceptors[] = {ACCEPTOR, ACCEPTOR + 1};

	(void)state;
	keys_server_set_acceptors(server, acceptors, COUNT_OF(acceptors));
	for (size_t i = 0; i < 4 * COUNT_OF(sizes); i++) {
		bool is_acceptor = i % 4 < 2;

		channel = (struct ipc_channel){.user = i % 4 == 2 ? OTHER
								  : ACCEPTOR + (uid_t)(i % 4)};
		world.texts = sizes[i / 4];
		world.tickets = 9;
		world.has_changed = true;
		world.channel = NULL;
		fake_play_timer();
		assert_int_equal(world.backlog_max, world.texts + 9 + 4 * (1 << 20));
		world.sent = 0;
		assert_ptr_equal(world.kind->connected(world.context, &channel), world.context);
		check_set(world.texts, is_acceptor ? 9 : 4);
		assert_int_equal(channel.is_secret, is_acceptor);
		/* and again when it changes */
		world.channel = &channel;
		world.sent = 0;
		fake_play_timer();
		check_set(world.texts, is_acceptor ? 9 : 4);
		world.has_changed = false;
		world.sent = 0;
		fake_play_timer();
		assert_int_equal(world.sent, 0);
	}
}

static void who_may_connect_is_passed_on(void **state)
{
	static const uid_t users[] = {1, 2};

	(void)state;
	keys_server_set_users(server, users, 2);
	assert_ptr_equal(world.users, users);
	assert_int_equal(world.user_count, 2);
	assert_null(world.kind->lost);
	assert_false(world.kind->takes_descriptors);
}

/* --- files --- */

static void files_are_looked_at_again(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 4; n++) {
		const unsigned before = world.refreshed;
		int64_t wait_us = n % 2 == 0 ? 3 * SECOND_US : SECOND_US / 5;

		world.is_unsure = n % 2 != 0;
		keys_server_configure(server, &world.other_config); /* decides how long to wait */
		assert_int_equal(world.refreshed, before + 1);
		assert_ptr_equal(world.refreshed_for, &world.other_config);
		fake_advance(wait_us - 1);
		assert_int_equal(world.refreshed, before + 1);
		fake_advance(1);
		assert_int_equal(world.refreshed, before + 2);
	}
}

static void troubles_are_told_when_they_change(void **state)
{
	(void)state;
	world.problems = "at the start";
	fake_play_timer();
	keys_server_set_trouble(server, note_trouble, &world);
	assert_int_equal(world.troubles, 1);
	assert_string_equal(world.trouble, "at the start");
	fake_play_timer();
	assert_int_equal(world.troubles, 1);
	world.problems = "another";
	fake_play_timer();
	fake_play_timer();
	assert_int_equal(world.troubles, 2);
	assert_string_equal(world.trouble, "another");
	world.problems = "";
	fake_play_timer();
	assert_int_equal(world.troubles, 3);
	assert_string_equal(world.trouble, "");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(who_asks_gets_a_signature_or_none),
		CASE(the_sender_alone_gets_passwords),
		CASE(sets_come_in_parts),
		CASE(who_may_connect_is_passed_on),
		CASE(files_are_looked_at_again),
		CASE(troubles_are_told_when_they_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
