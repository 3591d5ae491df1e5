// SPDX-License-Identifier: ISC
/* Questions and counts that come to "policy", each field at its bounds and beyond: what is
 * malformed ends the connection, and what is not comes through whole. */
#include "base/buffer.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "os/socket/socket.h"
#include "policy/sts/cache.h"
#include "policy/sts/protocol.h"
#include "policy/sts/server.h"
#include "policy/tlsrpt/session.h"
#include "scratch.h"
#include "test.h"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct {
	struct os_loop *loop;
	struct os_timer *enough;
	struct sts_server *server;
	struct ipc_channel *channel; /* of a client; NULL: it is closed */
	unsigned lost, answers;
	/* what has come */
	unsigned questions, counts;
	char domain[300];
	struct tlsrpt_session session;
	char texts[7][TLSRPT_TEXT_MAX + 1];
} world;

/* --- the cache --- */

void sts_cache_ask(struct sts_cache *cache, struct str domain, struct sts_request *request)
{
	static const struct sts_answer none = {.kind = STS_NONE};

	(void)cache;
	world.questions++;
	assert_int_equal(request->rank, STS_RANK_REMOTE);
	snprintf(world.domain, sizeof world.domain, STR_FORMAT, STR_ARGUMENTS(domain));
	request->done(request->context, &none);
}

void sts_request_cancel(struct sts_request *request)
{
	(void)request;
}

static void on_count(void *context, const struct tlsrpt_session *session)
{
	const struct str texts[] = {
		session->domain,         session->text,        session->host,  session->greeting,
		session->server_address, session->own_address, session->reason};

	assert_ptr_equal(context, &world);
	world.counts++;
	world.session = *session;
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		snprintf(world.texts[i], sizeof world.texts[i], STR_FORMAT,
			 STR_ARGUMENTS(texts[i]));
}

/* --- a client --- */

static void on_client_message(void *context, struct ipc_channel *channel,
			      struct ipc_message *message)
{
	(void)context;
	(void)channel;
	assert_int_equal(message->type, STS_ANSWER);
	assert_int_equal(message->tag, 77);
	world.answers++;
	os_loop_stop(world.loop);
}

static void on_client_lost(void *context, struct ipc_channel *channel)
{
	(void)context;
	ipc_channel_close(channel);
	world.channel = NULL;
	world.lost++;
	os_loop_stop(world.loop);
}

static void on_enough(void *context)
{
	(void)context;
	os_loop_stop(world.loop);
}

/* Whether the server takes it: then the question after it is answered. */
static bool is_taken(uint16_t type, struct str body)
{
	static const struct ipc_channel_handler handler = {on_client_message, on_client_lost};
	struct buffer question = {0};

	if (world.channel == NULL) {
		int socket = os_socket_connect_unix("s", SOCK_SEQPACKET);

		assert_true(socket >= 0);
		world.channel = ipc_channel_new(world.loop, socket, &handler, NULL);
	}
	world.questions = world.counts = world.answers = world.lost = 0;
	ipc_channel_send(world.channel, type, 77, body, NULL, 0);
	if (type == STS_COUNT) {
		pack_str(&question, STR("after.test"));
		ipc_channel_send(world.channel, STS_ASK, 77, buffer_view(&question), NULL, 0);
		buffer_clear(&question);
	}
	os_timer_start(world.enough, 30000000);
	os_loop_run(world.loop);
	os_timer_stop(world.enough);
	assert_int_equal(world.answers + world.lost, 1);
	return world.lost == 0;
}

/* --- questions --- */

static void check_question(struct str domain, bool is_good)
{
	struct buffer body = {0};

	pack_str(&body, domain);
	assert_int_equal(is_taken(STS_ASK, buffer_view(&body)), is_good);
	assert_int_equal(world.questions, is_good);
	if (is_good)
		assert_true(str_equal(domain, str_from(world.domain)));
	buffer_clear(&body);
}

static char long_domain[STS_DOMAIN_MAX + 10];

static void which_questions_are_taken(void **state)
{
	struct buffer body = {0};

	(void)state;
	check_question(STR("a.test"), true);
	check_question(STR("1-a.b-2.test"), true);
	check_question(STR("A.test"), false);
	check_question(STR("a.tesT"), false);
	check_question(STR("aZ.test"), false);
	check_question(STR("-a.test"), false);
	check_question(STR("a..test"), false);
	check_question(STR(""), false);
	check_question(str_slice(long_domain, STS_DOMAIN_MAX - 1), true);
	check_question(str_slice(long_domain, STS_DOMAIN_MAX), true);
	check_question(str_slice(long_domain, STS_DOMAIN_MAX + 1), false);
	pack_str(&body, STR("a.test"));
	for (size_t length = 0; length < body.length; length++)
		assert_false(is_taken(STS_ASK, str_slice(buffer_data(&body), length)));
	buffer_append_byte(&body, '\0');
	assert_false(is_taken(STS_ASK, buffer_view(&body)));
	assert_false(is_taken(STS_ANSWER, STR("")));
	assert_false(is_taken(STS_ANSWER + 1, STR("")));
	assert_false(is_taken(0, STR("")));
	buffer_clear(&body);
}

