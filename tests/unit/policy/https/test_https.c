// SPDX-License-Identifier: ISC
/* Requests by HTTPS, against a server on loopback; the DNS is played. */
#include "base/timestamp.h"
#include "https_peer.h"
#include "policy/https/https.h"
#include "test.h"
#include "unit/dns/fake_dns.h"
#include "unit/tls/certificates.h"
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define A(name, text)                                                  \
	{                                                              \
		name, DNS_TYPE_A, DNS_FOUND, true, NULL, DATA(text), 0 \
	}
#define AAAA(name, text)                                                  \
	{                                                                 \
		name, DNS_TYPE_AAAA, DNS_FOUND, true, NULL, DATA(text), 0 \
	}
#define LOOPBACK_6 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"
#define PUBLIC_6   "\x26\6\0\0\0\0\0\0\0\0\0\0\0\0\0\1"

static const struct dns_record records[] = {
	A("a.example", "\177\0\0\1"),
	A("b.example", "\177\0\0\1"),
	AAAA("both.example", LOOPBACK_6),
	A("both.example", "\177\0\0\1"),
	AAAA("mixed.example", PUBLIC_6),
	A("mixed.example", "\177\0\0\1"),
	AAAA("private.example", LOOPBACK_6),
	A("public.example", "\10\10\10\10"),
	{.name = NULL},
};

static struct {
	char directory[SCRATCH_SIZE];
	struct os_loop *loop;
	struct https *https;
	uint16_t port;
	unsigned answers;
	struct https_answer answer; /* the last one, with copies of its texts: */
	char reason[400], type[100], body[4000];
	long limits[3];      /* that the library was last told */
	char addresses[400]; /* likewise */
	int64_t first_us;    /* timer */
	bool is_hurried;     /* all timers of a second and more run out soon */
	bool is_library_broken, is_memory_short;
} world;

static const CURLoption LIMITS[] = {CURLOPT_CONNECTTIMEOUT, CURLOPT_DNS_CACHE_TIMEOUT,
				    CURLOPT_CA_CACHE_TIMEOUT};

/* ---- what the library is told ---- */

#undef curl_easy_setopt
CURLcode __real_curl_easy_setopt(CURL *easy, CURLoption option, ...);
CURLcode __wrap_curl_easy_setopt(CURL *easy, CURLoption option, ...);
CURLcode __wrap_curl_easy_setopt(CURL *easy, CURLoption option, ...)
{
	va_list list;
	void *value;

	va_start(list, option);
	value = va_arg(list, void *);
	va_end(list);
	for (size_t i = 0; i < COUNT_OF(LIMITS); i++)
		if (option == LIMITS[i])
			world.limits[i] = (long)(intptr_t)value;
	if (option == CURLOPT_RESOLVE)
		snprintf(world.addresses, sizeof world.addresses, "%s",
			 ((const struct curl_slist *)value)->data);
	return __real_curl_easy_setopt(easy, option, value);
}

/* What authenticates is erased before its memory is free. */
void __real_curl_slist_free_all(struct curl_slist *list);
void __wrap_curl_slist_free_all(struct curl_slist *list);
void __wrap_curl_slist_free_all(struct curl_slist *list)
{
	for (const struct curl_slist *one = list; one != NULL; one = one->next)
		assert_null(strstr(one->data, "secret"));
	__real_curl_slist_free_all(list);
}

CURLcode __real_curl_global_init(long flags);
CURLcode __wrap_curl_global_init(long flags);
CURLcode __wrap_curl_global_init(long flags)
{
	return world.is_library_broken ? CURLE_FAILED_INIT : __real_curl_global_init(flags);
}

CURLM *__real_curl_multi_init(void);
CURLM *__wrap_curl_multi_init(void);
CURLM *__wrap_curl_multi_init(void)
{
	return world.is_memory_short ? NULL : __real_curl_multi_init();
}

void __real_os_timer_start(struct os_timer *timer, int64_t delay_us);
void __wrap_os_timer_start(struct os_timer *timer, int64_t delay_us);
void __wrap_os_timer_start(struct os_timer *timer, int64_t delay_us)
{
	if (world.first_us == 0)
		world.first_us = delay_us;
	if (world.is_hurried && delay_us >= SECOND_US)
		delay_us = SECOND_US / 5;
	__real_os_timer_start(timer, delay_us);
}

