// SPDX-License-Identifier: ISC
/* Starts, watches and restarts processes. */
#include "base/panic.h"
#include "ipc/pack.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "os/socket/socket.h"
#include "supervisor/internal.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int64_t RESTART_DELAY_US = SECOND_US / 10;
static const int64_t RESTART_DELAY_MAX_US = 10 * SECOND_US;
static const int64_t HEALTHY_US = 10 * SECOND_US;
/* Between two starts of an expendable process. */
static const int64_t EXPENDABLE_PACE_US = SECOND_US / 10;

static bool is_process_wanted(const struct process *process)
{
	const struct config *config = process->supervisor->config;

	return process->program->is_wanted == NULL || process->program->is_wanted(config);
}

static struct process *add_supervised_process(struct supervisor *supervisor,
					      const struct supervisor_program *program,
					      unsigned number)
{
	struct process *process = &supervisor->processes[supervisor->process_count++];

	if (supervisor->process_count > PROCESSES_MAX)
		panic("more than %d processes", PROCESSES_MAX);
	*process = (struct process){.supervisor = supervisor, .program = program, .number = number};
	process->log.from = -1;
	process->is_wanted = is_process_wanted(process);
	process->delay_us = RESTART_DELAY_US;
	process->restart = os_timer_new(supervisor->loop, supervisor_process_start, process);
	process->again = os_timer_new(supervisor->loop, supervisor_set_up, process);
	return process;
}

/* The delay grows if a process ends repeatedly soon after its start. */
static void start_later(struct process *process)
{
	os_timer_start(process->restart, process->delay_us);
	process->delay_us *= 2;
	if (process->delay_us > RESTART_DELAY_MAX_US)
		process->delay_us = RESTART_DELAY_MAX_US;
}

/* At once, but for one that ends at once. */
static void start_next(struct process *process)
{
	int64_t after_us = os_clock_monotonic_us() - process->started_us;

	if (after_us >= EXPENDABLE_PACE_US)
		supervisor_process_start(process);
	else
		os_timer_start(process->restart, EXPENDABLE_PACE_US - after_us);
}

static bool was_healthy(const struct process *process)
{
	return os_clock_monotonic_us() - process->started_us > HEALTHY_US;
}

/* A helper may finish its work next to its successor; other processes exist only once. A process
 * that asks for a successor soon after its start is delayed like one that has ended. */
static void renew_process(struct process *process)
{
	struct supervisor *supervisor = process->supervisor;
	struct process *successor = NULL;

	process->is_renewed = true;
	if (process->program->turn != TURN_HELPERS || supervisor->is_stopping ||
	    process->is_retired)
		return;
	for (size_t i = 0; i < supervisor->process_count; i++)
		if (supervisor->processes[i].is_retired && supervisor->processes[i].pid == 0)
			successor = &supervisor->processes[i];
	if (successor != NULL)
		successor->program = process->program;
	else if (supervisor->process_count < PROCESSES_MAX)
		successor = add_supervised_process(supervisor, process->program, process->number);
	if (successor == NULL)
		return; /* it will be started when this one has ended */
	supervisor_give_row(successor);
	successor->is_retired = false;
	successor->is_wanted = true;
	process->is_retired = true;
	process->is_wanted = false;
	successor->delay_us = was_healthy(process) ? RESTART_DELAY_US : process->delay_us;
	if (was_healthy(process))
		supervisor_process_start(successor);
	else
		start_later(successor);
}

/* Only one that ASKER asks, and that is expendable. */
static void replace_expendable_process(const struct process *asker, struct str name)
{
	struct supervisor *supervisor = asker->supervisor;
	char socket[16];

	if (snprintf(socket, sizeof socket, STR_FORMAT, STR_ARGUMENTS(name)) >=
		    (int)sizeof socket ||
	    !confine_process_has_target(confine_process_find(asker->program->name), socket))
		return;
	for (size_t i = 0; i < supervisor->process_count; i++) {
		const struct process *process = &supervisor->processes[i];

		if (process->pid == 0 || !process->is_ready || !process->program->is_expendable ||
		    !supervisor_program_has_socket(process->program, process->number, socket))
			continue;
		log_event(EVENT_PROCESS_SILENT, log_string(program, process->program->name),
			  log_number(pid, process->pid), log_string(by, asker->program->name));
		os_process_kill(process->pid, SIGKILL);
	}
}

static void on_process_request(struct process *process, const struct ipc_message *message)
{
	if (message->type == CHILD_READY) {
		process->is_ready = true;
		if (process->waits_since != process->pid) /* what a former one lacked is here */
			buffer_clear(&process->waits);
		supervisor_announce_ready(process->supervisor);
	}
	if (message->type == CHILD_FAILED)
		supervisor_give_up(process->supervisor, message->body);
	if (message->type == CHILD_WAITS)
		supervisor_note_waits(process, message->body);
	if (message->type == CHILD_AGAIN)
		os_timer_start(process->again, SERVE_SET_UP_AGAIN_US);
	if (message->type == CHILD_RENEW)
		renew_process(process);
	if (message->type == CHILD_FULL)
		supervisor_close_mail_sockets(process->supervisor);
	if (message->type == CHILD_REPLACE)
		replace_expendable_process(process, message->body);
	if (message->type == CHILD_SAID)
		supervisor_pass_transcript(process, message->body);
	if (message->type == CHILD_PENDING)
		process->pending = unpack_u32(&(struct unpack){message->body, false});
}

