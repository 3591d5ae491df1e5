// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "log/event.h"
#include "os/capability.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/sandbox.h"
#include "os/signal_watch.h"
#include "program/command.h"
#include "program/log_settings.h"
#include "program/pid_file.h"
#include "program/sandbox.h"
#include "program/serve_internal.h"
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Beyond what deliveries may take, for all else that is done at a stop. */
static const int64_t STOP_PATIENCE_US = MINUTE_US;
static const int64_t HURRY_PATIENCE_US = 20 * SECOND_US;
/* When what a stop waits for is told: soon, then less and less often. */
static const int64_t WAITING_FIRST_US = 2 * SECOND_US;
static const int64_t WAITING_LAST_US = MINUTE_US;
/* When a supervisor was killed its processes take a moment to notice and to let go. */
static const int64_t BIND_PATIENCE_US = 5 * SECOND_US;

/* --- stopping --- */

/* Those whose turn it is; the others when these have ended. */
static void stop_next(struct supervisor *supervisor)
{
	unsigned turn = UINT_MAX;

	for (size_t i = 0; i < supervisor->process_count; i++)
		if (supervisor->processes[i].pid != 0 && supervisor->processes[i].turn < turn)
			turn = supervisor->processes[i].turn;
	for (size_t i = 0; i < supervisor->process_count; i++) {
		const struct process *process = &supervisor->processes[i];

		if (process->control != NULL && process->turn == turn)
			ipc_channel_send(process->control, CHILD_STOP, 0, STR(""), NULL, 0);
	}
	if (serve_running(supervisor) == 0)
		os_loop_stop(supervisor->loop);
}

static void tell_waiting(void *context)
{
	struct supervisor *supervisor = context;
	int64_t left_us = supervisor->stop_until_us - os_clock_monotonic_us();

	for (size_t i = 0; i < supervisor->process_count; i++)
		if (supervisor->processes[i].pending > 0)
			log_event(EVENT_SERVE_WAITING,
				  log_string("program", supervisor->processes[i].program),
				  log_number("deliveries", supervisor->processes[i].pending),
				  log_number("seconds", left_us / SECOND_US));
	if (supervisor->waiting_every_us < WAITING_LAST_US)
		supervisor->waiting_every_us *= 2;
	os_timer_start(supervisor->waiting, supervisor->waiting_every_us);
}

/* What was told a server and is not answered is left alone. */
static void hurry(struct supervisor *supervisor)
{
	log_event(EVENT_SERVE_HURRIED);
	os_timer_start(supervisor->patience, HURRY_PATIENCE_US);
	for (size_t i = 0; i < supervisor->process_count; i++)
		if (supervisor->processes[i].control != NULL)
			ipc_channel_send(supervisor->processes[i].control, CHILD_HURRY, 0, STR(""),
					 NULL, 0);
}

void serve_stop(void *context)
{
	struct supervisor *supervisor = context;
	int64_t deliveries_us = supervisor->config->stop_timeout * SECOND_US;

	if (supervisor->is_stopping) {
		hurry(supervisor);
		return;
	}
	supervisor->is_stopping = true;
	log_event(EVENT_SERVE_STOPPING);
	serve_announce_stop(supervisor);
	for (size_t i = 0; i < supervisor->process_count; i++)
		os_timer_stop(supervisor->processes[i].restart);
	supervisor->stop_until_us = os_clock_monotonic_us() + deliveries_us;
	os_timer_start(supervisor->patience, deliveries_us + STOP_PATIENCE_US);
	supervisor->waiting_every_us = WAITING_FIRST_US;
	os_timer_start(supervisor->waiting, WAITING_FIRST_US);
	stop_next(supervisor);
}

static void lose_patience(void *context)
{
	struct supervisor *supervisor = context;

	for (size_t i = 0; i < supervisor->process_count; i++)
		os_process_kill(supervisor->processes[i].pid, SIGKILL);
}

static void on_child_signal(void *context)
{
	struct supervisor *supervisor = context;
	int status;
	pid_t pid;

	while ((pid = os_process_ended(&status)) > 0)
		for (size_t i = 0; i < supervisor->process_count; i++)
			if (supervisor->processes[i].pid == pid)
				serve_process_ended(&supervisor->processes[i], status);
	if (supervisor->is_stopping)
		stop_next(supervisor);
}

/* --- starting --- */

