// SPDX-License-Identifier: ISC
/* The simulated kernel with programs of our own. */
#include "description.h"
#include "files.h"
#include "kernel.h"
#include "os/clock.h"
#include "os/loop.h"
#include "os/process/process.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <signal.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PORT = 25, BYTES = 1000000 };

static const int64_t SECOND = 1000000;

static union os_socket_address address_of(uint32_t host)
{
	union os_socket_address address = {0};

	address.v4.sin_family = AF_INET;
	address.v4.sin_port = htons(PORT);
	address.v4.sin_addr.s_addr = htonl(host);
	return address;
}

static struct {
	size_t received;
	unsigned reads;
	bool is_wrong;
	int64_t ended_us;
	ssize_t end;
} heard;

/* Reads all that comes on one connection. */
static int run_server(int argc, char **argv)
{
	union os_socket_address address = address_of(INADDR_LOOPBACK);
	union os_socket_address peer;
	int listening = os_socket_listen(&address, 8);
	unsigned char data[512];
	ssize_t count;
	int socket;

	(void)argc;
	(void)argv;
	if (os_socket_wait(listening, false, SECOND) < 0)
		return 1;
	socket = os_socket_accept(listening, &peer);
	do {
		if (os_socket_wait(socket, false, 10 * SECOND) < 0)
			return 2;
		count = os_socket_read(socket, data, sizeof data);
		for (ssize_t i = 0; i < count; i++)
			heard.is_wrong |= data[i] != (unsigned char)(heard.received++ % 251);
		heard.reads++;
	} while (count > 0 || count == -EAGAIN);
	heard.end = count;
	heard.ended_us = os_clock_monotonic_us();
	return 0;
}

/* Writes BYTES of a pattern, as it can. */
static int run_client(int argc, char **argv)
{
	union os_socket_address address = address_of(INADDR_LOOPBACK);
	size_t sent = 0;
	int socket;

	(void)argc;
	(void)argv;
	task_sleep_until(1000);
	socket = os_socket_connect(&address);
	if (os_socket_wait(socket, true, SECOND) < 0 || os_socket_error(socket) != 0)
		return 1;
	while (sent < BYTES) {
		unsigned char data[3000];
		ssize_t count;

		for (size_t i = 0; i < sizeof data; i++)
			data[i] = (unsigned char)((sent + i) % 251);
		count = os_socket_write(socket, data,
					sizeof data < BYTES - sent ? sizeof data : BYTES - sent);
		if (count > 0)
			sent += (size_t)count;
		else if (os_socket_wait(socket, true, 10 * SECOND) < 0)
			return 2;
	}
	os_socket_close(socket);
	return 0;
}

static const struct world_program server = {"server", run_server, NULL};
static const struct world_program client = {"client", run_client, NULL};
static const char *const no_arguments[] = {"program", NULL};

static struct machine *begin(uint64_t seed)
{
	memset(&heard, 0, sizeof heard);
	world_begin(seed, NULL);
	return machine_new("one", 0x0a000001);
}

static uint64_t run_pair(uint64_t seed)
{
	struct machine *machine = begin(seed);
	uint64_t fingerprint;

	process_new(machine, NULL, &server, no_arguments, NULL);
	process_new(machine, NULL, &client, no_arguments, NULL);
	world_run(60 * SECOND);
	assert_null(process_first());
	fingerprint = world_fingerprint();
	world_end();
	return fingerprint;
}

static void bytes_arrive_whole_and_in_parts(void **state)
{
	(void)state;
	run_pair(1);
	assert_int_equal(heard.received, BYTES);
	assert_false(heard.is_wrong);
	assert_int_equal(heard.end, 0);
	assert_true(heard.reads > BYTES / 512 + 1);
}

static void same_seed_same_run(void **state)
{
	uint64_t first = run_pair(7);
	int64_t ended_us = heard.ended_us;

	(void)state;
	assert_true(run_pair(7) == first);
	assert_int_equal(heard.ended_us, ended_us);
	assert_true(run_pair(8) != first);
}

