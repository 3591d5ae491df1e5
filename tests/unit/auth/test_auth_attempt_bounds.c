// SPDX-License-Identifier: ISC
/* How many attempts a process, and one client, may have open; and what it may say of the client's
 * connection. The mechanism is one that Dovecot has, which is played here. */
#include "auth/server/internal.h"
#include "ipc/pack.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

static const struct auth_offered offered = {.name = "PLAIN"};

static struct auth_server server;
static struct auth_asker asker;
static int refused; /* why the last attempt was; -1: it was not */

/* What of the peer a mechanism sees of the last attempt. */
static size_t exporter_length, end_point_length;

const struct auth_offered *auth_offer_find(const struct auth_server *of, struct str name)
{
	(void)of;
	return str_equal(name, STR("PLAIN")) ? &offered : NULL;
}

bool auth_offer_has_binding(const struct auth_server *of)
{
	(void)of;
	return false;
}

void auth_attempt_send_refusal(struct auth_asker *of, uint32_t tag, enum auth_refusal refusal)
{
	(void)of, (void)tag;
	refused = (int)refusal;
}

void auth_attempt_pass(struct auth_attempt *attempt, bool has_initial, struct str initial,
		       struct str certificate_name)
{
	(void)has_initial, (void)initial, (void)certificate_name;
	exporter_length = attempt->peer.exporter.length;
	end_point_length = attempt->peer.end_point.length;
}

void auth_attempt_pass_on(struct auth_attempt *attempt, struct str message)
{
	(void)attempt, (void)message;
}

void auth_attempt_advance(struct auth_attempt *attempt)
{
	(void)attempt;
	fail_msg("the mechanism is Dovecot's");
}

/* As end.c does it. */
static void end_attempt(struct auth_attempt *attempt)
{
	auth_tally_remove(&server, &attempt->client);
	HASH_DEL(asker.attempts, attempt);
	buffer_clear(&attempt->texts);
	free(attempt);
}

static int set_up(void **state)
{
	(void)state;
	server = (struct auth_server){.failures = auth_failures_new()};
	asker = (struct auth_asker){.server = &server};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	while (asker.attempts != NULL)
		end_attempt(asker.attempts);
	assert_null(server.tallies);
	auth_failures_free(server.failures);
	return 0;
}

/* CLIENT: the last bytes of an address; 0: it comes by a UNIX socket. Whether the message is well
 * formed. */
static bool begin_attempt(uint32_t tag, uint32_t client, size_t exporter, size_t end_point)
{
	static const char texts[AUTH_BINDING_MAX + 1];
	struct buffer body CLEANUP(buffer_clear) = {0};
	struct in6_addr address = {0};
	bool is_good;

	if (client != 0) {
		memset(address.s6_addr + 10, 0xff, 2); /* IPv4 mapped */
		memcpy(address.s6_addr + 12, &client, sizeof client);
	}
	pack_str(&body, str_slice((const char *)address.s6_addr, sizeof address));
	pack_u32(&body, 1);
	pack_str(&body, str_slice(texts, exporter));
	pack_str(&body, str_slice(texts, end_point));
	for (unsigned i = 0; i < 3; i++)
		pack_str(&body, STR(""));
	pack_u32(&body, 25);
	pack_str(&body, STR(""));
	pack_str(&body, STR("PLAIN"));
	pack_u32(&body, 0);
	pack_str(&body, STR(""));
	refused = -1;
	is_good = auth_attempt_begin(&asker, tag, buffer_view(&body));
	return is_good;
}

static void a_client_has_so_many_attempts(void **state)
{
	uint32_t tag = 1;

	(void)state;
	for (; tag <= AUTH_ATTEMPTS_CLIENT_MAX; tag++) {
		assert_true(begin_attempt(tag, 7, 0, 0));
		assert_int_equal(refused, -1);
	}
	assert_true(begin_attempt(tag, 7, 0, 0));
	assert_int_equal(refused, AUTH_TEMPORARY);
	assert_true(begin_attempt(tag, 8, 0, 0)); /* another one */
	assert_int_equal(refused, -1);
	end_attempt(asker.attempts);
	assert_true(begin_attempt(tag + 1, 7, 0, 0));
	assert_int_equal(refused, -1);
}

/* On UNIX sockets there are no clients to be told apart. */
static void a_process_has_so_many_attempts(void **state)
{
	(void)state;
	for (uint32_t tag = 0; tag < AUTH_OPEN_MAX; tag++) {
		assert_true(begin_attempt(tag, 0, 0, 0));
		assert_int_equal(refused, -1);
	}
	assert_true(begin_attempt(AUTH_OPEN_MAX, 0, 0, 0));
	assert_int_equal(refused, AUTH_TEMPORARY);
	assert_true(begin_attempt(AUTH_OPEN_MAX, 7, 0, 0));
	assert_int_equal(refused, AUTH_TEMPORARY);
	end_attempt(asker.attempts);
	assert_true(begin_attempt(AUTH_OPEN_MAX, 0, 0, 0));
	assert_int_equal(refused, -1);
}

static void a_binding_has_so_many_bytes(void **state)
{
	(void)state;
	assert_true(begin_attempt(1, 7, AUTH_BINDING_MAX, AUTH_BINDING_MAX));
	assert_int_equal(refused, -1);
	assert_int_equal(exporter_length, AUTH_BINDING_MAX);
	assert_int_equal(end_point_length, AUTH_BINDING_MAX);
	assert_false(begin_attempt(2, 7, AUTH_BINDING_MAX + 1, 0));
	assert_false(begin_attempt(2, 7, 0, AUTH_BINDING_MAX + 1));
	assert_int_equal(HASH_COUNT(asker.attempts), 1);
}

#define ATTEMPT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ATTEMPT_TEST(a_client_has_so_many_attempts),
		ATTEMPT_TEST(a_process_has_so_many_attempts),
		ATTEMPT_TEST(a_binding_has_so_many_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