/* --- counts --- */

static const char *const good_texts[] = {"a.test",    "3 1 1 AB",    "mx.a.test", "greeting.test",
					 "192.0.2.1", "2001:db8::1", "reason"};

static void pack_session(struct buffer *body, struct str domain, uint32_t policy, struct str text,
			 uint32_t result)
{
	pack_str(body, domain);
	pack_u32(body, policy);
	pack_str(body, text);
	pack_u32(body, result);
	for (size_t i = 2; i < COUNT_OF(good_texts); i++)
		pack_str(body, str_from(good_texts[i]));
}

static void check_count(struct str domain, uint32_t policy, struct str text, uint32_t result,
			bool is_good)
{
	struct buffer body = {0};

	pack_session(&body, domain, policy, text, result);
	assert_int_equal(is_taken(STS_COUNT, buffer_view(&body)), is_good);
	assert_int_equal(world.counts, is_good);
	buffer_clear(&body);
	if (!is_good)
		return;
	assert_int_equal(world.session.policy, policy);
	assert_int_equal(world.session.result, result);
	assert_true(str_equal(str_from(world.texts[0]), domain));
	assert_true(str_equal(str_from(world.texts[1]), text));
	for (size_t i = 2; i < COUNT_OF(good_texts); i++)
		assert_string_equal(world.texts[i], good_texts[i]);
}

static void which_counts_are_taken(void **state)
{
	static char text[TLSRPT_TEXT_MAX + 1];
	const struct str domain = STR("a.test"), record = str_from(good_texts[1]);
	struct buffer body = {0};

	(void)state;
	memset(text, 't', sizeof text);
	for (uint32_t policy = 0; policy < TLSRPT_POLICIES; policy++)
		for (uint32_t result = 0; result < TLSRPT_RESULTS; result++)
			check_count(domain, policy, record, result, true);
	check_count(domain, TLSRPT_POLICIES, record, 0, false);
	check_count(domain, UINT32_MAX, record, 0, false);
	check_count(domain, 0, record, TLSRPT_RESULTS, false);
	check_count(domain, 0, record, UINT32_MAX, false);
	check_count(STR("A.test"), 0, record, 0, false);
	check_count(STR("a..test"), 0, record, 0, false);
	check_count(str_slice(long_domain, STS_DOMAIN_MAX), 0, record, 0, true);
	check_count(str_slice(long_domain, STS_DOMAIN_MAX + 1), 0, record, 0, false);
	check_count(domain, 0, STR(""), 0, true);
	check_count(domain, 0, str_slice(text, TLSRPT_TEXT_MAX), 0, true);
	check_count(domain, 0, str_slice(text, TLSRPT_TEXT_MAX + 1), 0, false);
	pack_session(&body, domain, 0, record, 0);
	for (size_t length = 0; length < body.length; length++)
		assert_false(is_taken(STS_COUNT, str_slice(buffer_data(&body), length)));
	buffer_append_byte(&body, '\0');
	assert_false(is_taken(STS_COUNT, buffer_view(&body)));
	buffer_clear(&body);
	/* nobody counts: it is taken, and forgotten */
	sts_server_on_count(world.server, NULL, NULL);
	pack_session(&body, domain, 0, record, 0);
	assert_true(is_taken(STS_COUNT, buffer_view(&body)));
	assert_int_equal(world.counts, 0);
	buffer_clear(&body);
}

static char directory[SCRATCH_SIZE];
static int listening = -1;

static int set_up(void **state)
{
	const struct sts_users users = {.remote = getuid(), .owner = getuid()};

	(void)state;
	alarm(60);
	for (size_t i = 0; i < sizeof long_domain; i++)
		long_domain[i] = i % 50 == 30 ? '.' : 'x';
	memset(&world, 0, sizeof world);
	if (scratch_make(directory) != 0 || chdir(directory) != 0)
		return -1;
	world.loop = os_loop_new();
	world.enough = os_timer_new(world.loop, on_enough, NULL);
	listening = os_socket_listen_unix("s", SOCK_SEQPACKET, 0600);
	world.server = sts_server_new(world.loop, listening, NULL, &users);
	sts_server_on_count(world.server, on_count, &world);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ipc_channel_close(world.channel);
	sts_server_free(world.server);
	sts_server_free(NULL);
	os_timer_free(world.enough);
	os_loop_free(world.loop);
	close(listening);
	return chdir("/") == 0 ? scratch_remove(directory) : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(which_questions_are_taken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(which_counts_are_taken, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
