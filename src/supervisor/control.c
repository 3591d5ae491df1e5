// SPDX-License-Identifier: ISC
/*
 * Receives what processes send to the supervisor, at the other end of their descriptor 3.
 *
 * A compromised process could send so much that the supervisor does nothing else: neither restart
 * other processes, nor pass on log lines. So each is read no faster than a process under full load
 * sends; the rest waits at its own end.
 */
#include "log/event.h"
#include "os/clock.h"
#include "supervisor/internal.h"

/* Lines of watched sessions are the most frequent: 10,000 a second or 16 MiB, and a fifth of that
 * at once. */
static const int64_t MESSAGE_US = 100;
static const int64_t CONTROL_BYTES_A_SECOND = 16 << 20;
static const int64_t CONTROL_BURST_US = SECOND_US / 5;

static void end_pause_of_control(void *context)
{
	struct process *process = context;

	if (process->control != NULL)
		ipc_channel_pause(process->control, false);
}

/* Charges the process for MESSAGE, in time. */
static void charge_process_for_message(struct process *process, const struct ipc_message *message)
{
	int64_t now_us = os_clock_monotonic_us();
	int64_t excess_us;

	if (process->control_credit_from < now_us) {
		process->control_credit_from = now_us;
		process->is_control_flood = false;
	}
	process->control_credit_from +=
		MESSAGE_US + (int64_t)message->body.length * SECOND_US / CONTROL_BYTES_A_SECOND;
	excess_us = process->control_credit_from - now_us - CONTROL_BURST_US;
	if (excess_us <= 0)
		return;
	if (!process->is_control_flood)
		log_event_rated(EVENT_CONTROL_FLOOD, log_string(program, process->program->name),
				log_number(pid, process->pid));
	process->is_control_flood = true;
	ipc_channel_pause(process->control, true);
	os_timer_start(process->control_pause, excess_us + CONTROL_BURST_US / 2);
}

static void on_process_message(void *context, struct ipc_channel *channel,
			       struct ipc_message *message)
{
	struct process *process = context;

	(void)channel;
	charge_process_for_message(process, message);
	process->on_said(process, message);
}

static void on_process_control_lost(void *context, struct ipc_channel *channel)
{
	struct process *process = context;

	ipc_channel_close(channel);
	process->control = NULL;
}

static const struct ipc_channel_handler control_handler = {on_process_message,
							   on_process_control_lost};

void supervisor_control_begin(struct process *process, int socket, supervisor_said *said)
{
	struct os_loop *loop = process->supervisor->loop;

	if (process->control_pause == NULL)
		process->control_pause = os_timer_new(loop, end_pause_of_control, process);
	process->control_credit_from = 0;
	process->is_control_flood = false;
	process->on_said = said;
	process->control = ipc_channel_new(loop, socket, &control_handler, process);
}

void supervisor_control_end(struct process *process)
{
	if (process->control_pause != NULL)
		os_timer_stop(process->control_pause);
	ipc_channel_close(process->control);
	process->control = NULL;
}
