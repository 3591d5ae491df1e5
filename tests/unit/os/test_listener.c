// SPDX-License-Identifier: ISC
#include "base/timestamp.h"
#include "os/clock.h"
#include "os/socket/listener.h"
#include "test.h"
#include <arpa/inet.h>
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CLIENTS = 40 };

static struct os_loop *loop;
static struct os_listener *listener;
static int listening, clients[CLIENTS], taken[CLIENTS];
static size_t taken_count, failed_count, asked_count, room;
static int last_error;

static void on_accepted(void *context, int socket, const union os_socket_address *peer)
{
	assert_ptr_equal(context, &loop);
	assert_int_equal(peer->any.sa_family, AF_INET);
	taken[taken_count++] = socket;
}

static void on_failed(void *context, int error)
{
	(void)context;
	last_error = error;
	failed_count++;
}

static bool has_room(void *context)
{
	(void)context;
	asked_count++;
	return taken_count < room;
}

static const struct os_listener_handler handler = {on_accepted, on_failed, has_room};

static void stop_loop(void *context)
{
	(void)context;
	os_loop_stop(loop);
}

static void run_for(int64_t duration_us)
{
	struct os_timer *timer = os_timer_new(loop, stop_loop, NULL);

	os_timer_start(timer, duration_us);
	os_loop_run(loop);
	os_timer_free(timer);
}

static int begin(void **state)
{
	union os_socket_address address = {.v4 = {.sin_family = AF_INET}};

	(void)state;
	taken_count = failed_count = asked_count = 0;
	room = CLIENTS;
	address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	loop = os_loop_new();
	listening = os_socket_listen(&address, CLIENTS);
	assert_true(listening >= 0);
	assert_int_equal(os_socket_local_address(listening, &address), 0);
	for (size_t i = 0; i < CLIENTS; i++) {
		clients[i] = os_socket_connect(&address);
		assert_true(clients[i] >= 0);
	}
	listener = os_listener_new(loop, listening, &handler, &loop);
	return 0;
}

static int end(void **state)
{
	(void)state;
	os_listener_free(listener);
	for (size_t i = 0; i < CLIENTS; i++)
		os_socket_close(clients[i]);
	while (taken_count > 0)
		os_socket_close(taken[--taken_count]);
	os_socket_close(listening);
	os_loop_free(loop);
	return 0;
}

static void all_are_taken(void **state)
{
	(void)state;
	run_for(SECOND_US / 20);
	assert_int_equal(taken_count, CLIENTS);
	assert_int_equal(failed_count, 0);
}

/* It asks again after a pause, not in each turn; or at once when it is told to. */
static void without_room_it_pauses(void **state)
{
	(void)state;
	room = 5;
	run_for(OS_LISTENER_PAUSE_US / 2);
	assert_int_equal(taken_count, 5);
	assert_true(asked_count == 6);
	room = 7;
	os_listener_go_on(listener);
	run_for(OS_LISTENER_PAUSE_US / 4);
	assert_int_equal(taken_count, 7);
	room = 8;
	run_for(2 * OS_LISTENER_PAUSE_US);
	assert_int_equal(taken_count, 8);
	assert_in_range(asked_count, 10, 13);
}

static void without_descriptors_it_pauses(void **state)
{
	struct rlimit before;
	struct rlimit few;
	int highest = dup(listening);

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = (rlim_t)highest + 3;
	close(highest);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	run_for(OS_LISTENER_PAUSE_US / 2);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_true(taken_count < CLIENTS);
	assert_int_equal(failed_count, 1);
	assert_int_equal(last_error, -EMFILE);
	run_for(2 * OS_LISTENER_PAUSE_US);
	assert_int_equal(taken_count, CLIENTS);
}

static void who_stopped_takes_no_more(void **state)
{
	(void)state;
	os_listener_stop(listener);
	os_listener_go_on(listener);
	run_for(SECOND_US / 20);
	assert_int_equal(taken_count, 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(all_are_taken),
		CASE(without_room_it_pauses),
		CASE(without_descriptors_it_pauses),
		CASE(who_stopped_takes_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
