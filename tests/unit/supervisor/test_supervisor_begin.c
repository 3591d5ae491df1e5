// SPDX-License-Identifier: ISC
/* What the log, the service manager and the exit status say of a start: it is done, or can never
 * be. */
#include "command/command.h"
#include "log/event.h"
#include "os/loop.h"
#include "scratch.h"
#include "supervisor/internal.h"
#include "test.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char folder[SCRATCH_SIZE];
static int manager = -1; /* where the service manager listens */
static struct supervisor supervisor;
static struct config config = {.stop_timeout = 1};

static int begin(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	(void)state;
	snprintf(address.sun_path, sizeof address.sun_path, "%s/notify", folder);
	unlink(address.sun_path);
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	memset(&supervisor, 0, sizeof supervisor);
	supervisor.loop = os_loop_new();
	supervisor.config = &config;
	supervisor_prepare_stop(&supervisor);
	return bind(manager, (struct sockaddr *)&address, sizeof address);
}

static int end(void **state)
{
	(void)state;
	os_timer_free(supervisor.patience);
	os_timer_free(supervisor.waiting);
	os_loop_free(supervisor.loop);
	buffer_clear(&supervisor.failure);
	return close(manager);
}

static void check_told(const char *text)
{
	char told[1000];
	ssize_t length = recv(manager, told, sizeof told - 1, 0);

	told[length > 0 ? length : 0] = '\0';
	assert_string_equal(told, text);
}

static struct process *add(bool is_wanted)
{
	struct process *process = &supervisor.processes[supervisor.process_count++];

	process->is_wanted = is_wanted;
	process->restart = NULL;
	return process;
}

/* Puts what is logged into TEXT, while CALL runs. */
static void logged(void (*call)(void), char *text, size_t size)
{
	int before = dup(STDERR_FILENO);
	int ends[2] = {-1, -1};
	ssize_t length;

	assert_true(before >= 0 && pipe(ends) == 0);
	dup2(ends[1], STDERR_FILENO);
	log_open("test", LOG_INFO_LEVEL);
	call();
	log_flush();
	dup2(before, STDERR_FILENO);
	close(before);
	close(ends[1]);
	length = read(ends[0], text, size - 1);
	close(ends[0]);
	text[length > 0 ? length : 0] = '\0';
}

static void test_ready_when_all_are(void **state)
{
	struct process *first = add(true);
	struct process *second = add(true);

	(void)state;
	(void)add(false);
	supervisor_announce_ready(&supervisor);
	check_told("");
	first->is_ready = true;
	supervisor_announce_ready(&supervisor);
	check_told("");
	assert_false(supervisor.was_ready);
	second->is_ready = true;
	supervisor_announce_ready(&supervisor);
	check_told("READY=1\nSTATUS=All processes are ready");
	assert_true(supervisor.was_ready);
	supervisor_announce_ready(&supervisor); /* a process that was started again */
	check_told("");
}

static struct process *add_waiting(const struct supervisor_program *program, const char *reason)
{
	struct process *process = add(true);

	process->supervisor = &supervisor;
	process->program = program;
	supervisor_note_waits(process, str_from(reason));
	return process;
}

/* Once for both processes of a program, and in one line. */
static void test_what_is_waited_for_is_told(void **state)
{
	const struct supervisor_program keys = {.name = "keys"};
	const struct supervisor_program smtpd = {.name = "smtpd"};
	struct process *process;

	(void)state;
	process = add_waiting(&keys, "a.key: Permission denied\nsecond line");
	check_told("STATUS=Not ready; keys: a.key: Permission denied second line");
	(void)add_waiting(&smtpd, "no certificate");
	check_told("STATUS=Not ready; keys: a.key: Permission denied second line; smtpd: no "
		   "certificate");
	(void)add_waiting(&smtpd, "no certificate");
	check_told("STATUS=Not ready; keys: a.key: Permission denied second line; smtpd: no "
		   "certificate");
	supervisor.was_ready = true;
	supervisor_note_waits(process, STR(""));
	check_told("STATUS=All processes are ready; smtpd: no certificate");
	for (size_t i = 0; i < supervisor.process_count; i++)
		buffer_clear(&supervisor.processes[i].waits);
}

static void test_not_ready_while_it_stops(void **state)
{
	(void)state;
	add(true)->is_ready = true;
	supervisor.is_stopping = true;
	supervisor_announce_ready(&supervisor);
	check_told("");
}

static void test_never(void **state)
{
	(void)state;
	supervisor_give_up(&supervisor, STR("user: there is no user x\nsecond line"));
	assert_int_equal(supervisor.exit_status, COMMAND_NEVER);
	assert_true(supervisor.is_stopping);
	check_told("STATUS=user: there is no user x");
	check_told(""); /* no STOPPING=1 with another status */
}

static void test_a_stop_is_told(void **state)
{
	(void)state;
	supervisor_stop(&supervisor);
	check_told("STOPPING=1\nSTATUS=Finishing what is in flight");
}

static void test_later_it_is_started_again(void **state)
{
	(void)state;
	supervisor.was_ready = true;
	supervisor_give_up(&supervisor, STR("no"));
	assert_int_equal(supervisor.exit_status, 0);
	assert_false(supervisor.is_stopping);
	check_told("");
}

static void judge_filter(void)
{
	supervisor_judge_end(&supervisor, "smtpd", SIGSYS);
}

static void judge_others(void)
{
	supervisor_judge_end(&supervisor, "smtpd", SIGKILL);
	supervisor_judge_end(&supervisor, "smtpd", SIGSYS << 8); /* an exit status */
}

static void test_killed_by_a_filter(void **state)
{
	char text[1000];

	(void)state;
	logged(judge_filter, text, sizeof text);
	assert_non_null(strstr(text, "smtpd was killed by a system call filter"));
	assert_int_equal(supervisor.exit_status, COMMAND_NEVER);
}

static void test_killed_by_a_filter_later(void **state)
{
	char text[1000];

	(void)state;
	supervisor.was_ready = true;
	logged(judge_filter, text, sizeof text);
	assert_non_null(strstr(text, "smtpd was killed by a system call filter"));
	assert_int_equal(supervisor.exit_status, 0);
	assert_false(supervisor.is_stopping);
}

static void test_ended_otherwise(void **state)
{
	char text[1000];

	(void)state;
	logged(judge_others, text, sizeof text);
	assert_string_equal(text, "");
	assert_false(supervisor.is_stopping);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		CASE(test_ready_when_all_are),       CASE(test_what_is_waited_for_is_told),
		CASE(test_not_ready_while_it_stops), CASE(test_never),
		CASE(test_a_stop_is_told),           CASE(test_later_it_is_started_again),
		CASE(test_killed_by_a_filter),       CASE(test_killed_by_a_filter_later),
		CASE(test_ended_otherwise),
	};
	int failed;

	if (scratch_make(folder) < 0)
		return 1;
	log_open("test", LOG_INFO_LEVEL);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	scratch_remove(folder);
	return failed;
}