static int prepare_directory(struct supervisor *supervisor, const char *path)
{
	int error = os_file_make_directory(OS_FILE_HERE, path);

	if (error == -EEXIST)
		return 0;
	if (error == 0 && supervisor->user.change &&
	    lchown(path, supervisor->user.uid, supervisor->user.gid) != 0)
		error = -errno;
	if (error < 0)
		log_event(EVENT_PROCESS_ERROR, log_string("directory", path), log_error(error));
	return error;
}

/* That of the sockets is root's, and the group's to go through: who could change what is in it
 * could stand for any of them. */
static int prepare_run(struct supervisor *supervisor)
{
	const char *path = supervisor->config->run;
	gid_t before;
	int error = os_process_change_group(&supervisor->user, &before);

	if (error == 0) {
		error = os_file_make_directory(OS_FILE_HERE, path);
		os_process_change_group_back(&supervisor->user, before);
	}
	if (error == -EEXIST)
		return 0;
	if (error < 0)
		log_event(EVENT_PROCESS_ERROR, log_string("directory", path), log_error(error));
	return error;
}

/* Nobody but USER gets in. A link to a directory is followed, but not to one of somebody else's. */
static int close_directory(const char *path, uid_t user)
{
	struct stat status;
	int directory;
	int error = 0;

	if (stat(path, &status) == 0 && status.st_uid == user && (status.st_mode & 0777) == 0700)
		return 0; /* then no right to open it is needed */
	directory = os_file_open_directory(OS_FILE_HERE, path);
	if (directory < 0)
		return directory;
	if (fstat(directory, &status) != 0 || status.st_uid != user)
		error = -EPERM;
	else if (fchmod(directory, 0700) != 0)
		error = -errno;
	os_file_close(directory);
	return error;
}

/* The group is what processes with users of their own have in common with its owner. */
static int prepare_queue(struct supervisor *supervisor)
{
	const char *path = supervisor->config->queue;
	int error = prepare_directory(supervisor, path);

	if (error < 0 || !supervisor->user.change || !config_has_process_users(supervisor->config))
		return error;
	error = close_directory(path, supervisor->user.uid);
	if (error < 0)
		log_event(EVENT_PROCESS_ERROR, log_string("directory", path), log_error(error));
	return error;
}

int serve_prepare_data(struct supervisor *supervisor)
{
	const struct config_directory *directory = &supervisor->config->directory;
	const struct os_process_user *user = &serve_user(supervisor, "directory")->user;
	struct str path = str_from(directory->path != NULL ? directory->path : "");
	ptrdiff_t slash = str_find_last(path, '/');
	char parent[PATH_MAX];
	int error;

	if ((directory->backend != CONFIG_BACKEND_SQLITE &&
	     directory->backend != CONFIG_BACKEND_LDAP) ||
	    slash < 1 || slash >= PATH_MAX)
		return 0;
	memcpy(parent, path.data, (size_t)slash);
	parent[slash] = '\0';
	error = os_file_make_directory(OS_FILE_HERE, parent);
	if (error == -EEXIST)
		return 0;
	if (error == 0 && user->change && lchown(parent, user->uid, user->gid) != 0)
		error = -errno;
	if (error < 0)
		log_event(EVENT_PROCESS_ERROR, log_string("directory", parent), log_error(error));
	return error;
}

/* The file stays open, and so locked, until the process ends. */
static int write_pid_file(const struct config *config)
{
	int file = pid_file_write(config->run);

	if (file >= 0)
		return 0;
	log_event(EVENT_PROCESS_ERROR, log_string("file", PID_FILE_NAME),
		  log_string("run", config->run),
		  log_string("reason", file == -EAGAIN ? "another one runs here" : "not written"),
		  log_error(file));
	return file;
}

/* Of another supervisor's reloads nobody is to be told. */
static int begin_reload_record(const struct supervisor *supervisor)
{
	int error = reload_record_write(supervisor->config->run, &supervisor->reload);

	if (error < 0)
		log_event(EVENT_PROCESS_ERROR, log_string("run", supervisor->config->run),
			  log_string("reason", "what becomes of reloads cannot be written"),
			  log_error(error));
	return error;
}

static int find_own_directory(struct supervisor *supervisor)
{
	int error = os_process_own_directory(supervisor->program_directory);

	if (error < 0)
		log_event(EVENT_PROCESS_ERROR,
			  log_string("reason", "its own directory is not known"), log_error(error));
	return error;
}

/* Of the capabilities that a service manager lets a supervisor begin with that is not root's, its
 * processes have none but what each is given (serve_find_users()). */
