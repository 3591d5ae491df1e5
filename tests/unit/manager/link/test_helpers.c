// SPDX-License-Identifier: ISC
/* Who is a helper to "send", for how long one is waited for who does not say so, and how much a
 * helper may have in hand. Connections and timers are this test's. */
#include "ipc/listener.h"
#include "log/event.h"
#include "manager/link/helper.h"
#include "os/loop.h"
#include "os/socket/socket.h"
#include "test.h"
#include <string.h>

enum { STRANGER = 7, SOCKETS = 300, SILENT = 64 };

struct os_timer {
	void (*call)(void *context);
	void *context;
	bool is_running;
};

struct ipc_channel {
	const struct ipc_channel_handler *handler;
	void *context;
	int socket;
};

static struct {
	void (*accepted)(void *context, int socket);
	void *accepted_context;
	struct ipc_channel channels[SOCKETS];
	struct os_timer timers[SOCKETS];
	bool is_closed[SOCKETS];
	uid_t users[SOCKETS];
	int count;
	uint32_t last_tag;
	unsigned reports;
	size_t ended;
	struct helpers *helpers;
} world;

struct ipc_listener *ipc_listener_new(struct os_loop *loop, int listening,
				      void (*accepted)(void *context, int socket), void *context)
{
	(void)loop;
	(void)listening;
	world.accepted = accepted;
	world.accepted_context = context;
	return NULL;
}

void ipc_listener_free(struct ipc_listener *listener)
{
	(void)listener;
}

struct ipc_channel *ipc_channel_new(struct os_loop *loop, int socket,
				    const struct ipc_channel_handler *handler, void *context)
{
	(void)loop;
	world.channels[socket] = (struct ipc_channel){handler, context, socket};
	return &world.channels[socket];
}

void ipc_channel_close(struct ipc_channel *channel)
{
	world.is_closed[channel->socket] = true;
}

size_t ipc_channel_backlog(const struct ipc_channel *channel)
{
	(void)channel;
	return 0;
}

void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *descriptors, size_t descriptor_count)
{
	(void)channel;
	(void)body;
	(void)descriptors;
	(void)descriptor_count;
	if (type == IPC_JOB_START)
		world.last_tag = tag;
}

struct os_timer *os_timer_new(struct os_loop *loop, void (*call)(void *context), void *context)
{
	struct os_timer *timer = &world.timers[world.count];

	(void)loop;
	*timer = (struct os_timer){call, context, false};
	return timer;
}

void os_timer_start(struct os_timer *timer, int64_t delay_us)
{
	assert_in_range(delay_us, 1, 10 * SECOND_US);
	timer->is_running = true;
}

void os_timer_free(struct os_timer *timer)
{
	timer->is_running = false;
}

uid_t os_socket_peer_user(int socket)
{
	return world.users[socket];
}

void ipc_channel_set_peer(struct ipc_channel *channel, const char *name)
{
	(void)channel;
	(void)name;
}

void ipc_channel_log_refused(const struct ipc_channel *channel, uint16_t type)
{
	(void)channel;
	(void)type;
}

void os_socket_close(int socket)
{
	world.is_closed[socket] = true;
}

/* --- what the manager says --- */

static bool may_connect(void *context, uid_t user)
{
	(void)context;
	return user != STRANGER;
}

static bool may_help(void *context, struct str service, struct str token, uid_t user)
{
	(void)context;
	return user == 0 && str_equal(service, STR("box")) && str_equal(token, STR("secret"));
}

static uint32_t places(void *context, const char *service)
{
	(void)context;
	return strcmp(service, "box") == 0 ? 3 : 0;
}

static void joined(void *context, struct str service)
{
	(void)context;
	(void)service;
}

static bool reported(void *context, void *job, const struct ipc_job_report *report)
{
	(void)context;
	(void)job;
	(void)report;
	world.reports++;
	return true;
}

static void ended(void *context, void *job)
{
	(void)context;
	(void)job;
	world.ended++;
}

static void left(void *context)
{
	(void)context;
}

static const struct helpers_handler handler = {.may_connect = may_connect,
					       .may_help = may_help,
					       .places = places,
					       .joined = joined,
					       .reported = reported,
					       .ended = ended,
					       .left = left};

