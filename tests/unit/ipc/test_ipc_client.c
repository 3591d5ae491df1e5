// SPDX-License-Identifier: ISC
/* When the loss of a connection is logged: once it is over, or lasts; not when everything stops,
 * which looks the same for a moment. Server and loop are real; what is logged is this test's. */
#include "base/timestamp.h"
#include "ipc/channel.h"
#include "log/event.h"
#include "os/socket/socket.h"
#include "scratch.h"
#include "test.h"
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static const int64_t SHORT_US = SECOND_US / 4;   /* of a stop */
static const int64_t LASTING_US = 3 * SECOND_US; /* more than 1.3 s */

static struct {
	struct os_loop *loop;
	struct os_timer *enough;
	char folder[SCRATCH_SIZE];
	char path[SCRATCH_SIZE + 16];
	int listening;
	int accepted;
	struct ipc_client *client;
	unsigned connected, lost, losses_told;
} world;

void __wrap_log_write(enum log_name name, const struct log_field *fields);
void __wrap_log_write(enum log_name name, const struct log_field *fields)
{
	(void)fields;
	assert_int_equal(name, EVENT_IPC_LOST);
	world.losses_told++;
}

static void on_connected(void *context)
{
	(void)context;
	world.connected++;
	os_loop_stop(world.loop);
}

static void on_lost(void *context)
{
	(void)context;
	world.lost++;
	os_loop_stop(world.loop);
}

static void on_message(void *context, struct ipc_message *message)
{
	(void)context;
	(void)message;
	fail();
}

static const struct ipc_client_handler handler = {
	.connected = on_connected, .message = on_message, .lost = on_lost};

static void end_turn(void *context)
{
	(void)context;
	os_loop_stop(world.loop);
}

static void let_pass(int64_t time_us)
{
	os_timer_start(world.enough, time_us);
	os_loop_run(world.loop);
}

static void begin_to_listen(void)
{
	unlink(world.path);
	world.listening = os_socket_listen_unix(world.path, SOCK_SEQPACKET, 0600);
	assert_true(world.listening >= 0);
}

static void connect_client(void)
{
	os_loop_run(world.loop);
	world.accepted = accept(world.listening, NULL, NULL);
	assert_true(world.accepted >= 0);
}

static void end_server(void)
{
	close(world.listening);
	close(world.accepted);
	os_loop_run(world.loop);
	assert_int_equal(world.lost, 1);
}

static int set_up(void **state)
{
	(void)state;
	world.loop = os_loop_new();
	world.enough = os_timer_new(world.loop, end_turn, NULL);
	assert_int_equal(scratch_make(world.folder), 0);
	snprintf(world.path, sizeof world.path, "%s/socket", world.folder);
	world.connected = world.lost = world.losses_told = 0;
	begin_to_listen();
	world.client = ipc_client_new(world.loop, world.path, &handler, NULL);
	connect_client();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ipc_client_free(world.client);
	os_timer_free(world.enough);
	os_loop_free(world.loop);
	scratch_remove(world.folder);
	return 0;
}

static void a_stop_warns_of_nothing(void **state)
{
	(void)state;
	end_server();
	let_pass(SHORT_US);
	assert_int_equal(world.losses_told, 0);
}

static void a_loss_that_is_over_is_told(void **state)
{
	(void)state;
	end_server();
	assert_int_equal(world.losses_told, 0);
	begin_to_listen();
	connect_client();
	assert_int_equal(world.connected, 2);
	assert_int_equal(world.losses_told, 1);
	close(world.accepted);
	close(world.listening);
}

static void a_loss_that_lasts_is_told_once(void **state)
{
	(void)state;
	end_server();
	let_pass(LASTING_US);
	assert_int_equal(world.losses_told, 1);
	begin_to_listen();
	connect_client();
	assert_int_equal(world.losses_told, 1);
	close(world.accepted);
	close(world.listening);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_stop_warns_of_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_loss_that_is_over_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_loss_that_lasts_is_told_once, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