/* ---- requests ---- */

static void on_answer(void *context, const struct https_answer *answer)
{
	unsigned *left = context;

	world.answers++;
	world.answer = *answer;
	snprintf(world.reason, sizeof world.reason, "%s",
		 answer->reason != NULL ? answer->reason : "NULL");
	snprintf(world.type, sizeof world.type, "%s", answer->type);
	snprintf(world.body, sizeof world.body, "%.*s", (int)answer->body.length,
		 answer->body.data != NULL ? answer->body.data : "");
	if (--*left == 0)
		os_loop_stop(world.loop);
}

static struct https_ask usual_ask(const char *host)
{
	return (struct https_ask){
		.host = host, .port = world.port, .path = "/p?q", .size_max = 1000, .seconds = 20};
}

/* Until the answer is in WORLD. */
static void ask_and_wait(const struct https_ask *ask)
{
	unsigned left = 1;

	world.answers = 0;
	world.first_us = 0;
	assert_non_null(https_ask(world.https, ask, on_answer, &left));
	assert_int_equal(world.answers, 0);
	fake_dns_answer_all();
	os_loop_run(world.loop); /* stopped by the answer */
	assert_int_equal(world.answers, 1);
	assert_int_equal(world.first_us, ask->seconds * SECOND_US);
}

static struct https_peer peer_with(const char *certificate, const char *reply)
{
	struct https_peer peer = {.reply = reply, .count = 1};

	snprintf(peer.certificate, sizeof peer.certificate, "%s",
		 certificates_path(world.directory, certificate, "pem"));
	snprintf(peer.key, sizeof peer.key, "%s",
		 certificates_path(world.directory, certificate, "key"));
	return peer;
}

static void ask_peer(struct https_peer *peer, const struct https_ask *ask)
{
	https_peer_begin(peer);
	ask_and_wait(ask);
	https_peer_end();
}

static void check_answer(enum https_status status, const char *reason)
{
	if (world.answer.status != status || strstr(world.reason, reason) == NULL)
		fail_msg("status %d: %s", (int)world.answer.status, world.reason);
	assert_string_equal(world.type, "");
	assert_int_equal(world.answer.body.length, 0);
	assert_int_equal(world.answer.code, 0);
}

#define HELLO "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"

