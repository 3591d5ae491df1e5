// SPDX-License-Identifier: ISC
/* What the directory's server says of its store and of its configuration, and whom it tells of
 * changes. */
#include "base/timestamp.h"
#include "config/text.h"
#include "directory/server/internal.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include "test.h"
#include "unit/directory/directory_peer.h"
#include "unit/directory/store/memory_store.h"
#include <stdio.h>
#include <string.h>

static struct {
	struct os_loop *loop;
	struct memory_store *store;
	struct config *config;
	struct directory_server *server;
	struct directory_peer *peer;
} scene;

static struct config *config_of(const char *text)
{
	struct config_problems problems;
	struct config *config = NULL;

	if (config_parse("t", str_from(text), &config, &problems) != 0)
		fail_msg("%s: %s", text, problems.first->message);
	config_problems_clear(&problems);
	return config;
}

static void connect_peer(void)
{
	struct directory_transport transport;
	int sockets[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
	directory_transport_plain(sockets[0], &transport);
	directory_server_accept(scene.server, &transport,
				DIRECTORY_ROLE_READ | DIRECTORY_ROLE_CHANGE, "uid 0");
	scene.peer = directory_peer_new(scene.loop, sockets[1]);
	assert_true(strncmp(directory_peer_hear(scene.peer), "hello|1|", 8) == 0);
}

static int set_up(void **state)
{
	(void)state;
	scene.config = config_of("hostname = mx.test\n");
	scene.loop = os_loop_new();
	scene.store = memory_store_new(scene.loop);
	scene.server = directory_server_new(scene.loop, &scene.store->base, scene.config);
	connect_peer();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	directory_peer_free(scene.peer);
	directory_server_free(scene.server);
	memory_store_free(scene.store);
	config_free(scene.config);
	os_loop_free(scene.loop);
	return 0;
}

/* "NAME VALUE" of the stats; "": they have none. */
static const char *stat_of(const char *name)
{
	static char value[200];
	const char *found, *end;
	char begin[40];

	directory_peer_say(scene.peer, "stats|7");
	found = directory_peer_hear(scene.peer);
	assert_true(strncmp(found, "val|7|0|", 8) == 0);
	snprintf(begin, sizeof begin, "|%s ", name);
	found = strstr(found, begin);
	if (found == NULL)
		return "";
	found += strlen(begin);
	end = strchrnul(found, '|');
	snprintf(value, sizeof value, "%.*s", (int)(end - found), found);
	return value;
}

static const char *followed_now;

static const char *tell_followed(struct directory_store *store)
{
	assert_ptr_equal(store, &scene.store->base);
	return followed_now;
}

static const char *tell_held(struct directory_store *store)
{
	assert_ptr_equal(store, &scene.store->base);
	return "others were seen";
}

/* --- stats --- */

static void what_is_known_of_the_store(void **state)
{
	static const char *const servers[] = {"one.test", "two.test"};
	struct directory_store *store = &scene.store->base;
	struct directory_store_operations operations = *store->operations;
	int64_t now_us = os_clock_monotonic_us();

	(void)state;
	assert_string_equal(stat_of("state"), "up");
	assert_string_equal(stat_of("role"), "server");
	assert_string_equal(stat_of("backend"), "");
	assert_string_equal(stat_of("upstream"), "");
	assert_string_equal(stat_of("followed"), "");
	assert_string_equal(stat_of("lost_seconds"), "");
	assert_string_equal(stat_of("fresh_seconds"), "");
	assert_string_equal(stat_of("held"), "");
	assert_string_equal(stat_of("connected"), "1");
	assert_string_equal(stat_of("connections"), "1");
	store->servers = servers;
	store->server_count = 2;
	store->lost_us = now_us - 77 * SECOND_US - SECOND_US / 2;
	store->fresh_us = now_us - 99 * SECOND_US - SECOND_US / 2;
	operations.followed = tell_followed;
	store->operations = &operations;
	assert_string_equal(stat_of("upstream"), "one.test");
	assert_string_equal(stat_of("upstream one.test|upstream"), "two.test");
	assert_string_equal(stat_of("followed"), "");
	followed_now = "two.test";
	assert_string_equal(stat_of("followed"), "two.test");
	assert_string_equal(stat_of("lost_seconds"), "77");
	assert_string_equal(stat_of("fresh_seconds"), "99");
	store->fresh_us = INT64_MIN; /* never */
	assert_string_equal(stat_of("fresh_seconds"), "");
	store->fresh_us = INT64_MAX; /* always */
	assert_string_equal(stat_of("fresh_seconds"), "");
	operations.held = tell_held;
	assert_string_equal(stat_of("state"), "held");
	assert_string_equal(stat_of("held"), "others were seen");
	operations.held = NULL;
	memory_store_set_up(scene.store, false);
	store->lost_us = 0;
	assert_string_equal(directory_peer_hear(scene.peer), "down");
	assert_string_equal(stat_of("state"), "down");
}

static void each_backend(void **state)
{
	static const struct {
		enum config_backend backend;
		const char *role, *name;
	} rows[] = {{CONFIG_BACKEND_SQLITE, "server", "sqlite"},
		    {CONFIG_BACKEND_POSTGRESQL, "server", "postgresql"},
		    {CONFIG_BACKEND_LDAP, "server", "ldap"},
		    {CONFIG_BACKEND_SERVERS, "relay", "servers"}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		scene.config->directory.backend = rows[i].backend;
		assert_string_equal(stat_of("role"), rows[i].role);
		assert_string_equal(stat_of("backend"), rows[i].name);
	}
	scene.config->directory.backend = CONFIG_BACKEND_NONE;
}

static unsigned accepted;

static void accept_data(struct directory_store *store)
{
	assert_ptr_equal(store, &scene.store->base);
	accepted++;
}

static void data_are_accepted(void **state)
{
	struct directory_store_operations operations = *scene.store->base.operations;

	(void)state;
	accepted = 0;
	directory_peer_say(scene.peer, "accept|1");
	assert_string_equal(directory_peer_hear(scene.peer),
			    "err|1|bad|This directory's data are not guarded by this server");
	operations.accept = accept_data;
	scene.store->base.operations = &operations;
	directory_peer_say(scene.peer, "accept|2");
	assert_string_equal(directory_peer_hear(scene.peer), "ok|2|0");
	assert_int_equal(accepted, 1);
	operations.accept = NULL;
}

/* --- whom it tells --- */

static char told[200];

static void on_changed(void *context, const struct directory_key *keys, const uint64_t *versions,
		       size_t count)
{
	assert_ptr_equal(context, told);
	for (size_t i = 0; i < count; i++)
		snprintf(told + strlen(told), sizeof told - strlen(told), "%u " STR_FORMAT ";",
			 (unsigned)versions[i], STR_ARGUMENTS(keys[i].name));
}

static void on_reset(void *context)
{
	assert_ptr_equal(context, told);
	strcat(told, "reset;");
}

static void on_state(void *context, bool is_up)
{
	assert_ptr_equal(context, told);
	strcat(told, is_up ? "up;" : "down;");
}

static void others_hear_of_the_store(void **state)
{
	static const struct directory_store_handler handler = {on_changed, on_reset, on_state};

	(void)state;
	memory_store_put(scene.store, "domain a.test|kind local");
	directory_server_tell(scene.server, &handler, told);
	told[0] = '\0';
	memory_store_put(scene.store, "domain b.test|kind local");
	memory_store_set_up(scene.store, false);
	memory_store_set_up(scene.store, true);
	memory_store_replace(scene.store, "other");
	assert_string_equal(told, "2 b.test;down;up;reset;");
	directory_server_tell(scene.server, NULL, NULL);
	memory_store_put(scene.store, "domain c.test|kind local");
	memory_store_set_up(scene.store, false);
	memory_store_set_up(scene.store, true);
	memory_store_replace(scene.store, "another");
	assert_string_equal(told, "2 b.test;down;up;reset;");
}

/* --- its configuration --- */

#define BOX  "service box { kind = maildir path = /m/%u }\n"
#define PIPE "service p { kind = pipe command = { \"/bin/p\", \"%s\" } user = nobody }\n"
#define LMTP "service l { kind = lmtp address = unix:/l servers = { \"192.0.2.7:24\" } }\n"

/* What answers depend on changes the identity, so that clients forget them; nothing else does. */
static void an_identity_has_its_configuration(void **state)
{
	static const char *const texts[] = {
		"hostname = mx.test\n" BOX PIPE LMTP "domain a.test { service = box }\n",
		"hostname = my.test\n" BOX PIPE LMTP "domain a.test { service = box }\n",
		"hostname = mx.test\n" BOX PIPE LMTP "domain b.test { service = box }\n",
		"hostname = mx.test\n" BOX PIPE LMTP "domain a.test { service = p }\n",
		"hostname = mx.test\n" BOX PIPE LMTP
		"domain a.test { service = box addresses = { ann } }\n",
		"hostname = mx.test\n" BOX PIPE LMTP
		"domain a.test { service = box addresses = { bob } }\n",
		"hostname = mx.test\nrecipient_delimiter = \"-\"\n" BOX PIPE LMTP
		"domain a.test { service = box }\n",
		"hostname = mx.test\n"
		"service box { kind = maildir path = /n/%u }\n" PIPE LMTP
		"domain a.test { service = box }\n",
		"hostname = mx.test\n" BOX
		"service p { kind = pipe command = { \"/bin/p\", \"%a\" } user = nobody }\n" LMTP
		"domain a.test { service = box }\n",
		"hostname = mx.test\n" BOX PIPE
		"service l { kind = lmtp address = unix:/l servers = { \"192.0.2.8:24\" } }\n"
		"domain a.test { service = box }\n",
		"hostname = mx.test\n" BOX PIPE
		"service k { kind = lmtp address = unix:/l servers = { "
		"\"192.0.2.7:24\" } }\ndomain a.test { service = box }\n",
		"hostname = mx.test\n" BOX PIPE "service l { kind = maildir path = /l }\n"
		"domain a.test { service = box }\n",
	};
	char identities[COUNT_OF(texts)][SERVER_IDENTITY_SIZE];
	struct config *first = scene.config;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct config *config = config_of(texts[i]), *again = config_of(texts[i]);
		const char *heard;

		directory_server_configure(scene.server, config);
		heard = directory_peer_hear(scene.peer);
		assert_true(strncmp(heard, "reset|", 6) == 0);
		snprintf(identities[i], sizeof identities[i], "%s", scene.server->identity);
		directory_server_configure(scene.server, again);
		assert_string_equal(scene.server->identity, identities[i]);
		assert_string_equal(directory_peer_hear_now(scene.peer), "nothing");
		for (size_t k = 0; k < i; k++)
			if (strcmp(identities[k], identities[i]) == 0)
				fail_msg("as in\n%sso in\n%s", texts[k], texts[i]);
		directory_server_configure(scene.server, first);
		assert_true(strncmp(directory_peer_hear(scene.peer), "reset|", 6) == 0);
		config_free(config);
		config_free(again);
	}
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(what_is_known_of_the_store),
		STORE_TEST(each_backend),
		STORE_TEST(data_are_accepted),
		STORE_TEST(others_hear_of_the_store),
		STORE_TEST(an_identity_has_its_configuration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