static int set_up(void **state)
{
	(void)state;
	log_open("test", LOG_ERROR_LEVEL + 1);
	memset(&world, 0, sizeof world);
	world.helpers = helpers_new(NULL, -1, &handler, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	helpers_free(world.helpers);
	return 0;
}

static int connect_as(uid_t user)
{
	world.users[world.count] = user;
	world.accepted(world.accepted_context, world.count);
	return world.count++;
}

static void say(int socket, enum ipc_job type, uint32_t tag, struct str body)
{
	struct ipc_message message = {.type = (uint16_t)type, .tag = tag, .body = body};
	struct ipc_channel *channel = &world.channels[socket];

	channel->handler->message(channel->context, channel, &message);
}

static void say_hello(int socket, const char *service, uint32_t count, const char *token)
{
	struct buffer body CLEANUP(buffer_clear) = {0};
	const struct ipc_job_hello hello = {str_from(service), count, str_from(token)};

	ipc_job_add_hello(&body, &hello);
	say(socket, IPC_JOB_HELLO, 0, buffer_view(&body));
}

/* How many jobs are given out. */
static unsigned start_all(void)
{
	unsigned count = 0;
	struct helper *helper;

	while ((helper = helpers_with_place(world.helpers, "box")) != NULL && count < 1000) {
		struct buffer body CLEANUP(buffer_clear) = {0};

		helper_start(helper, IPC_JOB_START, &world, &body, STR(""), -1);
		count++;
	}
	return count;
}

static void who_can_be_none_is_not_let_in(void **state)
{
	int stranger = connect_as(STRANGER);
	int other = connect_as(5);

	(void)state;
	assert_true(world.is_closed[stranger]);
	assert_null(world.channels[stranger].handler);
	assert_false(world.is_closed[other]);
}

static void a_helper_shows_its_token(void **state)
{
	static const struct {
		uid_t user;
		const char *service;
		const char *token;
		bool is_one;
	} cases[] = {
		{0, "box", "secret", true},    {5, "box", "secret", false},
		{0, "other", "secret", false}, {0, "box", "", false},
		{0, "box", "guess", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		int socket = connect_as(cases[i].user);

		say_hello(socket, cases[i].service, 1, cases[i].token);
		assert_int_equal(world.is_closed[socket], !cases[i].is_one);
		if (!cases[i].is_one)
			continue;
		say_hello(socket, "box", 1, "secret"); /* twice */
		assert_true(world.is_closed[socket]);
	}
	assert_null(helpers_with_place(world.helpers, "box"));
}

static void who_is_silent_is_not_waited_for(void **state)
{
	int silent = connect_as(0);
	int helper = connect_as(0);

	(void)state;
	say_hello(helper, "box", 1, "secret");
	assert_false(world.timers[helper].is_running);
	assert_true(world.timers[silent].is_running);
	world.timers[silent].call(world.timers[silent].context);
	assert_true(world.is_closed[silent]);
	assert_false(world.is_closed[helper]);
}

static void the_oldest_silent_one_makes_room(void **state)
{
	int helper = connect_as(0);

	(void)state;
	say_hello(helper, "box", 1, "secret");
	for (int i = 0; i < SILENT; i++)
		connect_as(0);
	assert_false(world.is_closed[helper + 1]);
	for (int i = 0; i < SILENT; i++) {
		connect_as(0);
		assert_true(world.is_closed[helper + 1 + i]);
		assert_false(world.is_closed[helper + 2 + i]);
	}
	assert_false(world.is_closed[helper]);
	say_hello(world.count - 1, "box", 1, "secret"); /* there is room for one more */
	connect_as(0);
	assert_false(world.is_closed[helper + 1 + SILENT]);
}

static void places_are_the_stages(void **state)
{
	int greedy = connect_as(0);

	(void)state;
	say_hello(greedy, "box", UINT32_MAX, "secret");
	assert_int_equal(start_all(), 3);
	say(greedy, IPC_JOB_FINISH, world.last_tag, STR(""));
	assert_int_equal(world.ended, 1);
	assert_int_equal(start_all(), 1);
	say(greedy, IPC_JOB_RETIRE, 0, STR(""));
	say(greedy, IPC_JOB_FINISH, world.last_tag, STR(""));
	assert_int_equal(start_all(), 0);
	say_hello(connect_as(0), "box", 2, "secret");
	assert_int_equal(start_all(), 2);
}

/* Who says that it has more places is not given more than another one. */
static void a_helper_that_boasts_is_not_preferred(void **state)
{
	int honest = connect_as(0);
	int boaster = connect_as(0);

	(void)state;
	say_hello(honest, "box", 100, "secret");
	say_hello(boaster, "box", UINT32_MAX, "secret");
	assert_int_equal(start_all(), 6);
}

static void a_report_is_about_its_own_job(void **state)
{
	int one = connect_as(0);
	int other;

	(void)state;
	say_hello(one, "box", 1, "secret");
	assert_int_equal(start_all(), 1);
	other = connect_as(0);
	say_hello(other, "box", 1, "secret");
	say(other, IPC_JOB_FINISH, world.last_tag, STR(""));
	assert_true(world.is_closed[other]);
	assert_int_equal(world.ended, 0);
	say(one, IPC_JOB_FINISH, world.last_tag, STR(""));
	assert_false(world.is_closed[one]);
	assert_int_equal(world.ended, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_can_be_none_is_not_let_in),   TEST(a_helper_shows_its_token),
		TEST(who_is_silent_is_not_waited_for), TEST(the_oldest_silent_one_makes_room),
		TEST(places_are_the_stages),           TEST(a_helper_that_boasts_is_not_preferred),
		TEST(a_report_is_about_its_own_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
