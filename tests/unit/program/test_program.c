// SPDX-License-Identifier: ISC
/*
 * The main() of a program as a process, with a supervisor that is played: it is given its
 * configuration, users, tokens and sockets, and says that it is ready; a reload leaves it there, a
 * stop ends it. What it does not accept ends it with a status of its own.
 *
 * Each program is linked into this with another name for its main().
 */
#include "base/panic.h"
#include "base/timestamp.h"
#include "config/text.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "os/loop.h"
#include "os/process/process.h"
#include "os/socket/socket.h"
#include "scratch.h"
#include "supervisor/child/child.h"
#include "supervisor/program.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int program_main(int argc, char **argv);

enum { CONTROL = 3, SECONDS_MAX = 30, WAIT_MS = 300, SOCKETS_MAX = 8 };

static const char *program_name; /* as in the table of the supervisor */
static bool waits_for_queue;     /* it begins once "queue" answers, which nobody plays here */
static bool needs_places;        /* it cannot begin where its directories cannot be */
static char root[SCRATCH_SIZE];
static struct {
	struct os_loop *loop;
	struct ipc_channel *channel;
	struct os_timer *late;
	pid_t pid;
	bool is_ready, is_lost, is_late;
	char said[1000]; /* by messages that are not expected */
	int sockets[SOCKETS_MAX];
	char names[SOCKETS_MAX][100];
	size_t socket_count;
} world;

static const char configuration[] =
	"hostname = mx.test\nuser = \"\"\nqueue = \"%s/queue\"\nrun = \"%s/run\"\nsplit = 3\n"
	"policy_path = \"%s/policy\"\nmta_sts = yes\nclient_names = yes\n"
	"dns_server = 127.0.0.1\nlog_level = %s\nspares = 2\nsmtpd_workers = 1\n"
	"service box { kind = maildir path = \"%s/mail/%%u\" }\n"
	"service cat { kind = pipe command = /bin/cat user = nobody }\n"
	"service far { kind = lmtp address = unix:%s/lmtp }\n"
	"service filed { kind = mailbox path = \"%s/filed/%%u\" }\n"
	"record { path = \"%s/record.db\" }\n"
	"domain local.test { service = box }\n"
	"directory { path = \"%s/directory.db\" }\n"
	"auth { users = directory }\n"
	"smtproutes = \"relay.test:host.test|ann|secret\"\n";

/* Where PLACES are not there, nothing of it can be made either. */
static void append_configuration(struct buffer *text, const char *level, const char *places)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	buffer_append_format(text, configuration, places, root, places, level, places, places,
			     places, places, places);
#pragma GCC diagnostic pop
}

/* --- the supervisor --- */

static void on_message(void *context, struct ipc_channel *channel, struct ipc_message *message)
{
	size_t length = strlen(world.said);

	(void)context;
	(void)channel;
	if (message->type == CHILD_READY)
		world.is_ready = true;
	else if (message->type != CHILD_PENDING && message->type != CHILD_WAITS)
		snprintf(world.said + length, sizeof world.said - length, "%u " STR_FORMAT "; ",
			 message->type, STR_ARGUMENTS(message->body));
	os_loop_stop(world.loop);
}

static void on_lost(void *context, struct ipc_channel *channel)
{
	(void)context;
	ipc_channel_close(channel);
	world.channel = NULL;
	world.is_lost = true;
	os_loop_stop(world.loop);
}

static void on_late(void *context)
{
	(void)context;
	world.is_late = true;
	os_loop_stop(world.loop);
}

static void send_body(enum child_message type, struct str body, int descriptor)
{
	ipc_channel_send(world.channel, (uint16_t)type, 0, body, &descriptor, descriptor >= 0);
}

static void send_configuration(struct str text)
{
	int file = os_process_share_text(text);

	assert_true(file >= 0);
	send_body(CHILD_CONFIG, STR("test.conf"), file);
	close(file);
}

static void send_users_and_tokens(void)
{
	struct buffer users CLEANUP(buffer_clear) = {0};
	struct buffer tokens CLEANUP(buffer_clear) = {0};

	for (size_t i = 0; i < SUPERVISOR_PROGRAMS; i++) {
		pack_str(&users, str_from(supervisor_programs[i].name));
		pack_u32(&users, geteuid());
	}
	pack_str(&tokens, str_from(program_name));
	pack_str(&tokens, STR("0123456789abcdef0123456789abcdef"));
	send_body(CHILD_USERS, buffer_view(&users), -1);
	send_body(CHILD_TOKENS, buffer_view(&tokens), -1);
}

