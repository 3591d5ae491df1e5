// SPDX-License-Identifier: ISC
/* What the server tells its manager: each call that it makes. */
#include "played_server.h"
#include "test.h"
#include <string.h>

static int set_up(void **state)
{
	(void)state;
	played_begin();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	played_end();
	return 0;
}

/* --- who manages --- */

static bool say_manage(struct server_client *client, struct str body)
{
	struct unpack unpack = {body, false};

	return server_manage(client, &unpack);
}

#define TOKEN STR("\6\0\0\0send-1")

static void begin_with_tokens(void)
{
	static const struct ipc_tokens tokens = {{{"send", "send-1"}}, 1};

	played.server.peers.tokens = &tokens;
	played.server.peers.manager.user = 5;
	played.manager.user = 5;
}

static void who_may_manage(void **state)
{
	(void)state;
	begin_with_tokens();
	assert_false(say_manage(&played.manager, STR("\6\0\0\0send-2")));
	assert_false(say_manage(&played.manager, STR("\6\0\0\0send-1x")));
	assert_false(say_manage(&played.manager, STR("\6\0\0\0send-")));
	played.manager.user = 6;
	assert_false(say_manage(&played.manager, TOKEN));
	played_expect("");
	assert_null(played.server.manager);
	assert_null(played.server.managing);
}

/* What was for the one before it is not for the new one, and what is not settled comes first. */
static void a_manager_comes(void **state)
{
	struct queue_server *server = &played.server;

	(void)state;
	begin_with_tokens();
	buffer_append_string(&server->notice, "x");
	buffer_append_string(&server->removed, "x");
	buffer_append_string(&server->moved, "x");
	buffer_append_string(&server->refused, "x");
	server->has_missed = true;
	server->manager = &played.other;
	assert_true(say_manage(&played.manager, TOKEN));
	played_expect("MANAGED\n");
	assert_ptr_equal(server->manager, &played.manager);
	assert_null(server->managing);
	assert_false(server->has_missed);
	assert_int_equal(server->notice.length + server->removed.length + server->moved.length +
				 server->refused.length,
			 0);
	played.is_settled = false;
	assert_true(say_manage(&played.manager, TOKEN));
	played_expect("an empty group\n");
	assert_null(server->manager);
	server_tell_settled(server);
	played_expect("settle in 100 ms\n");
	played.is_settled = true;
	server_tell_settled(server);
	played_expect("MANAGED\n");
	assert_ptr_equal(server->manager, &played.manager);
	assert_null(server->managing);
	server_tell_settled(server);
	played_expect("");
	played.held = 1;
	server_tell_settled(server);
	played_expect("");
}

static bool say_cleaned(struct server_client *client, const char *body)
{
	struct unpack unpack = {str_from(body), false};

	return server_cleaned(client, &unpack);
}

static void names_are_trusted_when_both_have_cleaned(void **state)
{
	(void)state;
	assert_false(say_cleaned(&played.manager, ""));
	played_manage();
	assert_false(say_cleaned(&played.other, ""));
	assert_false(say_cleaned(&played.manager, "x"));
	assert_true(say_cleaned(&played.manager, ""));
	played_expect("");
	played.server.is_cleaned = true;
	assert_true(say_cleaned(&played.manager, ""));
	played_expect("trust names\n");
}

/* --- news --- */

static void add_notice(uint64_t number, size_t text, size_t data, size_t data_size)
{
	struct server_held held = {
		.number = number, .stage = MAIL_STAGE_ARRIVE, .data_size = data_size};

	memset(buffer_reserve(&held.text, text), 't', text);
	buffer_commit(&held.text, text);
	memset(buffer_reserve(&held.data, data), 'd', data);
	buffer_commit(&held.data, data);
	server_notice_add(&played.server, &held);
	buffer_clear(&held.text);
	buffer_clear(&held.data);
}