static void an_answer_comes_whole(void **state)
{
	static const struct {
		const char *reply, *rest;
		unsigned code;
		const char *type, *body;
	} rows[] = {
		{HELLO "Content-Length: 5\r\n\r\n", "hello", 200, "text/plain; charset=utf-8",
		 "hello"},
		{HELLO "Content-Length: 0\r\n\r\n", NULL, 200, "text/plain; charset=utf-8", ""},
		{HELLO "\r\nhel", "lo", 200, "text/plain; charset=utf-8", "hello"},
		{HELLO "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n", "2\r\nlo\r\n0\r\n\r\n",
		 200, "text/plain; charset=utf-8", "hello"},
		{"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno", NULL, 404, "", "no"},
		/* nobody is sent elsewhere */
		{"HTTP/1.1 302 Found\r\nLocation: https://b.example/\r\nContent-Length: 0\r\n\r\n",
		 NULL, 302, "", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct https_peer peer = peer_with("a.example", rows[i].reply);
		struct https_ask ask = usual_ask("a.example");

		peer.rest = rows[i].rest;
		ask_peer(&peer, &ask);
		if (world.answer.status != HTTPS_OK)
			fail_msg("%zu: %s", i, world.reason);
		assert_string_equal(world.reason, "");
		assert_int_equal(world.answer.code, rows[i].code);
		assert_string_equal(world.type, rows[i].type);
		assert_string_equal(world.body, rows[i].body);
		assert_int_equal(world.answer.body.length, strlen(rows[i].body));
	}
}

static bool has(const struct https_peer *peer, const char *text)
{
	return strstr(peer->request, text) != NULL;
}

static void what_a_server_is_asked(void **state)
{
	struct https_peer peer = peer_with("a.example", HELLO "Content-Length: 0\r\n\r\n");
	struct https_ask ask = usual_ask("a.example");
	char host[40];

	(void)state;
	ask_peer(&peer, &ask);
	assert_ptr_equal(strstr(peer.request, "GET /p?q HTTP/1.1\r\n"), peer.request);
	snprintf(host, sizeof host, "Host: a.example:%u\r\n", world.port);
	assert_true(has(&peer, host));
	assert_true(has(&peer, "User-Agent: stagepost\r\n"));
	assert_false(has(&peer, "Content-"));
	assert_false(has(&peer, "Authorization"));
	/* more than a library sends without being asked to go on */
	ask.content = (struct str){memset(calloc(1, 2000), 'x', 2000), 2000};
	ask.content_type = "application/x-test";
	ask.authorization = "Basic secret";
	ask_peer(&peer, &ask);
	assert_ptr_equal(strstr(peer.request, "POST /p?q HTTP/1.1\r\n"), peer.request);
	assert_true(has(&peer, "Content-Type: application/x-test\r\n"));
	assert_true(has(&peer, "Authorization: Basic secret\r\n"));
	assert_true(has(&peer, "Content-Length: 2000\r\n"));
	assert_false(has(&peer, "Expect"));
	assert_int_equal(strspn(strstr(peer.request, "\r\n\r\n") + 4, "x"), 2000);
	free((char *)(uintptr_t)ask.content.data);
	/* nothing to post is posted, too */
	ask = usual_ask("a.example");
	ask.content_type = "application/x-test";
	ask_peer(&peer, &ask);
	assert_true(has(&peer, "POST "));
	assert_true(has(&peer, "Content-Length: 0\r\n"));
}

/* At the bound, and one byte beyond; told before, and not. */
static void an_answer_has_a_largest_size(void **state)
{
	static const char *const replies[] = {HELLO "Content-Length: 5\r\n\r\nhello",
					      HELLO "\r\nhello"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(replies); i++)
		for (size_t most = 4; most <= 6; most++) {
			struct https_peer peer = peer_with("a.example", replies[i]);
			struct https_ask ask = usual_ask("a.example");

			ask.size_max = most;
			ask_peer(&peer, &ask);
			if (most == 4) {
				check_answer(HTTPS_TOO_LARGE, "the answer is too large");
				continue;
			}
			assert_int_equal(world.answer.status, HTTPS_OK);
			assert_string_equal(world.body, "hello");
		}
}

static void parts_count_together(void **state)
{
	struct https_peer peer = peer_with("a.example", HELLO "\r\nhel");
	struct https_ask ask = usual_ask("a.example");

	(void)state;
	peer.rest = "lo";
	for (ask.size_max = 3; ask.size_max <= 5; ask.size_max++) {
		ask_peer(&peer, &ask);
		assert_int_equal(world.answer.status,
				 ask.size_max < 5 ? HTTPS_TOO_LARGE : HTTPS_OK);
	}
}

static void servers_that_are_not_trusted(void **state)
{
	static const struct {
		const char *certificate;
		bool is_old;
		enum https_status status;
	} rows[] = {
		{"foreign-a.example", false, HTTPS_UNTRUSTED},
		{"b.example", false, HTTPS_UNTRUSTED},
		{"expired-a.example", false, HTTPS_UNTRUSTED},
		{"common-a.example", false, HTTPS_UNTRUSTED}, /* no alternative name */
		{"a.example", true, HTTPS_FAILED},            /* TLS 1.1 */
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct https_peer peer =
			peer_with(rows[i].certificate, HELLO "Content-Length: 0\r\n\r\n");
		struct https_ask ask = usual_ask("a.example");

		peer.is_old = rows[i].is_old;
		ask_peer(&peer, &ask);
		if (world.answer.status != rows[i].status)
			fail_msg("%s: %d: %s", rows[i].certificate, (int)world.answer.status,
				 world.reason);
		assert_string_not_equal(world.reason, "");
		assert_string_equal(peer.request, "");
	}
}

static void what_is_no_answer(void **state)
{
	static const char *const replies[] = {"", HELLO "Content-Length: 6\r\n\r\nhello",
					      "220 mail.example ESMTP\r\n"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(replies); i++) {
		struct https_peer peer = peer_with("a.example", replies[i]);
		struct https_ask ask = usual_ask("a.example");

		ask_peer(&peer, &ask);
		if (world.answer.status != HTTPS_FAILED)
			fail_msg("%zu: %d %s", i, (int)world.answer.status, world.body);
		assert_string_not_equal(world.reason, "");
	}
}

static void a_time_for_all_of_it(void **state)
{
	struct https_peer peer = peer_with("a.example", HELLO "Content-Length: 6\r\n\r\nhello");
	struct https_ask ask = usual_ask("a.example");
	unsigned left = 1;

	(void)state;
	world.is_hurried = true;
	peer.hangs = true;
	ask.seconds = 3;
	ask_peer(&peer, &ask);
	check_answer(HTTPS_FAILED, "timeout");
	/* of the search for addresses, too */
	world.answers = 0;
	assert_non_null(https_ask(world.https, &ask, on_answer, &left));
	os_loop_run(world.loop);
	check_answer(HTTPS_FAILED, "timeout");
	world.is_hurried = false;
	/* of a connection; what is known of addresses outlives any request */
	assert_int_equal(world.limits[0], 10);
	assert_int_equal(world.limits[1], 120);
	assert_int_equal(world.limits[2], 600);
}

static void an_address_is_missing(void **state)
{
	struct https_ask ask = usual_ask("none.example");

	(void)state;
	ask_and_wait(&ask);
	check_answer(HTTPS_FAILED, "the relay none.example has no address");
	ask = usual_ask("a.example");
	ask.port = 1;
	ask_and_wait(&ask);
	check_answer(HTTPS_FAILED, "");
	assert_string_not_equal(world.reason, "");
}

/* One that is not answered is no reason not to try the next. */
static void all_addresses_are_tried(void **state)
{
	struct https_peer peer = peer_with("both.example", HELLO "Content-Length: 0\r\n\r\n");
	struct https_ask ask = usual_ask("both.example");
	char expected[100];

	(void)state;
	ask_peer(&peer, &ask);
	assert_int_equal(world.answer.status, HTTPS_OK);
	snprintf(expected, sizeof expected, "+both.example:%u:[::1],127.0.0.1", world.port);
	assert_string_equal(world.addresses, expected);
}

/* What goes elsewhere ends before anything is sent. */
static void private_addresses_are_kept_away_from(void **state)
{
	static const struct {
		const char *host, *says; /* NULL: it is asked */
		const char *addresses;
	} rows[] = {
		{"a.example", "a.example has no public address, but 127.0.0.1 (see https_private)",
		 NULL},
		{"private.example",
		 "private.example has no public address, but ::1 (see https_private)", NULL},
		{"mixed.example", NULL, "+mixed.example:443:[2606::1]"},
		{"public.example", NULL, "+public.example:443:8.8.8.8"},
	};

	(void)state;
	https_configure(world.https, NULL, certificates_path(world.directory, "authority", "pem"),
			false);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct https_ask ask = usual_ask(rows[i].host);
		struct https_request *request;
		unsigned left = 1;

		ask.port = HTTPS_PORT;
		world.answers = 0;
		request = https_ask(world.https, &ask, on_answer, &left);
		fake_dns_answer_all();
		assert_int_equal(world.answers, rows[i].says != NULL);
		if (rows[i].says == NULL) {
			assert_string_equal(world.addresses, rows[i].addresses);
			https_cancel(request);
			continue;
		}
		check_answer(HTTPS_FAILED, rows[i].says);
		os_loop_run(world.loop);
	}
	https_configure(world.https, NULL, certificates_path(world.directory, "authority", "pem"),
			true);
}