static void send_sockets(void)
{
	for (size_t i = 0; i < world.socket_count; i++)
		send_body(CHILD_SOCKET, str_from(world.names[i]), world.sockets[i]);
}

static void send_whether_to_drain(void)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u32(&body, 0);
	send_body(CHILD_DRAIN, buffer_view(&body), -1);
}

static void set_up_program(const char *level, const char *places)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	append_configuration(&text, level, places);
	send_configuration(buffer_view(&text));
	send_users_and_tokens();
	send_sockets();
	send_whether_to_drain();
	send_body(CHILD_START, STR(""), -1);
}

static void add_socket(const char *name, int descriptor)
{
	assert_true(descriptor >= 0 && world.socket_count < SOCKETS_MAX);
	snprintf(world.names[world.socket_count], sizeof world.names[0], "%s", name);
	world.sockets[world.socket_count++] = descriptor;
}

static const struct supervisor_program *program_row(void)
{
	for (size_t i = 0; i < SUPERVISOR_PROGRAMS; i++)
		if (strcmp(supervisor_programs[i].name, program_name) == 0)
			return &supervisor_programs[i];
	fail_msg("%s is not in the table", program_name);
	return NULL;
}

/* Those that the table names, as the supervisor binds them. */
static void open_sockets(void)
{
	const struct supervisor_program *row = program_row();
	char path[SCRATCH_SIZE + 40];

	for (size_t i = 0; i < SUPERVISOR_SOCKETS_MAX && row->sockets[i] != NULL; i++) {
		const char *name = row->sockets[i];
		int kind = strcmp(name, "notify") == 0      ? SOCK_DGRAM
			   : strcmp(name, "directory") == 0 ? SOCK_STREAM
							    : SOCK_SEQPACKET;

		if (strcmp(name, "listen") == 0 || strcmp(name, "qmtp") == 0 ||
		    strcmp(name, "socketmap") == 0 || strcmp(name, "submit") == 0)
			continue;
		snprintf(path, sizeof path, "%s/run/%s", root, name);
		add_socket(name, os_socket_listen_unix(path, kind, 0600));
	}
	if (row->is_told_seen) {
		snprintf(path, sizeof path, "%s/seen", root);
		add_socket("directory_seen", open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	}
}

/* --- the process --- */

static _Noreturn void run_program(int control, const char *argument)
{
	char *words[] = {(char *)program_name, (char *)argument, NULL};

	if (control != CONTROL)
		dup2(control, CONTROL);
	fcntl(CONTROL, F_SETFD, 0);
	_exit(program_main(argument != NULL ? 2 : 1, words));
}

static void begin_process(void)
{
	static const struct ipc_channel_handler handler = {on_message, on_lost};
	char path[SCRATCH_SIZE + 40];
	int sockets[2];

	memset(&world, 0, sizeof world);
	assert_int_equal(scratch_make(root), 0);
	snprintf(path, sizeof path, "%s/run", root);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/policy", root);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(os_process_socket_pair(sockets), 0);
	open_sockets();
	fflush(NULL);
	world.pid = fork();
	assert_true(world.pid >= 0);
	if (world.pid == 0)
		run_program(sockets[1], "--supervised");
	close(sockets[1]);
	world.loop = os_loop_new();
	world.late = os_timer_new(world.loop, on_late, NULL);
	os_timer_start(world.late, SECONDS_MAX * SECOND_US);
	world.channel = ipc_channel_new(world.loop, sockets[0], &handler, NULL);
}

/* Its exit status; -1: it was killed, or had to be. */
static int end_process(void)
{
	int status = 0;

	while (!world.is_lost && !world.is_late)
		os_loop_run(world.loop);
	if (world.is_late)
		kill(world.pid, SIGKILL);
	assert_int_equal(waitpid(world.pid, &status, 0), world.pid);
	ipc_channel_close(world.channel);
	os_timer_free(world.late);
	os_loop_free(world.loop);
	for (size_t i = 0; i < world.socket_count; i++)
		close(world.sockets[i]);
	(void)scratch_remove(root);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void stop_waiting(void *context)
{
	(void)context;
	world.is_ready = true;
	os_loop_stop(world.loop);
}

/* Or until it has waited for a while, and goes on doing so. */
static void wait_until_ready(void)
{
	struct os_timer *patience = os_timer_new(world.loop, stop_waiting, NULL);

	if (waits_for_queue)
		os_timer_start(patience, WAIT_MS * SECOND_US / 1000);
	while (!world.is_ready && !world.is_lost && !world.is_late)
		os_loop_run(world.loop);
	if (!world.is_ready)
		fail_msg("%s has not begun: %s%s", program_name, world.is_lost ? "ended " : "",
			 world.said);
	os_timer_free(patience);
}

/* --- tests --- */

static void it_begins_reloads_and_ends(void **state)
{
	(void)state;
	begin_process();
	set_up_program("info", root);
	wait_until_ready();
	set_up_program("error", root);
	send_body(CHILD_STOP, STR(""), -1);
	assert_int_equal(end_process(), 0);
	assert_string_equal(world.said, "");
}

/* It says so by its status, and is no burden to those that can. */
static void without_its_places_it_does_not_begin(void **state)
{
	(void)state;
	begin_process();
	set_up_program("error", "/proc/nowhere");
	if (!needs_places) {
		wait_until_ready();
		send_body(CHILD_STOP, STR(""), -1);
	}
	assert_int_equal(end_process(), needs_places ? 1 : 0);
}

static void a_signal_ends_it(void **state)
{
	(void)state;
	begin_process();
	set_up_program("error", root);
	wait_until_ready();
	kill(world.pid, SIGTERM);
	assert_int_equal(end_process(), 0);
}

/* Nothing is left of a node whose supervisor has died. */
static void it_ends_with_its_supervisor(void **state)
{
	(void)state;
	begin_process();
	set_up_program("error", root);
	wait_until_ready();
	ipc_channel_close(world.channel);
	world.channel = NULL;
	world.is_lost = true;
	assert_int_equal(end_process(), 0);
}

static void a_stop_before_the_start_is_one(void **state)
{
	(void)state;
	begin_process();
	send_body(CHILD_STOP, STR(""), -1);
	assert_int_equal(end_process(), 0);
}

/* What a supervisor of another version might send. */
static void what_is_not_understood_ends_it(void **state)
{
	static const struct {
		enum child_message type;
		const char *body;
	} cases[] = {
		{(enum child_message)99, ""},
		{CHILD_USERS, "x"},
		{CHILD_TOKENS, "x"},
		{CHILD_DRAIN, ""},
		{CHILD_ROWS, "x"},
		{CHILD_TRANSCRIPT, "x"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		begin_process();
		send_body(cases[i].type, str_from(cases[i].body), -1);
		assert_int_equal(end_process(), 1);
	}
	begin_process();
	send_configuration(STR("hostname = ??\n"));
	assert_int_equal(end_process(), 1);
}

/* A configuration without its file is asked for again. */
static void what_is_lacking_is_asked_for_again(void **state)
{
	char wanted[20];

	(void)state;
	begin_process();
	send_body(CHILD_CONFIG, STR("test.conf"), -1);
	send_body(CHILD_START, STR(""), -1);
	while (world.said[0] == '\0' && !world.is_lost && !world.is_late)
		os_loop_run(world.loop);
	snprintf(wanted, sizeof wanted, "%d ; ", CHILD_AGAIN);
	assert_string_equal(world.said, wanted);
	send_body(CHILD_STOP, STR(""), -1);
	assert_int_equal(end_process(), 0);
}

static void it_is_not_started_by_hand(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(nowhere, STDERR_FILENO);
		run_program(nowhere, NULL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_begins_reloads_and_ends),
		cmocka_unit_test(without_its_places_it_does_not_begin),
		cmocka_unit_test(a_signal_ends_it),
		cmocka_unit_test(it_ends_with_its_supervisor),
		cmocka_unit_test(a_stop_before_the_start_is_one),
		cmocka_unit_test(what_is_not_understood_ends_it),
		cmocka_unit_test(what_is_lacking_is_asked_for_again),
		cmocka_unit_test(it_is_not_started_by_hand),
	};

	assert_true(argc >= 2);
	program_name = argv[1];
	for (int i = 2; i < argc; i++) {
		waits_for_queue |= strcmp(argv[i], "waits-for-queue") == 0;
		needs_places |= strcmp(argv[i], "needs-places") == 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