static void killed_peer_ends_connection(void **state)
{
	struct machine *machine = begin(3);
	struct process *process;

	(void)state;
	process_new(machine, NULL, &server, no_arguments, NULL);
	process = process_new(machine, NULL, &client, no_arguments, NULL);
	while (heard.received < 1000)
		world_run(kernel_now_us() + 1);
	process_end(process, SIGKILL);
	world_run(60 * SECOND);
	assert_true(heard.received < BYTES);
	assert_true(heard.end == 0 || heard.end == -ECONNRESET);
	assert_null(process_first());
	world_end();
}

static void frozen_process_waits(void **state)
{
	struct machine *machine = begin(4);
	struct process *process;
	size_t before;

	(void)state;
	process_new(machine, NULL, &server, no_arguments, NULL);
	process = process_new(machine, NULL, &client, no_arguments, NULL);
	while (heard.received < 1000)
		world_run(kernel_now_us() + 1);
	process_freeze(process, true);
	world_run(kernel_now_us() + SECOND);
	before = heard.received;
	world_run(kernel_now_us() + SECOND);
	assert_int_equal(heard.received, before);
	assert_true(before < BYTES);
	process_freeze(process, false);
	world_run(60 * SECOND);
	assert_int_equal(heard.received, BYTES);
	assert_false(heard.is_wrong);
	world_end();
}

/* --- descriptors that are passed --- */

/* One passes the end of a pair to the other, closes its own, and writes to the far end. */
static int run_taker(int argc, char **argv)
{
	int descriptors[OS_SOCKET_DESCRIPTORS];
	size_t count;
	char data[16];

	(void)argc;
	(void)argv;
	if (os_socket_wait(OS_PROCESS_CONTROL, false, SECOND) < 0 ||
	    os_socket_receive(OS_PROCESS_CONTROL, data, sizeof data, descriptors, &count) != 2 ||
	    count != 1 || os_socket_wait(descriptors[0], false, SECOND) < 0)
		return 1;
	return os_socket_receive(descriptors[0], data, sizeof data, descriptors, &count) == 5 ? 42
											      : 2;
}

static const struct world_program taker = {"taker", run_taker, NULL};
static int taker_status;

static int run_giver(int argc, char **argv)
{
	const char *const arguments[] = {"taker", NULL};
	const struct os_process_user user = {0};
	int control[2];
	int pair[2];
	pid_t pid;

	(void)argc;
	(void)argv;
	if (os_process_socket_pair(control) < 0 || os_process_socket_pair(pair) < 0)
		return 1;
	pid = os_process_start("/lib/taker", -1, arguments, &user, control[1], -1);
	if (pid < 0 || os_socket_send(control[0], "go", 2, &pair[1], 1) != 2)
		return 2;
	os_socket_close(pair[1]);
	if (os_socket_send(pair[0], "hello", 5, NULL, 0) != 5)
		return 3;
	while (os_process_ended(&taker_status) != pid)
		task_sleep_until(kernel_now_us() + 1000);
	return 0;
}

static const struct world_program giver = {"giver", run_giver, NULL};

static void passed_descriptor_is_the_same(void **state)
{
	struct machine *machine = begin(5);

	(void)state;
	world_add_program(&taker);
	process_new(machine, NULL, &giver, no_arguments, NULL);
	world_run(60 * SECOND);
	assert_int_equal(taker_status, 42 << 8);
	world_end();
}

/* --- limits --- */

static int opened;

static int run_hoarder(int argc, char **argv)
{
	int pair[2];

	(void)argc;
	(void)argv;
	while (os_process_socket_pair(pair) == 0)
		opened += 2;
	os_socket_close(0);
	return os_process_socket_pair(pair) == -EMFILE ? 0 : 1;
}

