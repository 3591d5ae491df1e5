// SPDX-License-Identifier: ISC
/* A process that says as much to the supervisor as it can. */
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "log/event.h"
#include "os/clock.h"
#include "supervisor/internal.h"
#include "test.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_ONCE = 2000, A_SECOND = 10000, A_TURN = 64 };

static struct supervisor supervisor;
static struct process *process;
static char said[20000]; /* to the log */

static int begin(void **state)
{
	(void)state;
	memset(&supervisor, 0, sizeof supervisor);
	supervisor.loop = os_loop_new();
	process = &supervisor.processes[0];
	process->supervisor = &supervisor;
	process->program = &supervisor_programs[SUPERVISOR_PROGRAMS - 1]; /* smtpd */
	process->pid = 1;
	return 0;
}

static int end(void **state)
{
	(void)state;
	supervisor_control_end(process);
	os_timer_free(process->control_pause);
	os_loop_free(supervisor.loop);
	return 0;
}

/* COUNT messages, numbered: CHILD_PENDING is kept, so it shows which was heard last. */
static _Noreturn void speak(int socket, uint32_t count, size_t padding)
{
	static const char zeros[IPC_BODY_MAX];

	for (uint32_t number = 1; number <= count; number++) {
		struct buffer packet = {0};

		/* the header of ipc/channel.c */
		buffer_append(&packet, &(uint16_t){IPC_VERSION}, 2);
		buffer_append(&packet, &(uint16_t){CHILD_PENDING}, 2);
		buffer_append(&packet, &(uint32_t){0}, 4);
		pack_u32(&packet, number);
		buffer_append(&packet, zeros, padding);
		if (send(socket, buffer_data(&packet), packet.length, MSG_NOSIGNAL) < 0)
			break;
		buffer_clear(&packet);
	}
	_exit(0);
}

static void on_said(struct process *from, const struct ipc_message *message)
{
	assert_int_equal(message->type, CHILD_PENDING);
	from->pending = unpack_u32(&(struct unpack){message->body, false});
}

static void stop(void *loop)
{
	os_loop_stop(loop);
}

/* How many were heard within US of COUNT that somebody else sends, or TARGET of them. */
static uint32_t heard(uint32_t count, size_t padding, int64_t us, uint32_t target, int64_t *took_us)
{
	struct os_timer *timer = os_timer_new(supervisor.loop, stop, supervisor.loop);
	int64_t begin_us;
	int ends[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		speak(ends[1], count, padding);
	}
	close(ends[1]);
	begin_us = os_clock_monotonic_us();
	supervisor_control_begin(process, ends[0], on_said);
	do {
		os_timer_start(timer, us);
		os_loop_run(supervisor.loop);
	} while (process->pending < target);
	*took_us = os_clock_monotonic_us() - begin_us;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	os_timer_free(timer);
	return process->pending;
}

static void test_a_flood_is_heard_slowly(void **state)
{
	int64_t took_us;
	uint32_t count = heard(UINT32_MAX, 0, SECOND_US / 2, 1, &took_us);

	(void)state;
	assert_in_range(count, 1, AT_ONCE + A_SECOND * took_us / SECOND_US + A_TURN);
}

static void test_bytes_count(void **state)
{
	enum { LENGTH = 32 << 10, ALLOWED = 16 << 20 };
	int64_t took_us;
	uint32_t count = heard(UINT32_MAX, LENGTH, SECOND_US / 2, 1, &took_us);

	(void)state;
	assert_in_range(count, 1,
			ALLOWED / LENGTH * (took_us + SECOND_US / 5) / SECOND_US + A_TURN);
}

static void test_nothing_is_lost(void **state)
{
	int64_t took_us;

	(void)state;
	assert_int_equal(heard(2 * AT_ONCE, 0, SECOND_US / 10, 2 * AT_ONCE, &took_us), 2 * AT_ONCE);
}

static void test_it_is_logged_once(void **state)
{
	int before = dup(STDERR_FILENO);
	int64_t took_us;
	int ends[2];
	ssize_t length;
	char *first;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	log_open("test", LOG_INFO_LEVEL);
	(void)heard(UINT32_MAX, 0, SECOND_US / 2, 1, &took_us);
	log_flush();
	dup2(before, STDERR_FILENO);
	close(before);
	close(ends[1]);
	length = read(ends[0], said, sizeof said - 1);
	close(ends[0]);
	said[length > 0 ? length : 0] = '\0';
	first = strstr(said, "event=control_flood program=smtpd pid=1");
	assert_non_null(first);
	assert_null(strstr(first + 1, "event=control_flood"));
}

static unsigned heard_of_ended;

static void count_said(struct process *from, const struct ipc_message *message)
{
	(void)from;
	assert_int_equal(message->type, CHILD_PENDING);
	heard_of_ended++;
}

/* Its end may be noticed before what it said, such as that it wants a successor. */
static void test_what_a_process_said_last_is_heard(void **state)
{
	int ends[2];
	pid_t pid;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	pid = fork();
	if (pid == 0)
		speak(ends[1], 3, 0);
	close(ends[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	process->log.from = -1;
	supervisor_control_begin(process, ends[0], count_said);
	supervisor_process_ended(process, 0);
	assert_int_equal(heard_of_ended, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_flood_is_heard_slowly, begin, end),
		cmocka_unit_test_setup_teardown(test_bytes_count, begin, end),
		cmocka_unit_test_setup_teardown(test_nothing_is_lost, begin, end),
		cmocka_unit_test_setup_teardown(test_it_is_logged_once, begin, end),
		cmocka_unit_test_setup_teardown(test_what_a_process_said_last_is_heard, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
