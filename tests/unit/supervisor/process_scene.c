// SPDX-License-Identifier: ISC
#include "process_scene.h"
#include "fake_loop.h"
#include "os/file/file.h"
#include "os/socket/socket.h"
#include "test.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct process_scene scene;

static bool is_scene_program_wanted(const struct config *config)
{
	assert_ptr_equal(config, &scene.config);
	return scene.is_wanted;
}

static uint32_t count_workers(const struct config *config)
{
	assert_ptr_equal(config, &scene.config);
	return 3;
}

static const char *worker_file(const struct config *config)
{
	assert_ptr_equal(config, &scene.config);
	return "worker-file";
}

static bool is_nothing_wanted(const struct config *config)
{
	(void)config;
	return false;
}

#define NONE                                                                         \
	{                                                                            \
		.name = "none", .turn = TURN_HELPERS, .is_wanted = is_nothing_wanted \
	}

const struct supervisor_program supervisor_programs[SUPERVISOR_PROGRAMS] = {
	{.name = "manager", .turn = TURN_MANAGER},
	{.name = "intake", .turn = TURN_INTAKE},
	{.name = "helper", .turn = TURN_HELPERS},
	{.name = "wanted", .turn = TURN_INTAKE, .is_wanted = is_scene_program_wanted},
	{.name = "decode", .turn = TURN_DIRECTORY, .is_expendable = true},
	{.name = "asker", .turn = TURN_HELPERS},
	{.name = "directory", .turn = TURN_DIRECTORY},
	{.name = "queue", .turn = TURN_LAST},
	{.name = "worker", .turn = TURN_INTAKE, .count = count_workers, .file = worker_file},
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
	NONE,
};

static void say(const char *format, ...) PRINTF_LIKE(1, 2);

static void say(const char *format, ...)
{
	size_t length = strlen(scene.said);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(scene.said + length, sizeof scene.said - length, format, arguments);
	va_end(arguments);
}

void process_scene_check(const char *wanted)
{
	assert_string_equal(scene.said, wanted);
	scene.said[0] = '\0';
}

void process_scene_forget(void)
{
	scene.said[0] = '\0';
}

/* --- the system --- */

int os_process_socket_pair(int sockets_out[2])
{
	scene.open += 2;
	sockets_out[0] = 1000;
	sockets_out[1] = 1001;
	return 0;
}

void __wrap_os_socket_close(int socket);

void __wrap_os_socket_close(int socket)
{
	scene.open -= socket >= 0;
}

void os_file_close(int file)
{
	scene.open -= file >= 0;
}

void os_process_kill(pid_t pid, int signal)
{
	if (pid > 0)
		say("kill %d by %d; ", pid - SCENE_FIRST_PID, signal);
}

void os_process_status_format(int status, char *text, size_t size)
{
	snprintf(text, size, "status %d", status);
}

void os_loop_stop(struct os_loop *loop)
{
	assert_null(loop);
	say("end; ");
}

/* --- the other files of the supervisor --- */

const struct program_user *program_users_of(const struct program_users *users, const char *program)
{
	assert_non_null(program);
	return &users->programs[0];
}

pid_t supervisor_run_executable(const struct supervisor *supervisor, const char *file,
				const struct os_process_user *user, int control, int output)
{
	assert_ptr_equal(supervisor, &scene.supervisor);
	assert_ptr_equal(user, &supervisor->users.programs[0].user);
	assert_int_equal(control, 1001);
	assert_int_equal(output, 2000);
	if (scene.start_error < 0)
		return scene.start_error;
	say("start %s; ", file);
	return scene.next_pid++;
}

int supervisor_log_open(struct process *process, int *to_out)
{
	process->log.from = 2001;
	*to_out = 2000;
	scene.open += 2;
	return 0;
}

void supervisor_log_begin(struct process *process, const char *file)
{
	assert_int_equal(process->log.from, 2001);
	assert_non_null(file);
}

void supervisor_log_end(struct process *process)
{
	scene.open -= process->log.from >= 0;
	process->log.from = -1;
}

void supervisor_control_begin(struct process *process, int socket, supervisor_said *said)
{
	assert_int_equal(socket, 1000);
	assert_null(process->control);
	process->control = (struct ipc_channel *)(void *)process;
	scene.hear = said;
}

void supervisor_control_end(struct process *process)
{
	scene.open -= process->control != NULL;
	process->control = NULL;
}

void ipc_channel_receive(struct ipc_channel *channel)
{
	assert_non_null(channel);
}

void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *descriptors, size_t count)
{
	const struct process *process = (const struct process *)(const void *)channel;

	(void)descriptors;
	assert_true(tag == 0 && body.length == 0 && count == 0);
	say("%s %s; ",
	    type == CHILD_STOP    ? "stop"
	    : type == CHILD_HURRY ? "hurry"
				  : "?",
	    process->program->name);
}

int supervisor_start_connecting(struct process *process)
{
	assert_true(process->pid > 0);
	return scene.connect_error;
}

