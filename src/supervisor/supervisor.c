// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "confine/sandbox.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/file/rights.h"
#include "os/process/capability.h"
#include "os/sandbox/sandbox.h"
#include "os/signal_watch.h"
#include "os/socket/inherited.h"
#include "supervisor/internal.h"
#include "supervisor/start/log_settings.h"
#include "supervisor/start/program_directory.h"
#include "supervisor/start/status.h"
#include "supervisor/talk/pid_file.h"
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* After a supervisor was killed, its processes need a moment to notice and to close sockets. */
static const int64_t BIND_PATIENCE_US = 5 * SECOND_US;

static void on_child_signal(void *context)
{
	struct supervisor *supervisor = context;
	int status;
	pid_t pid;

	while ((pid = os_process_ended(&status)) > 0) {
		if (supervisor_upgrade_ended(supervisor, pid, status))
			continue;
		for (size_t i = 0; i < supervisor->process_count; i++)
			if (supervisor->processes[i].pid == pid)
				supervisor_process_ended(&supervisor->processes[i], status);
	}
	if (supervisor->is_stopping)
		supervisor_stop_next(supervisor);
}

/* --- starting --- */

/* The file stays open, and so locked, until the process ends. It has the group of the directory, so
 * that a supervisor which is not root can see whether root's has it still. */
static int write_pid_file(struct supervisor *supervisor)
{
	const char *run = supervisor->config->run;
	gid_t before;
	int file;

	if (supervisor->pid_file >= 0 && pid_file_rewrite(supervisor->pid_file) == 0)
		return 0;
	file = os_process_change_group(&supervisor->users.node, &before);
	if (file == 0) {
		file = pid_file_write(run);
		os_process_change_group_back(&supervisor->users.node, before);
	}
	if (file >= 0) {
		supervisor->pid_file = file;
		return 0;
	}
	supervisor_cannot(supervisor, LOG_TEXT_run, run,
			  file == -EAGAIN ? "another mail system runs here"
					  : PID_FILE_NAME " cannot be written",
			  file);
	return file;
}

/* Removes the record of another supervisor's reloads; that of upgrades is continued. */
static int begin_records(struct supervisor *supervisor)
{
	int error =
		request_record_write(supervisor->config->run, REQUEST_RELOAD, &supervisor->reload);

	if (error == 0)
		error = supervisor_begin_upgrade_record(supervisor);
	if (error < 0)
		supervisor_cannot(supervisor, LOG_TEXT_run, supervisor->config->run,
				  "what becomes of requests cannot be written", error);
	return error;
}

static int find_own_directory(struct supervisor *supervisor)
{
	int error = os_process_own_directory(supervisor->own_program);
	size_t length = error == 0 ? strlen(supervisor->own_program) : 0;

	if (error == 0)
		error = program_directory_find(supervisor->program_directory);
	if (error == 0)
		snprintf(supervisor->own_program + length, sizeof supervisor->own_program - length,
			 "/stagepost");
	if (error < 0)
		log_event(EVENT_PROCESS_ERROR, log_string(reason, "its own directory is not known"),
			  log_error(error));
	return error;
}

/* A service manager may give a supervisor that is not root capabilities; its processes get none of
 * them, except those that program_users_find() assigns. */
static int give_nothing_on(void)
{
	int error = os_capability_keep(UINT64_MAX, false);

	if (error < 0)
		log_event(EVENT_PROCESS_ERROR, log_string(reason, "capabilities cannot be set"),
			  log_error(error));
	return error;
}

/* Each step logs its own failure. */
static int prepare_to_serve(struct supervisor *supervisor)
{
	const struct config *config = supervisor->config;
	int error = give_nothing_on();

	if (error == 0)
		error = program_users_find(&supervisor->users, supervisor->config,
					   os_process_effective_user(),
					   os_process_may_change_user());

	if (error == 0)
		error = find_own_directory(supervisor);
	if (error == 0)
		supervisor_open_executables(supervisor);
	if (error == 0)
		error = supervisor_prepare_run(supervisor);
	if (error == 0)
		error = write_pid_file(supervisor);
	if (error == 0)
		error = begin_records(supervisor);
	if (error == 0)
		supervisor_begin_drain(supervisor);
	if (error == 0)
		error = supervisor_prepare_queue(supervisor);
	if (error == 0)
		error = supervisor_prepare_data(supervisor);
	if (error == 0)
		error = supervisor_bind_run_sockets(supervisor);
	if (error == 0)
		error = supervisor_bind_sockets(supervisor, config, BIND_PATIENCE_US);
	if (error == 0)
		supervisor_keep_good_config(supervisor);
	return error;
}

