// SPDX-License-Identifier: ISC
/* Stops a node: in which order processes end, what is waited for, and for how long. */
#include "log/event.h"
#include "os/clock.h"
#include "supervisor/internal.h"
#include <limits.h>
#include <signal.h>

/* In addition to the time for deliveries, for everything else in a stop. */
static const int64_t STOP_PATIENCE_US = MINUTE_US;
static const int64_t HURRY_PATIENCE_US = 20 * SECOND_US;
/* When to log what a stop waits for: soon, then less and less often. */
static const int64_t WAITING_FIRST_US = 2 * SECOND_US;
static const int64_t WAITING_LAST_US = MINUTE_US;

static void announce_stop(const struct supervisor *supervisor)
{
	if (supervisor->failure.length == 0)
		supervisor_notify(supervisor, "STOPPING=1\nSTATUS=Finishing what is in flight");
}

bool supervisor_has_stopped(const struct supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->process_count; i++)
		if (supervisor->processes[i].pid != 0)
			return false;
	return true;
}

/* Before an upgrade mail is taken until the deliveries have ended, which may take minutes. */
static unsigned turn_of(const struct supervisor *supervisor, const struct process *process)
{
	static const unsigned for_successor[] = {
		[TURN_MANAGER] = 0,   [TURN_HELPERS] = 1, [TURN_INTAKE] = 2,
		[TURN_DIRECTORY] = 3, [TURN_LAST] = 4,
	};
	enum supervisor_turn turn = process->program->turn;

	return supervisor->upgrade.state == UPGRADE_STOPPING ? for_successor[turn] : turn;
}

/* Stops the processes whose turn it is; others follow when these have ended. */
void supervisor_stop_next(struct supervisor *supervisor)
{
	unsigned turn = UINT_MAX;

	for (size_t i = 0; i < supervisor->process_count; i++)
		if (supervisor->processes[i].pid != 0 &&
		    turn_of(supervisor, &supervisor->processes[i]) < turn)
			turn = turn_of(supervisor, &supervisor->processes[i]);
	for (size_t i = 0; i < supervisor->process_count; i++) {
		const struct process *process = &supervisor->processes[i];

		if (process->control != NULL && turn_of(supervisor, process) == turn)
			ipc_channel_send(process->control, CHILD_STOP, 0, STR(""), NULL, 0);
	}
	if (!supervisor_has_stopped(supervisor))
		return;
	os_timer_stop(supervisor->patience);
	os_timer_stop(supervisor->waiting);
	if (supervisor->upgrade.state == UPGRADE_NONE)
		os_loop_stop(supervisor->loop);
	else
		supervisor->when_stopped(supervisor);
}

static void tell_waiting(void *context)
{
	struct supervisor *supervisor = context;
	int64_t left_us = supervisor->stop_until_us - os_clock_monotonic_us();

	for (size_t i = 0; i < supervisor->process_count; i++)
		if (supervisor->processes[i].pending > 0)
			log_event(EVENT_SERVE_WAITING,
				  log_string(program, supervisor->processes[i].program->name),
				  log_number(deliveries, supervisor->processes[i].pending),
				  log_number(seconds, left_us / SECOND_US));
	if (supervisor->waiting_every_us < WAITING_LAST_US)
		supervisor->waiting_every_us *= 2;
	os_timer_start(supervisor->waiting, supervisor->waiting_every_us);
}

/* Abandons messages that a server has received but not answered. */
static void hurry_processes(struct supervisor *supervisor)
{
	log_event(EVENT_SERVE_HURRIED);
	os_timer_start(supervisor->patience, HURRY_PATIENCE_US);
	for (size_t i = 0; i < supervisor->process_count; i++)
		if (supervisor->processes[i].control != NULL)
			ipc_channel_send(supervisor->processes[i].control, CHILD_HURRY, 0, STR(""),
					 NULL, 0);
}

static void begin_stop(struct supervisor *supervisor)
{
	int64_t deliveries_us = supervisor->config->stop_timeout * SECOND_US;

	supervisor->is_stopping = true;
	log_event(EVENT_SERVE_STOPPING);
	for (size_t i = 0; i < supervisor->process_count; i++)
		os_timer_stop(supervisor->processes[i].restart);
	supervisor->stop_until_us = os_clock_monotonic_us() + deliveries_us;
	os_timer_start(supervisor->patience, deliveries_us + STOP_PATIENCE_US);
	supervisor->waiting_every_us = WAITING_FIRST_US;
	os_timer_start(supervisor->waiting, WAITING_FIRST_US);
	supervisor_stop_next(supervisor);
}

void supervisor_stop(void *context)
{
	struct supervisor *supervisor = context;

	if (supervisor->is_stopping) {
		hurry_processes(supervisor);
		return;
	}
	announce_stop(supervisor);
	begin_stop(supervisor);
}

void supervisor_stop_for_successor(struct supervisor *supervisor,
				   void (*stopped)(struct supervisor *))
{
	supervisor->when_stopped = stopped;
	supervisor_notify(supervisor, "STATUS=Upgrading: finishing what is in flight");
	begin_stop(supervisor);
}

static void on_stop_timeout_of_processes(void *context)
{
	struct supervisor *supervisor = context;

	for (size_t i = 0; i < supervisor->process_count; i++)
		os_process_kill(supervisor->processes[i].pid, SIGKILL);
}

void supervisor_prepare_stop(struct supervisor *supervisor)
{
	supervisor->patience =
		os_timer_new(supervisor->loop, on_stop_timeout_of_processes, supervisor);
	supervisor->waiting = os_timer_new(supervisor->loop, tell_waiting, supervisor);
}
