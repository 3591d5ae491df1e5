// SPDX-License-Identifier: ISC
/* Requests by HTTPS of one client, each after each other one: it must go as if it were the first.
 * The server is on loopback, and the DNS is played. */
#include "https_peer.h"
#include "pairs.h"
#include "policy/https/https.h"
#include "test.h"
#include "unit/dns/fake_dns.h"
#include "unit/tls/certificates.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELLO "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"

static const struct dns_record records[] = {
	{"a.example", DNS_TYPE_A, DNS_FOUND, true, NULL, DATA("\177\0\0\1"), 0},
	{"b.example", DNS_TYPE_A, DNS_FOUND, true, NULL, DATA("\177\0\0\1"), 0},
	{.name = NULL},
};

static const struct life {
	const char *name, *host;
	const char *certificate, *reply; /* NULL: nobody is asked */
	const char *content, *authorization;
	bool is_cancelled;
} lives[] = {
	{"an answer", "a.example", "a.example", HELLO "Content-Length: 5\r\n\r\nhello"},
	{"an empty one", "b.example", "b.example", HELLO "Content-Length: 0\r\n\r\n"},
	{"one in parts", "a.example", "a.example",
	 HELLO "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"},
	{"a refusal", "a.example", "a.example", "HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno"},
	{"a post", "a.example", "a.example", HELLO "Content-Length: 2\r\n\r\nok", "all that",
	 "Basic secret"},
	{"another post", "b.example", "b.example", HELLO "Content-Length: 2\r\n\r\nok", ""},
	{"too much", "a.example", "a.example", HELLO "Content-Length: 5000\r\n\r\nhello"},
	{"an answer that is cut", "a.example", "a.example",
	 HELLO "Content-Length: 50\r\n\r\nhello"},
	{"what is no answer", "a.example", "a.example", "220 hello\r\n"},
	{"a foreign server", "a.example", "foreign-a.example", HELLO "\r\n"},
	{"another server", "a.example", "b.example", HELLO "\r\n"},
	{"one that is given up", "a.example", NULL, NULL, .is_cancelled = true},
};

enum { LIVES = COUNT_OF(lives) };

static struct {
	char directory[SCRATCH_SIZE];
	struct os_loop *loop;
	struct https *https;
	uint16_t port;
	struct buffer said;
} world;

static void open_client(void)
{
	assert_int_equal(https_new(world.loop, &world.https), 0);
	https_configure(world.https, NULL, certificates_path(world.directory, "authority", "pem"),
			true);
}

/* What is in it of numbers may be a time. */
static void append_without_numbers(struct buffer *out, const char *text)
{
	for (; *text != '\0'; text++)
		if (!isdigit((unsigned char)*text))
			buffer_append_byte(out, *text);
}

static void on_answer(void *context, const struct https_answer *answer)
{
	(void)context;
	buffer_append_format(&world.said, "status %d, code %u, type %s, body " STR_FORMAT ": ",
			     (int)answer->status, answer->code, answer->type,
			     STR_ARGUMENTS(answer->body));
	append_without_numbers(&world.said, answer->reason);
	buffer_append_byte(&world.said, '\n');
	os_loop_stop(world.loop);
}

static struct https_peer peer_of(const struct life *life)
{
	struct https_peer peer = {.reply = life->reply, .count = 1};

	snprintf(peer.certificate, sizeof peer.certificate, "%s",
		 certificates_path(world.directory, life->certificate, "pem"));
	snprintf(peer.key, sizeof peer.key, "%s",
		 certificates_path(world.directory, life->certificate, "key"));
	return peer;
}

/* What came of it is in WORLD. */
static void play_life(const struct life *life)
{
	const struct https_ask ask = {.host = life->host,
				      .port = world.port,
				      .path = "/p",
				      .size_max = 1000,
				      .seconds = 20,
				      .content_type = life->content != NULL ? "text/x" : NULL,
				      .content =
					      str_from(life->content != NULL ? life->content : ""),
				      .authorization = life->authorization};
	struct https_peer peer = {.count = 0};
	struct https_request *request;

	buffer_reset(&world.said);
	if (life->reply != NULL) {
		peer = peer_of(life);
		https_peer_begin(&peer);
	}
	request = https_ask(world.https, &ask, on_answer, NULL);
	assert_non_null(request);
	if (life->is_cancelled) {
		https_cancel(request);
		return;
	}
	fake_dns_answer_all();
	os_loop_run(world.loop);
	https_peer_end();
	buffer_append_string(&world.said, peer.request);
}

static const char *name_of_life(size_t number)
{
	return lives[number].name;
}

static void play_numbered_life(size_t number)
{
	play_life(&lives[number]);
}

static void close_client(void)
{
	https_free(world.https);
}

static void each_after_each_other_one(void **state)
{
	static const struct pairs pairs = {
		LIVES, name_of_life, open_client, play_numbered_life, close_client, &world.said};

	(void)state;
	check_pairs(&pairs);
}

static int set_up(void **state)
{
	(void)state;
	alarm(60); /* what is never answered fails */
	fake_dns_play(records);
	world.loop = os_loop_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	alarm(0);
	os_loop_free(world.loop);
	fake_dns_end();
	buffer_clear(&world.said);
	return 0;
}

static int make_peers(void **state)
{
	(void)state;
	world.port = https_peer_listen();
	return certificates_make(world.directory, "a.example b.example foreign-a.example");
}

static int remove_peers(void **state)
{
	(void)state;
	https_peer_close();
	return scratch_remove(world.directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_after_each_other_one, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, make_peers, remove_peers);
}
