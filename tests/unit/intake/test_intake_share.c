// SPDX-License-Identifier: ISC
/* What clients may have on the queue's disk that is not complete. */
#include "intake/internal.h"
#include "intake_scene.h"
#include "test.h"
#include <errno.h>

enum { SESSIONS = 3, PERCENT = 10, KIB = 1024 };

static struct config config;
static struct intake intake;
static struct intake_session sessions[SESSIONS];

static uint64_t unfinished(const struct intake_session *session)
{
	return queue_client_unfinished(&session->message.queued);
}

static const struct intake_engine engine = {.unfinished = unfinished};

/* The first two are one client's. Each has a message with a file, of which nothing has come. */
static int set_up(void **state)
{
	static const char *const clients[SESSIONS] = {"192.0.2.1", "192.0.2.1", "192.0.2.2"};

	(void)state;
	intake_scene_begin();
	config = (struct config){.maxunfinished_client = PERCENT};
	intake = (struct intake){
		.engine = &engine, .config = &config, .clients = limit_clients_new()};
	for (size_t i = 0; i < SESSIONS; i++) {
		union os_socket_address address;

		assert_true(os_socket_address_parse(clients[i], 25, &address));
		sessions[i] = (struct intake_session){
			.intake = &intake,
			.engine = &engine,
			.mapped = os_socket_address_mapped(&address),
			.message.queued = {.state = QUEUE_CLIENT_OPEN, .file = 7, .number = i + 1},
		};
		sessions[i].limits.client =
			limit_client_enter(intake.clients, &sessions[i].mapped, SESSIONS);
		assert_non_null(sessions[i].limits.client);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < SESSIONS; i++)
		intake_session_leave(&sessions[i]);
	limit_clients_free(intake.clients);
	return 0;
}

/* Its message has got so many bytes, and now so many are free. */
static void has(size_t session, uint64_t bytes, uint64_t free_bytes)
{
	sessions[session].message.queued.written = bytes;
	intake_scene.free_bytes = free_bytes;
	intake_share_follow(&sessions[session]);
}

static int check(size_t session, size_t bytes)
{
	struct intake_session *s = &sessions[session];

	return intake_share_check(s, &s->message.queued, &s->message.id, bytes);
}

static void a_part_of_what_would_be_free(void **state)
{
	(void)state;
	has(0, 50 * KIB, 950 * KIB);
	assert_int_equal(check(1, 50 * KIB), 0);
	assert_int_equal(check(1, 51 * KIB), -EUSERS);
	has(1, 49 * KIB, 901 * KIB);
	assert_int_equal(check(0, KIB), 0);
	assert_int_equal(check(0, 2 * KIB), -EUSERS);
	assert_int_equal(check(1, 2 * KIB), -EUSERS);
}

static void one_message_may_always_come(void **state)
{
	(void)state;
	assert_int_equal(check(0, 64 * KIB), 0);
	has(0, 900 * KIB, 100 * KIB);
	assert_int_equal(check(0, 64 * KIB), 0);
	assert_int_equal(check(1, 1), -EUSERS);
}

static void others_have_their_own(void **state)
{
	(void)state;
	has(0, 100 * KIB, 900 * KIB);
	has(1, 1, 900 * KIB);
	assert_int_equal(check(0, 1), -EUSERS);
	has(2, 50 * KIB, 850 * KIB);
	assert_int_equal(check(2, 40 * KIB), 0);
}

static void what_ends_is_given_back(void **state)
{
	(void)state;
	has(0, 100 * KIB, 900 * KIB);
	assert_int_equal(check(1, 64 * KIB), -EUSERS);
	sessions[0].message.queued.state = QUEUE_CLIENT_COMMITTING; /* it is not over yet */
	intake_share_follow(&sessions[0]);
	assert_int_equal(check(1, 64 * KIB), -EUSERS);
	sessions[0].message.queued.state = QUEUE_CLIENT_IDLE;
	intake_share_follow(&sessions[0]);
	assert_int_equal(check(1, 64 * KIB), 0);
}

static void a_session_that_ends_gives_back_too(void **state)
{
	(void)state;
	has(0, 100 * KIB, 900 * KIB);
	intake_session_leave(&sessions[0]);
	assert_int_equal(limit_client_bytes(sessions[1].limits.client), 0);
}

static void there_may_be_no_limit(void **state)
{
	(void)state;
	has(0, 900 * KIB, 100 * KIB);
	config.maxunfinished_client = 0;
	assert_int_equal(check(1, 64 * KIB), 0);
}

/* As of relay_from, and at UNIX sockets. */
static void who_is_not_counted_has_none(void **state)
{
	(void)state;
	has(0, 900 * KIB, 100 * KIB);
	intake_session_leave(&sessions[1]);
	assert_int_equal(check(1, 64 * KIB), 0);
}

#define SHARE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHARE_TEST(a_part_of_what_would_be_free),
		SHARE_TEST(one_message_may_always_come),
		SHARE_TEST(others_have_their_own),
		SHARE_TEST(what_ends_is_given_back),
		SHARE_TEST(a_session_that_ends_gives_back_too),
		SHARE_TEST(there_may_be_no_limit),
		SHARE_TEST(who_is_not_counted_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