/* In each state in which it may be. */
static void a_request_is_cancelled(void **state)
{
	struct https_peer peer = peer_with("a.example", HELLO "Content-Length: 0\r\n\r\n");
	struct https_ask ask = usual_ask("a.example");
	unsigned left = 1;

	(void)state;
	https_cancel(NULL);
	world.answers = 0;
	ask.authorization = "Basic secret";
	https_cancel(https_ask(world.https, &ask, on_answer, &left));
	fake_dns_check_asked("a.example/28 a.example/1 ");
	for (unsigned i = 0; i < 3; i++) {
		struct https_request *request = https_ask(world.https, &ask, on_answer, &left);

		fake_dns_answer_all();
		https_cancel(request);
	}
	assert_int_equal(world.answers, 0);
	ask_peer(&peer, &ask);
	assert_int_equal(world.answer.status, HTTPS_OK);
}

/* Each has a connection of its own: a server may have a new certificate. */
static void several_at_once(void **state)
{
	struct https_peer peer = peer_with("a.example", HELLO "Content-Length: 2\r\n\r\nok");
	struct https_ask ask = usual_ask("a.example");
	unsigned left = 5;

	(void)state;
	peer.count = left;
	world.answers = 0;
	https_peer_begin(&peer);
	for (unsigned i = 0; i < peer.count; i++) {
		(void)https_ask(world.https, &ask, on_answer, &left);
		fake_dns_answer_all();
	}
	os_loop_run(world.loop);
	https_peer_end();
	assert_int_equal(world.answers, 5);
	assert_int_equal(peer.taken, 5);
	assert_int_equal(world.answer.status, HTTPS_OK);
}