static int give_nothing_on(void)
{
	int error = os_capability_keep(UINT64_MAX, false);

	if (error < 0)
		log_event(EVENT_PROCESS_ERROR, log_string("reason", "capabilities cannot be set"),
			  log_error(error));
	return error;
}

/* Who fails has told the log. */
static int prepare(struct supervisor *supervisor)
{
	const struct config *config = supervisor->config;
	int error = give_nothing_on();

	if (error == 0)
		error = serve_find_users(supervisor, os_process_effective_user(),
					 os_process_may_change_user());

	if (error == 0)
		error = find_own_directory(supervisor);
	if (error == 0)
		error = prepare_run(supervisor);
	if (error == 0)
		error = write_pid_file(config);
	if (error == 0)
		error = begin_reload_record(supervisor);
	if (error == 0)
		error = prepare_queue(supervisor);
	if (error == 0)
		error = serve_prepare_data(supervisor);
	if (error == 0)
		error = serve_bind_run_sockets(supervisor);
	if (error == 0)
		error = serve_bind_sockets(supervisor, config, BIND_PATIENCE_US);
	return error;
}

/* Installed: where the command's own file says, so that a tree may be moved;
 * not installed: beside it. */
static void find_programs(struct supervisor *supervisor)
{
	static const char *const places[] = {"../libexec/stagepost", "."};
	char *directory = supervisor->program_directory;
	char path[OS_PROCESS_PATH_SIZE + 32];

	for (size_t i = 0; i < COUNT_OF(places); i++) {
		size_t length = strlen(directory);

		snprintf(path, sizeof path, "%s/%s/send", directory, places[i]);
		if (access(path, X_OK) != 0)
			continue;
		snprintf(directory + length, OS_PROCESS_PATH_SIZE - length, "/%s", places[i]);
		return;
	}
	snprintf(directory, OS_PROCESS_PATH_SIZE, "%s", PROGRAM_DIRECTORY);
}

int serve(const char *file, struct str text, struct config *config)
{
	static struct supervisor supervisor;
	struct os_signal_watch *signals[4];

	log_settings_apply("stagepost", config);
	os_process_ignore_pipe_signal();
	os_process_raise_descriptor_limit();
	supervisor.file = file;
	supervisor.config = config;
	buffer_append_str(&supervisor.text, text);
	supervisor.loop = os_loop_new();
	os_loop_set_idle(supervisor.loop, log_flush);
	supervisor.patience = os_timer_new(supervisor.loop, lose_patience, &supervisor);
	supervisor.mending = os_timer_new(supervisor.loop, serve_watch_sockets, &supervisor);
	supervisor.waiting = os_timer_new(supervisor.loop, tell_waiting, &supervisor);
	if (!serve_can_work(config, text, &supervisor.failure)) {
		log_flush();
		return COMMAND_NEVER;
	}
	if (prepare(&supervisor) < 0) {
		log_flush();
		return COMMAND_FAILED;
	}
	find_programs(&supervisor);
	sandbox_log_lacks(os_sandbox_lacks());
	signals[0] = os_signal_watch_new(supervisor.loop, SIGCHLD, on_child_signal, &supervisor);
	signals[1] = os_signal_watch_new(supervisor.loop, SIGTERM, serve_stop, &supervisor);
	signals[2] = os_signal_watch_new(supervisor.loop, SIGINT, serve_stop, &supervisor);
	signals[3] = os_signal_watch_new(supervisor.loop, SIGHUP, serve_reload, &supervisor);
	serve_add_processes(&supervisor);
	serve_watch_sockets(&supervisor);
	serve_watch_transcripts(&supervisor);
	for (size_t i = 0; i < supervisor.process_count; i++)
		if (supervisor.processes[i].is_wanted)
			serve_process_start(&supervisor.processes[i]);
	os_loop_run(supervisor.loop);
	log_event(EVENT_SERVE_STOPPED);
	if (supervisor.failure.length > 0)
		log_event(EVENT_SERVE_FAILED, log_str("reason", buffer_view(&supervisor.failure)));
	log_flush();
	for (size_t i = 0; i < COUNT_OF(signals); i++)
		os_signal_watch_free(signals[i]);
	config_free(supervisor.config);
	buffer_clear(&supervisor.text);
	buffer_clear(&supervisor.failure);
	buffer_clear(&supervisor.reload.reason);
	return supervisor.exit_status;
}