static void news_go_together(void **state)
{
	struct queue_server *server = &played.server;

	(void)state;
	add_notice(1, 2, 0, 0);
	server_notice_send(server);
	played_expect("");
	played_manage();
	server_notice_send(server);
	played_expect("");
	add_notice(1, 2, 6, 3); /* the envelope follows the data */
	add_notice(2, 3, 0, 3);
	played_expect("");
	server_notice_send(server);
	played_expect("QUEUED 1 1 \"tt\" \"ddd\" 1 2 \"ttt\" \"\"\nLOAD 77\n");
	played.now_us += SECOND_US / 40 - 1; /* a load for some of them */
	played.backlog = 1;
	add_notice(3, 1, 6, 3);
	server_notice_send(server);
	played_expect("QUEUED 1 3 \"t\" \"\"\n");
	played.now_us += 1;
	add_notice(3, 1, 6, 3);
	server_notice_send(server);
	played_expect("QUEUED 1 3 \"t\" \"\"\nLOAD 77\n");
	server_notice_send(server);
	played_expect("");
}

/* A packet has so much room: for an entry without its data, or nothing but its number. */
static void news_are_as_long_as_a_packet(void **state)
{
	enum { ENTRY_MAX = IPC_BODY_MAX - 32 };
	struct queue_server *server = &played.server;

	(void)state;
	played_manage();
	add_notice(1, ENTRY_MAX, 0, 0);
	assert_int_equal(server->notice.length, ENTRY_MAX + 20);
	server_notice_send(server);
	add_notice(1, ENTRY_MAX + 1, 0, 0);
	assert_int_equal(server->notice.length, 20);
	server_notice_send(server);
	add_notice(1, ENTRY_MAX - 5, 5, 5);
	assert_int_equal(server->notice.length, ENTRY_MAX + 20);
	server_notice_send(server);
	add_notice(1, ENTRY_MAX - 5, 6, 6);
	assert_int_equal(server->notice.length, ENTRY_MAX - 5 + 20);
	server_notice_send(server);
	add_notice(1, ENTRY_MAX - 50, 0, 0);
	add_notice(1, 20, 10, 10); /* with what is there it fills it */
	assert_int_equal(server->notice.length, ENTRY_MAX - 50 + 20 + 30 + 20);
	server_notice_send(server);
	add_notice(1, ENTRY_MAX - 50, 0, 0);
	add_notice(1, 20, 11, 11);
	assert_int_equal(server->notice.length, 20 + 31);
}

static void a_manager_that_does_not_read_is_told_to_scan(void **state)
{
	struct queue_server *server = &played.server;

	(void)state;
	server->has_missed = true;
	server_notice_missed(server);
	played_expect("");
	server->has_missed = false;
	played_manage();
	played.backlog = 4 << 20;
	add_notice(1, 2, 0, 0);
	assert_int_equal(server->notice.length, 22);
	played_expect("");
	played.backlog++;
	add_notice(2, 2, 0, 0);
	assert_int_equal(server->notice.length, 22);
	played_expect("missed in 200 ms\n");
	server_notice_missed(server);
	played_expect("missed in 200 ms\n");
	played.backlog = 1;
	server_notice_missed(server);
	played_expect("missed in 200 ms\n");
	played.backlog = 0;
	server_notice_missed(server);
	played_expect("MISSED\n");
	server_notice_missed(server);
	played_expect("");
}

static bool say_release(struct str body)
{
	struct unpack unpack = {body, false};

	return server_release(&played.other, &unpack);
}

static void a_release_is_passed_on(void **state)
{
	(void)state;
	played.other.server = &played.server;
	assert_true(say_release(STR("\1\0\0\0d")));
	played_expect("");
	played_manage();
	assert_true(say_release(STR("\1\0\0\0d")));
	played_expect("RELEASE \"d\"\n");
	assert_false(say_release(STR("\0\0\0\0")));
	assert_false(say_release(STR("\1\0\0\0dx")));
	played.backlog = 1;
	assert_true(say_release(STR("\1\0\0\0d")));
	played_expect("");
}

#define PLAYED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAYED(who_may_manage),
		PLAYED(a_manager_comes),
		PLAYED(names_are_trusted_when_both_have_cleaned),
		PLAYED(news_go_together),
		PLAYED(news_are_as_long_as_a_packet),
		PLAYED(a_manager_that_does_not_read_is_told_to_scan),
		PLAYED(a_release_is_passed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
