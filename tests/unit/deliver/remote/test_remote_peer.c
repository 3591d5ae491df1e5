// SPDX-License-Identifier: ISC
/* How servers are named: each kind of address and port, with names up to the longest. */
#include "base/panic.h"
#include "deliver/remote/route/peer.h"
#include "test.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct dns_server server_of(const char *host, const char *address, uint16_t port)
{
	struct dns_server server = {.host = host};

	if (strchr(address, '/') != NULL) {
		server.address.any.sa_family = AF_UNIX;
	} else if (strchr(address, ':') != NULL) {
		server.address.v6.sin6_family = AF_INET6;
		server.address.v6.sin6_port = htons(port);
		assert_int_equal(inet_pton(AF_INET6, address, &server.address.v6.sin6_addr), 1);
	} else {
		server.address.v4.sin_family = AF_INET;
		server.address.v4.sin_port = htons(port);
		assert_int_equal(inet_pton(AF_INET, address, &server.address.v4.sin_addr), 1);
	}
	return server;
}

/* In memory that has no byte more. */
static void check_peer(const struct dns_server *server, const char *wanted)
{
	char *peer = malloc(REMOTE_PEER_SIZE);
	struct mail_verdict verdict;
	char text[600];

	assert_non_null(peer);
	memset(peer, 'x', REMOTE_PEER_SIZE);
	remote_peer_format(server, peer);
	assert_string_equal(peer, wanted);
	free(peer);
	remote_peer_unreachable(&verdict, server, "no route");
	snprintf(text, sizeof text, "connect to %s: no route", wanted);
	assert_string_equal(verdict.status, "4.4.1");
	assert_string_equal(verdict.text, text);
}

static void each_server_has_a_name(void **state)
{
	static const struct {
		const char *host, *address;
		uint16_t port;
		const char *peer;
	} cases[] = {
		{"mx.test", "192.0.2.7", 25, "mx.test[192.0.2.7]"},
		{"mx.test", "192.0.2.7", 26, "mx.test[192.0.2.7]:26"},
		{"mx.test", "2001:db8::7", 25, "mx.test[2001:db8::7]"},
		{"mx.test", "2001:db8::7", 65535, "mx.test[2001:db8::7]:65535"},
		{"192.0.2.7", "192.0.2.7", 25, "192.0.2.7"},
		{"192.0.2.7", "192.0.2.7", 24, "192.0.2.7:24"},
		{"192.0.2.7", "192.0.2.8", 24, "192.0.2.7[192.0.2.8]:24"},
		{"/run/lmtp", "/run/lmtp", 0, "/run/lmtp"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct dns_server server =
			server_of(cases[i].host, cases[i].address, cases[i].port);

		check_peer(&server, cases[i].peer);
	}
}

/* What has no room is cut off. */
static void a_long_name_is_cut_off(void **state)
{
	char host[REMOTE_PEER_SIZE + 40];

	(void)state;
	for (size_t length = REMOTE_PEER_SIZE - 40; length < sizeof host; length++) {
		struct dns_server server = server_of(host, "192.0.2.7", 2525);
		char whole[2 * REMOTE_PEER_SIZE];
		char *peer = malloc(REMOTE_PEER_SIZE);

		memset(host, 'h', length);
		host[length] = '\0';
		snprintf(whole, sizeof whole, "%s[192.0.2.7]:2525", host);
		whole[REMOTE_PEER_SIZE - 1] = '\0';
		remote_peer_format(&server, peer);
		assert_string_equal(peer, whole);
		free(peer);
	}
}

static void a_lack_of_ours_says_nothing_of_a_server(void **state)
{
	static const int ours[] = {-EMFILE, -ENFILE, -ENOBUFS, -ENOMEM, -EAGAIN};

	(void)state;
	for (int error = 1; error < 134; error++) {
		bool is_ours = false;

		for (size_t i = 0; i < COUNT_OF(ours); i++)
			is_ours |= ours[i] == -error;
		assert_int_equal(remote_peer_is_absent(-error), !is_ours);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_server_has_a_name),
		cmocka_unit_test(a_long_name_is_cut_off),
		cmocka_unit_test(a_lack_of_ours_says_nothing_of_a_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
