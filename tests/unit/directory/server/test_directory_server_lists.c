// SPDX-License-Identifier: ISC
/* Lists by the server, of each beginning, after each key and with each limit, against a plain
 * second form of them. */
#include "config/text.h"
#include "directory/server/internal.h"
#include "test.h"
#include "unit/directory/directory_peer.h"
#include "unit/directory/store/memory_store.h"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static const char *const users[] = {"a", "aa", "ab", "abc", "b", "ba", "c"}; /* in order */

static struct os_loop *loop;
static struct memory_store *store;
static struct config *config;
static struct directory_server *server;
static struct directory_peer *peer;

static int set_up(void **state)
{
	struct directory_transport transport;
	struct config_problems problems;
	int sockets[2];

	(void)state;
	loop = os_loop_new();
	store = memory_store_new(loop);
	for (size_t i = 0; i < COUNT_OF(users); i++) {
		char text[60];

		snprintf(text, sizeof text, "user %s|name %s", users[i], users[i]);
		memory_store_put(store, text);
	}
	assert_int_equal(config_parse("t", STR("hostname = mx.example.org\n"), &config, &problems),
			 0);
	config_problems_clear(&problems);
	server = directory_server_new(loop, &store->base, config);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
	directory_transport_plain(sockets[0], &transport);
	directory_server_accept(server, &transport, DIRECTORY_ROLE_READ | DIRECTORY_ROLE_LIST,
				"uid 0");
	peer = directory_peer_new(loop, sockets[1]);
	(void)directory_peer_hear(peer); /* its greeting */
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	directory_peer_free(peer);
	directory_server_free(server);
	memory_store_free(store);
	config_free(config);
	os_loop_free(loop);
	return 0;
}

/* The names that a list has, each before a blank. */
static void list_plainly(const char *prefix, const char *after, size_t limit, struct buffer *out)
{
	size_t count = 0;

	for (size_t i = 0; i < COUNT_OF(users) && count < limit; i++) {
		if (strncmp(users[i], prefix, strlen(prefix)) != 0 ||
		    (*after != '\0' && strcmp(users[i], after) <= 0))
			continue;
		buffer_append_format(out, "%s ", users[i]);
		count++;
	}
}

static void list_by_server(const char *prefix, const char *after, size_t limit, struct buffer *out)
{
	char frame[100];
	struct str rest, word;

	snprintf(frame, sizeof frame, "list|7|user|%s|%s|%zu", prefix, after, limit);
	directory_peer_say(peer, frame);
	rest = str_from(directory_peer_hear(peer));
	if (!str_starts_with(rest, STR("val|7|")))
		fail_msg("%s: " STR_FORMAT, frame, STR_ARGUMENTS(rest));
	while (str_split(&rest, '|', &word))
		if (str_starts_with(word, STR(DIRECTORY_RECORD_BEGINS " ")))
			buffer_append_format(out, STR_FORMAT " ", STR_ARGUMENTS(str_skip(word, 2)));
}

static void each_list_is_as_the_plain_one(void **state)
{
	static const char *const texts[] = {"", "a", "ab", "abc", "abd", "b", "c", "d"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts) * COUNT_OF(texts) * 8; i++) {
		const char *prefix = texts[i / 8 % COUNT_OF(texts)];
		const char *after = texts[i / 8 / COUNT_OF(texts)];
		struct buffer plain CLEANUP(buffer_clear) = {0}, said CLEANUP(buffer_clear) = {0};

		list_plainly(prefix, after, i % 8 + 1, &plain);
		list_by_server(prefix, after, i % 8 + 1, &said);
		if (!str_equal(buffer_view(&plain), buffer_view(&said)))
			fail_msg("\"%s\" after \"%s\", %zu: " STR_FORMAT "instead of " STR_FORMAT,
				 prefix, after, i % 8 + 1, STR_ARGUMENTS(buffer_view(&said)),
				 STR_ARGUMENTS(buffer_view(&plain)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_list_is_as_the_plain_one, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