static const char *program_file(const struct process *process)
{
	const struct supervisor_program *program = process->program;

	return program->file == NULL ? program->name : program->file(process->supervisor->config);
}

static pid_t start_program(const struct process *process, int control, int output)
{
	const struct supervisor *supervisor = process->supervisor;

	return supervisor_run_executable(
		supervisor, program_file(process),
		&program_users_of(&supervisor->users, process->program->name)->user, control,
		output);
}

void supervisor_process_start(void *context)
{
	struct process *process = context;
	int sockets[2];
	int output = -1;
	int error = os_process_socket_pair(sockets);

	supervisor_renew_token(process); /* before the process can present it */
	if (error == 0) {
		error = supervisor_log_open(process, &output);
		process->pid = error == 0 ? start_program(process, sockets[1], output) : error;
		os_socket_close(sockets[1]);
		os_file_close(output);
		if (process->pid < 0) {
			error = (int)process->pid;
			process->pid = 0;
			os_socket_close(sockets[0]);
			supervisor_log_end(process);
		}
	}
	if (error < 0) {
		log_event(EVENT_PROCESS_ERROR, log_string(program, process->program->name),
			  log_error(error));
		os_timer_start(process->restart, RESTART_DELAY_MAX_US);
		return;
	}
	process->started_us = os_clock_monotonic_us();
	supervisor_log_begin(process, program_file(process));
	supervisor_control_begin(process, sockets[0], on_process_request);
	log_event(EVENT_PROCESS_STARTED, log_string(program, process->program->name),
		  log_number(pid, process->pid));
	error = supervisor_start_connecting(process);
	if (error < 0) {
		log_event(EVENT_PROCESS_ERROR, log_string(program, process->program->name),
			  log_error(error));
		os_process_kill(process->pid, SIGKILL); /* it will be restarted */
		return;
	}
	supervisor_mend_sockets(process);
	supervisor_set_up(process);
}

void supervisor_add_processes(struct supervisor *supervisor)
{
	for (size_t i = 0; i < SUPERVISOR_PROGRAMS; i++) {
		const struct supervisor_program *program = &supervisor_programs[i];
		uint32_t count = program->count == NULL ? 1 : program->count(supervisor->config);

		for (unsigned number = 0; number < count; number++)
			add_supervised_process(supervisor, program, number);
	}
}

void supervisor_choose_processes(struct supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->process_count; i++) {
		struct process *process = &supervisor->processes[i];
		bool was_wanted = process->is_wanted;

		if (process->is_retired)
			continue;
		process->is_wanted = is_process_wanted(process);
		if (process->is_wanted == was_wanted)
			continue;
		if (process->is_wanted && process->pid == 0)
			supervisor_process_start(process);
		else if (!process->is_wanted)
			os_timer_stop(process->restart);
		if (!process->is_wanted && process->control != NULL) {
			process->is_stopped = true;
			ipc_channel_send(process->control, CHILD_STOP, 0, STR(""), NULL, 0);
		}
	}
}

void supervisor_process_ended(struct process *process, int status)
{
	struct supervisor *supervisor = process->supervisor;
	bool is_expected;
	bool is_at_once;
	bool was_ready = process->is_ready;
	char text[32];

	if (process->control != NULL) /* it may have asked for a successor just before */
		ipc_channel_receive(process->control);
	supervisor_clear_row(process);
	supervisor_log_end(process);
	os_process_status_format(status, text, sizeof text);
	is_expected = supervisor->is_stopping || process->is_renewed || process->is_stopped;
	log_event_like(log_write, is_expected ? EVENT_PROCESS_STOPPED : EVENT_PROCESS_ENDED,
		       EVENT_PROCESS_ENDED, log_string(program, process->program->name),
		       log_number(pid, process->pid), log_string(status, text));
	/* a process that asks again and again must not keep us busy */
	is_at_once = process->is_stopped || (process->is_renewed && was_healthy(process));
	process->pid = 0;
	process->pending = 0;
	process->is_ready = false;
	process->is_stopped = false;
	process->is_renewed = false;
	supervisor_control_end(process);
	supervisor_stop_connecting(process);
	supervisor_judge_end(supervisor, process->program->name, status);
	if (supervisor->is_stopping || !process->is_wanted)
		return;
	if (is_at_once) { /* it may be wanted again meanwhile */
		supervisor_process_start(process);
		return;
	}
	if (process->program->is_expendable && was_ready) {
		start_next(process);
		return;
	}
	if (was_healthy(process))
		process->delay_us = RESTART_DELAY_US;
	start_later(process);
}
