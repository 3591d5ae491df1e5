// SPDX-License-Identifier: ISC
#include "program_scene.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "config/text.h"
#include "confine/process.h"
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

enum { CONTROL = 3, SECONDS_MAX = 30, WAIT_MS = 300 };

const char *scene_program;
bool scene_waits;

static char root[SCRATCH_SIZE];
struct program_scene scene;

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
	size_t length = strlen(scene.said);

	(void)context;
	(void)channel;
	if (message->type == CHILD_READY)
		scene.is_ready = true;
	else if (message->type != CHILD_PENDING && message->type != CHILD_WAITS)
		snprintf(scene.said + length, sizeof scene.said - length, "%u " STR_FORMAT "; ",
			 message->type, STR_ARGUMENTS(message->body));
	os_loop_stop(scene.loop);
}

static void on_lost(void *context, struct ipc_channel *channel)
{
	(void)context;
	ipc_channel_close(channel);
	scene.channel = NULL;
	scene.is_lost = true;
	os_loop_stop(scene.loop);
}

static void on_late(void *context)
{
	(void)context;
	scene.is_late = true;
	os_loop_stop(scene.loop);
}

void program_scene_send(enum child_message type, struct str body, int descriptor)
{
	ipc_channel_send(scene.channel, (uint16_t)type, 0, body, &descriptor, descriptor >= 0);
}

void program_scene_configure(struct str text)
{
	int file = os_process_share_text(text);

	assert_true(file >= 0);
	program_scene_send(CHILD_CONFIG, STR("test.conf"), file);
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
	pack_str(&tokens, str_from(scene_program));
	pack_str(&tokens, STR("0123456789abcdef0123456789abcdef"));
	program_scene_send(CHILD_USERS, buffer_view(&users), -1);
	program_scene_send(CHILD_TOKENS, buffer_view(&tokens), -1);
}

static void send_sockets(void)
{
	for (size_t i = 0; i < scene.socket_count; i++)
		program_scene_send(CHILD_SOCKET, str_from(scene.names[i]), scene.sockets[i]);
}

static void send_whether_to_drain(void)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u32(&body, 0);
	program_scene_send(CHILD_DRAIN, buffer_view(&body), -1);
}

void program_scene_set_up(const char *level, const char *places)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	append_configuration(&text, level, places != NULL ? places : root);
	program_scene_configure(buffer_view(&text));
	send_users_and_tokens();
	send_sockets();
	send_whether_to_drain();
	program_scene_send(CHILD_START, STR(""), -1);
}

static void add_socket(const char *name, int descriptor)
{
	assert_true(descriptor >= 0 && scene.socket_count < SCENE_SOCKETS_MAX);
	snprintf(scene.names[scene.socket_count], sizeof scene.names[0], "%s", name);
	scene.sockets[scene.socket_count++] = descriptor;
}

static const struct supervisor_program *program_row(void)
{
	for (size_t i = 0; i < SUPERVISOR_PROGRAMS; i++)
		if (strcmp(supervisor_programs[i].name, scene_program) == 0)
			return &supervisor_programs[i];
	fail_msg("%s is not in the table", scene_program);
	return NULL;
}

/* Those that the table names, as the supervisor binds them. */
static void open_sockets(void)
{
	const struct confine_process *process = confine_process_find(scene_program);
	char path[SCRATCH_SIZE + 40];

	assert_non_null(process);
	for (size_t i = 0; i < PROCESS_SOCKETS_MAX && process->sockets[i] != NULL; i++) {
		const char *name = process->sockets[i];
		int kind = strcmp(name, "notify") == 0      ? SOCK_DGRAM
			   : strcmp(name, "directory") == 0 ? SOCK_STREAM
							    : SOCK_SEQPACKET;

		if (strcmp(name, "listen") == 0 || strcmp(name, "qmtp") == 0 ||
		    strcmp(name, "socketmap") == 0 || strcmp(name, "submit") == 0)
			continue;
		snprintf(path, sizeof path, "%s/run/%s", root, name);
		add_socket(name, os_socket_listen_unix(path, kind, 0600));
	}
	if (program_row()->is_told_seen) {
		snprintf(path, sizeof path, "%s/seen", root);
		add_socket("directory_seen", open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	}
}

/* --- the process --- */

_Noreturn void program_scene_run(int control, const char *argument)
{
	char *words[] = {(char *)scene_program, (char *)argument, NULL};

	if (control != CONTROL)
		dup2(control, CONTROL);
	fcntl(CONTROL, F_SETFD, 0);
	_exit(program_main(argument != NULL ? 2 : 1, words));
}

void program_scene_begin(void)
{
	static const struct ipc_channel_handler handler = {on_message, on_lost};
	char path[SCRATCH_SIZE + 40];
	int sockets[2];

	memset(&scene, 0, sizeof scene);
	assert_int_equal(scratch_make(root), 0);
	snprintf(path, sizeof path, "%s/run", root);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/policy", root);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(os_process_socket_pair(sockets), 0);
	open_sockets();
	fflush(NULL);
	scene.pid = fork();
	assert_true(scene.pid >= 0);
	if (scene.pid == 0)
		program_scene_run(sockets[1], "--supervised");
	close(sockets[1]);
	scene.loop = os_loop_new();
	scene.late = os_timer_new(scene.loop, on_late, NULL);
	os_timer_start(scene.late, SECONDS_MAX * SECOND_US);
	scene.channel = ipc_channel_new(scene.loop, sockets[0], &handler, NULL);
}

/* Its exit status; -1: it was killed, or had to be. */
int program_scene_end(void)
{
	int status = 0;

	while (!scene.is_lost && !scene.is_late)
		os_loop_run(scene.loop);
	if (scene.is_late)
		kill(scene.pid, SIGKILL);
	assert_int_equal(waitpid(scene.pid, &status, 0), scene.pid);
	ipc_channel_close(scene.channel);
	os_timer_free(scene.late);
	os_loop_free(scene.loop);
	for (size_t i = 0; i < scene.socket_count; i++)
		close(scene.sockets[i]);
	(void)scratch_remove(root);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void stop_waiting(void *context)
{
	(void)context;
	scene.is_ready = true;
	os_loop_stop(scene.loop);
}

/* Or until it has waited for a while, and goes on doing so. */
void program_scene_wait(void)
{
	struct os_timer *patience = os_timer_new(scene.loop, stop_waiting, NULL);

	if (scene_waits)
		os_timer_start(patience, WAIT_MS * SECOND_US / 1000);
	while (!scene.is_ready && !scene.is_lost && !scene.is_late)
		os_loop_run(scene.loop);
	if (!scene.is_ready)
		fail_msg("%s has not begun: %s%s", scene_program, scene.is_lost ? "ended " : "",
			 scene.said);
	os_timer_free(patience);
}