static void begin_another(void *context, const struct https_answer *answer)
{
	struct https_ask ask = usual_ask("a.example");

	assert_int_equal(answer->status, HTTPS_OK);
	(void)https_ask(world.https, &ask, on_answer, context);
	fake_dns_answer_all();
}

static void an_answer_begins_another_request(void **state)
{
	struct https_peer peer = peer_with("a.example", HELLO "Content-Length: 2\r\n\r\nok");
	struct https_ask ask = usual_ask("a.example");
	unsigned left = 1;

	(void)state;
	peer.count = 2;
	world.answers = 0;
	https_peer_begin(&peer);
	(void)https_ask(world.https, &ask, begin_another, &left);
	fake_dns_answer_all();
	os_loop_run(world.loop);
	https_peer_end();
	assert_int_equal(world.answers, 1);
	assert_string_equal(world.body, "ok");
}

static void authorities_may_be_changed(void **state)
{
	struct https_peer peer = peer_with("foreign-a.example", HELLO "Content-Length: 0\r\n\r\n");
	struct https_ask ask = usual_ask("a.example");

	(void)state;
	https_configure(world.https, NULL, certificates_path(world.directory, "foreign", "pem"),
			true);
	ask_peer(&peer, &ask);
	assert_int_equal(world.answer.status, HTTPS_OK);
	https_configure(world.https, NULL, certificates_path(world.directory, "authority", "pem"),
			true);
	ask_peer(&peer, &ask);
	assert_int_equal(world.answer.status, HTTPS_UNTRUSTED);
}

static void a_library_that_does_not_begin(void **state)
{
	struct https *https = NULL;

	(void)state;
	world.is_library_broken = true;
	assert_int_equal(https_new(world.loop, &https), -ENOMEM);
	world.is_library_broken = false;
	world.is_memory_short = true;
	assert_int_equal(https_new(world.loop, &https), -ENOMEM);
	world.is_memory_short = false;
	assert_null(https);
	https_free(NULL);
}

/* Each test has a new one, of which nothing is left but what is freed. */
static int begin_https(void **state)
{
	(void)state;
	alarm(15); /* what is never answered fails */
	fake_dns_play(records);
	world.loop = os_loop_new();
	if (https_new(world.loop, &world.https) != 0)
		return -1;
	https_configure(world.https, NULL, certificates_path(world.directory, "authority", "pem"),
			true);
	return 0;
}

static int end_https(void **state)
{
	(void)state;
	https_free(world.https);
	os_loop_free(world.loop);
	fake_dns_end();
	return 0;
}

static int make_peers(void **state)
{
	(void)state;
	world.port = https_peer_listen();
	/* nothing of the environment is followed */
	setenv("https_proxy", "http://127.0.0.1:1", 1);
	setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
	return certificates_make(world.directory,
				 "a.example b.example both.example foreign-a.example "
				 "expired-a.example common-a.example");
}

static int remove_peers(void **state)
{
	(void)state;
	https_peer_close();
	scratch_remove(world.directory);
	return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_https, end_https)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(an_answer_comes_whole),
		CASE(what_a_server_is_asked),
		CASE(an_answer_has_a_largest_size),
		CASE(parts_count_together),
		CASE(servers_that_are_not_trusted),
		CASE(what_is_no_answer),
		CASE(a_time_for_all_of_it),
		CASE(an_address_is_missing),
		CASE(all_addresses_are_tried),
		CASE(private_addresses_are_kept_away_from),
		CASE(a_request_is_cancelled),
		CASE(several_at_once),
		CASE(an_answer_begins_another_request),
		CASE(authorities_may_be_changed),
		CASE(a_library_that_does_not_begin),
	};

	return cmocka_run_group_tests(tests, make_peers, remove_peers);
}