static void init_supervisor(struct supervisor *supervisor, const char *file, struct str text,
			    struct config *config, const struct supervisor_origin *origin)
{
	log_settings_apply("stagepost", config);
	if (config_has_passwords(config))
		os_process_hide_memory();
	os_process_ignore_pipe_signal();
	os_process_raise_descriptor_limit();
	supervisor->file = file;
	supervisor->config = config;
	buffer_append_str(&supervisor->text, text);
	supervisor->site_key = supervisor_make_site_key();
	supervisor->loop = os_loop_new();
	os_loop_set_idle(supervisor->loop, log_flush);
	supervisor->pid_file = -1;
	supervisor_inherit_all(supervisor, origin);
	if (origin->predecessor >= 0)
		supervisor_meet_predecessor(supervisor, origin->predecessor);
	supervisor_prepare_stop(supervisor);
	supervisor->mending = os_timer_new(supervisor->loop, supervisor_watch_sockets, supervisor);
}

static void clear_supervisor(struct supervisor *supervisor)
{
	config_free(supervisor->config);
	buffer_clear(&supervisor->text);
	buffer_clear(&supervisor->failure);
	buffer_clear(&supervisor->unbound);
	buffer_clear(&supervisor->faults);
	buffer_clear(&supervisor->reload.reason);
}

/* The service manager is told by a supervisor that has the node, not by one that is to get it. */
static int end_serving(const struct supervisor *supervisor, int status)
{
	return supervisor_end(supervisor->predecessor == NULL ? buffer_view(&supervisor->failure)
							      : STR(""),
			      status);
}

static int fail_to_serve(struct supervisor *supervisor, int status)
{
	supervisor_tell_predecessor(
		supervisor, UPGRADE_FAILED,
		supervisor->failure.length > 0
			? buffer_view(&supervisor->failure)
			: STR("the new version cannot begin; why is in the log"));
	return end_serving(supervisor, status);
}

int supervisor_run(const char *file, struct str text, struct config *config,
		   const struct supervisor_origin *origin)
{
	static struct supervisor supervisor;
	struct os_signal_watch *signals[5];

	init_supervisor(&supervisor, file, text, config, origin);
	if (!supervisor_can_work(config, text, &supervisor.failure, &supervisor.faults))
		return fail_to_serve(&supervisor, COMMAND_NEVER);
	if (supervisor.predecessor != NULL && !supervisor_await_turn(&supervisor))
		return fail_to_serve(&supervisor, COMMAND_FAILED);
	if (prepare_to_serve(&supervisor) < 0)
		return fail_to_serve(&supervisor, supervisor.exit_status != COMMAND_OK
							  ? supervisor.exit_status
							  : COMMAND_FAILED);
	supervisor_drop_inherited(&supervisor);
	sandbox_log_lacks(os_sandbox_lacks());
	signals[0] = os_signal_watch_new(supervisor.loop, SIGCHLD, on_child_signal, &supervisor);
	signals[1] =
		os_signal_watch_new(supervisor.loop, SIGTERM, supervisor_stop_all, &supervisor);
	signals[2] = os_signal_watch_new(supervisor.loop, SIGINT, supervisor_stop_all, &supervisor);
	signals[3] = os_signal_watch_new(supervisor.loop, SIGHUP, supervisor_reload, &supervisor);
	signals[4] = os_signal_watch_new(supervisor.loop, SIGUSR2, supervisor_upgrade, &supervisor);
	supervisor_add_processes(&supervisor);
	if (supervisor_prepare_limits(&supervisor, config) < 0)
		return fail_to_serve(&supervisor, COMMAND_FAILED);
	supervisor_use_limits(&supervisor);
	supervisor_show_limits(&supervisor);
	supervisor_know_names(&supervisor);
	supervisor_watch_sockets(&supervisor);
	supervisor_watch_transcripts(&supervisor);
	supervisor_expect_ready(&supervisor);
	for (size_t i = 0; i < supervisor.process_count; i++)
		if (supervisor.processes[i].is_wanted)
			supervisor_process_start(&supervisor.processes[i]);
	os_loop_run(supervisor.loop);
	log_event(EVENT_SERVE_STOPPED);
	if (supervisor.failure.length > 0)
		log_event(EVENT_SERVE_FAILED, log_str(reason, buffer_view(&supervisor.failure)));
	(void)end_serving(&supervisor, supervisor.exit_status);
	for (size_t i = 0; i < COUNT_OF(signals); i++)
		os_signal_watch_free(signals[i]);
	clear_supervisor(&supervisor);
	return supervisor.exit_status;
}