void supervisor_stop_connecting(struct process *process)
{
	assert_int_equal(process->pid, 0);
}

void supervisor_renew_token(struct process *process)
{
	assert_int_equal(process->pid, 0);
}

void supervisor_mend_sockets(struct process *process)
{
	assert_true(process->pid > 0);
}

void supervisor_set_up(void *process)
{
	say("set up %s; ", ((struct process *)process)->program->name);
}

void supervisor_give_row(struct process *process)
{
	say("row of %s; ", process->program->name);
}

void supervisor_clear_row(const struct process *process)
{
	say("no row of %s; ", process->program->name);
}

void supervisor_announce_ready(struct supervisor *supervisor)
{
	assert_ptr_equal(supervisor, &scene.supervisor);
	say("ready; ");
}

void supervisor_give_up(struct supervisor *supervisor, struct str reason)
{
	assert_ptr_equal(supervisor, &scene.supervisor);
	say("give up: " STR_FORMAT "; ", STR_ARGUMENTS(reason));
}

void supervisor_note_waits(struct process *process, struct str reason)
{
	buffer_reset(&process->waits);
	buffer_append_str(&process->waits, reason);
	process->waits_since = process->pid;
	say("%s waits: " STR_FORMAT "; ", process->program->name, STR_ARGUMENTS(reason));
}

void supervisor_judge_end(struct supervisor *supervisor, const char *program, int status)
{
	assert_ptr_equal(supervisor, &scene.supervisor);
	if (status != 0)
		say("judge %s %d; ", program, status);
}

void supervisor_close_mail_sockets(struct supervisor *supervisor)
{
	assert_ptr_equal(supervisor, &scene.supervisor);
	say("full; ");
}

void supervisor_pass_transcript(struct process *process, struct str said)
{
	say("%s said " STR_FORMAT "; ", process->program->name, STR_ARGUMENTS(said));
}

/* Of those that have no socket and connect to nobody there is only the name. */
static const struct confine_process confined[] = {
	{.name = "decode", .sockets = {"decode"}},
	{.name = "asker", .targets = {"decode", "queue"}},
	{.name = "queue", .sockets = {"queue"}},
};

const struct confine_process *confine_process_find(const char *name)
{
	static const struct confine_process others = {.name = ""};

	for (size_t i = 0; i < COUNT_OF(confined); i++)
		if (strcmp(confined[i].name, name) == 0)
			return &confined[i];
	return &others;
}

bool confine_process_has_target(const struct confine_process *process, const char *socket)
{
	for (size_t i = 0; i < PROCESS_TARGETS_MAX && process->targets[i] != NULL; i++)
		if (strcmp(process->targets[i], socket) == 0)
			return true;
	return false;
}

bool supervisor_program_has_socket(const struct supervisor_program *program, unsigned number,
				   const char *name)
{
	const struct confine_process *process = confine_process_find(program->name);

	assert_int_equal(number, 0);
	return process->sockets[0] != NULL && strcmp(process->sockets[0], name) == 0;
}

void supervisor_notify(const struct supervisor *supervisor, const char *text)
{
	assert_ptr_equal(supervisor, &scene.supervisor);
	say("notify %s; ", text);
}

/* --- the scene --- */

void process_scene_begin(void)
{
	memset(&scene, 0, sizeof scene);
	scene.next_pid = SCENE_FIRST_PID;
	scene.config.stop_timeout = 30;
	scene.is_wanted = true;
	scene.supervisor.config = &scene.config;
	supervisor_prepare_stop(&scene.supervisor);
	supervisor_add_processes(&scene.supervisor);
	for (size_t i = 0; i < scene.supervisor.process_count; i++)
		if (scene.supervisor.processes[i].is_wanted)
			supervisor_process_start(&scene.supervisor.processes[i]);
}

void process_scene_end(void)
{
	for (size_t i = 0; i < scene.supervisor.process_count; i++) {
		struct process *process = &scene.supervisor.processes[i];

		supervisor_control_end(process);
		supervisor_log_end(process);
		buffer_clear(&process->waits);
		os_timer_free(process->restart);
		os_timer_free(process->again);
	}
	os_timer_free(scene.supervisor.patience);
	os_timer_free(scene.supervisor.waiting);
	assert_int_equal(scene.open, 0);
}

struct process *process_scene_of(int program)
{
	for (size_t i = 0; i < scene.supervisor.process_count; i++) {
		struct process *process = &scene.supervisor.processes[i];

		if (process->program == &supervisor_programs[program] && process->pid != 0 &&
		    !process->is_retired)
			return process;
	}
	return NULL;
}

void process_scene_hear(struct process *process, enum child_message type, const char *body)
{
	const struct ipc_message message = {.type = (uint16_t)type, .body = str_from(body)};

	scene.hear(process, &message);
}

void process_scene_leave(struct process *process)
{
	supervisor_process_ended(process, 0);
}