static const struct world_program hoarder = {"hoarder", run_hoarder, NULL};

static void table_has_a_limit(void **state)
{
	struct machine *machine = begin(6);

	(void)state;
	opened = 0;
	machine->descriptors = 21;
	process_new(machine, NULL, &hoarder, no_arguments, NULL);
	world_run(SECOND);
	assert_int_equal(opened, 20);
	world_end();
}

/* --- a disk that takes no changes any more --- */

static int made;         /* what came of the orphan's new file */
static int opened_again; /* and of one that was there, to be written */

static int try_to_open(const char *path, unsigned flags)
{
	struct disk_file *file;
	int result = disk_open(kernel_process()->machine->disk, NULL, path, flags, &file);

	if (result == 0)
		disk_close(file);
	return result;
}

static int run_orphan(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	task_sleep_until(kernel_now_us() + SECOND);
	made = try_to_open("/new", OS_FILE_WRITE | OS_FILE_CREATE);
	opened_again = try_to_open("/old", OS_FILE_WRITE);
	return try_to_open("/old", OS_FILE_READ);
}

static const struct world_program orphan = {"orphan", run_orphan, NULL};

static int run_parent(int argc, char **argv)
{
	const char *const arguments[] = {"orphan", NULL};
	const struct os_process_user user = {0};
	int control[2];

	(void)argc;
	(void)argv;
	if (os_process_socket_pair(control) < 0)
		return 1;
	return os_process_start("/lib/orphan", -1, arguments, &user, control[1], -1) > 0 ? 0 : 2;
}

static const struct world_program parent = {"parent", run_parent, NULL};

static void stopped_disk_takes_nothing_from_an_orphan(void **state)
{
	struct machine *machine = begin(8);

	(void)state;
	files_begin(machine);
	files_put(machine, "/old", "");
	machine->disk_has_stopped = true;
	made = opened_again = 1;
	world_add_program(&orphan);
	process_new(machine, NULL, &parent, no_arguments, NULL);
	world_run(60 * SECOND);
	assert_int_equal(made, -EROFS);
	assert_int_equal(opened_again, -EROFS);
	world_end();
}

/* --- the loop --- */

static struct {
	struct os_loop *loop;
	struct os_timer *timer;
	unsigned rings;
	int64_t rang_us;
} bell;

static void ring(void *context)
{
	(void)context;
	bell.rang_us = os_clock_monotonic_us();
	if (++bell.rings == 3)
		os_loop_stop(bell.loop);
	else
		os_timer_start(bell.timer, 24 * 3600 * SECOND);
}

static int run_bell(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	bell.loop = os_loop_new();
	bell.timer = os_timer_new(bell.loop, ring, NULL);
	bell.rings = 0;
	os_timer_start(bell.timer, 0);
	os_loop_run(bell.loop);
	os_timer_free(bell.timer);
	os_loop_free(bell.loop);
	return 0;
}

static const struct world_program bell_program = {"bell", run_bell, NULL};

static void time_jumps_to_the_next_event(void **state)
{
	struct machine *machine = begin(9);

	(void)state;
	process_new(machine, NULL, &bell_program, no_arguments, NULL);
	world_run(100 * 24 * 3600 * SECOND);
	assert_int_equal(bell.rings, 3);
	assert_in_range(bell.rang_us, 48 * 3600 * SECOND, 48 * 3600 * SECOND + SECOND);
	world_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_arrive_whole_and_in_parts),
		cmocka_unit_test(same_seed_same_run),
		cmocka_unit_test(killed_peer_ends_connection),
		cmocka_unit_test(frozen_process_waits),
		cmocka_unit_test(passed_descriptor_is_the_same),
		cmocka_unit_test(table_has_a_limit),
		cmocka_unit_test(stopped_disk_takes_nothing_from_an_orphan),
		cmocka_unit_test(time_jumps_to_the_next_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
