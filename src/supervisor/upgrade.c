// SPDX-License-Identifier: ISC
/* The predecessor's side of an upgrade: upgrade.h has its table. */
#include "supervisor/upgrade.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "os/socket/socket.h"
#include "supervisor/internal.h"
#include "supervisor/talk/pid_file.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const int64_t RETURN_US = 5 * SECOND_US;

/* --- its end --- */

static void disconnect_successor(struct supervisor_upgrade *upgrade)
{
	ipc_channel_close(upgrade->channel);
	upgrade->channel = NULL;
	os_timer_stop(upgrade->timer);
}

/* All else works as before. */
static void refuse_upgrade(struct supervisor *supervisor)
{
	struct supervisor_upgrade *upgrade = &supervisor->upgrade;

	disconnect_successor(upgrade);
	upgrade->state = UPGRADE_NONE;
	log_event(EVENT_UPGRADE_FAILED, log_str(reason, buffer_view(&upgrade->record.reason)),
		  log_string(then, "this version goes on"));
	supervisor_end_upgrade(supervisor, true);
}

/* Starts the processes again that were stopped for the successor. */
static void resume_processes(struct supervisor *supervisor)
{
	supervisor->is_stopping = false;
	supervisor->was_ready = false;
	supervisor_mend_run_sockets(supervisor);
	supervisor_show_limits(supervisor);
	supervisor_watch_transcripts(supervisor);
	for (size_t i = 0; i < supervisor->process_count; i++)
		if (supervisor->processes[i].is_wanted)
			supervisor_process_start(&supervisor->processes[i]);
}

/* Our processes have ended, and the successor with its own. */
static void take_node_back(struct supervisor *supervisor)
{
	int error = pid_file_rewrite(supervisor->pid_file);

	if (error < 0)
		log_event(EVENT_PROCESS_ERROR, log_string(file, PID_FILE_NAME), log_error(error));
	supervisor_keep_good_config(supervisor); /* the successor has left its own */
	refuse_upgrade(supervisor);
	resume_processes(supervisor);
}

static void describe_end(struct supervisor_upgrade *upgrade)
{
	char text[32];

	if (upgrade->record.reason.length > 0)
		return;
	os_process_status_format(upgrade->status, text, sizeof text);
	buffer_append_format(&upgrade->record.reason, "the new version has ended: %s", text);
}

/* It is lost, and has ended. */
static void miss_successor(struct supervisor *supervisor)
{
	struct supervisor_upgrade *upgrade = &supervisor->upgrade;
	bool was_stopped = upgrade->status == 0 && upgrade->record.reason.length == 0;

	os_timer_stop(upgrade->timer);
	os_process_kill_group(upgrade->group);
	describe_end(upgrade);
	if (upgrade->state == UPGRADE_CHECKING)
		refuse_upgrade(supervisor);
	else if (upgrade->state == UPGRADE_ENDING ||
		 (upgrade->state == UPGRADE_STARTING && was_stopped))
		os_loop_stop(supervisor->loop);
	else if (upgrade->state == UPGRADE_STARTING ||
		 (upgrade->state == UPGRADE_STOPPING && supervisor_has_stopped(supervisor)))
		take_node_back(supervisor);
}

static void lose_successor(struct supervisor *supervisor, struct str reason)
{
	struct supervisor_upgrade *upgrade = &supervisor->upgrade;

	if (upgrade->record.reason.length == 0)
		buffer_append_str(&upgrade->record.reason, reason);
	disconnect_successor(upgrade);
	if (upgrade->pid == 0) {
		miss_successor(supervisor);
		return;
	}
	os_process_kill(upgrade->pid, SIGTERM);
	os_timer_start(upgrade->timer, RETURN_US);
}

static void pass_node_on(struct supervisor *supervisor)
{
	struct supervisor_upgrade *upgrade = &supervisor->upgrade;
	char text[64];

	supervisor_end_upgrade(supervisor, false);
	log_event(EVENT_UPGRADE_DONE, log_number(pid, upgrade->pid));
	snprintf(text, sizeof text, "MAINPID=%ld\nREADY=1", (long)upgrade->pid);
	supervisor_notify(supervisor, text);
	upgrade->state = UPGRADE_NONE;
	upgrade->pid = 0;
	disconnect_successor(upgrade);
	os_loop_stop(supervisor->loop);
}

/* --- passing on --- */

static void send_sockets_to_successor(struct supervisor *supervisor)
{
	struct ipc_channel *channel = supervisor->upgrade.channel;
	int descriptors[IPC_DESCRIPTORS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < supervisor->socket_count; i++) {
		descriptors[count++] = supervisor->sockets[i].descriptor;
		if (count < IPC_DESCRIPTORS_MAX && i + 1 < supervisor->socket_count)
			continue;
		ipc_channel_send(channel, UPGRADE_SOCKETS, 0, STR(""), descriptors, count);
		count = 0;
	}
}

/* All our processes have ended as supervisor_stop_for_successor() was asked. */
static void on_stopped(struct supervisor *supervisor)
{
	struct supervisor_upgrade *upgrade = &supervisor->upgrade;

	if (upgrade->state != UPGRADE_STOPPING)
		return;
	if (upgrade->channel == NULL) {
		if (upgrade->pid == 0)
			take_node_back(supervisor);
		return;
	}
	supervisor_open_mail_sockets(supervisor);
	upgrade->state = UPGRADE_STARTING;
	os_timer_start(upgrade->timer, supervisor->config->upgrade_timeout * SECOND_US);
	send_sockets_to_successor(supervisor);
	ipc_channel_send(upgrade->channel, UPGRADE_PID_FILE, 0, STR(""), &supervisor->pid_file, 1);
	ipc_channel_send(upgrade->channel, UPGRADE_GO, 0, STR(""), NULL, 0);
}

/* --- its course --- */

static void on_late_successor(void *context)
{
	struct supervisor *supervisor = context;
	struct supervisor_upgrade *upgrade = &supervisor->upgrade;

	if (upgrade->channel == NULL) { /* it is lost, and should have ended */
		os_process_kill_group(upgrade->group);
		os_process_kill(upgrade->pid, SIGKILL);
	} else if (upgrade->state == UPGRADE_CHECKING) {
		lose_successor(supervisor, STR("the new version has not begun in time "
					       "(setting upgrade_timeout)"));
	} else {
		lose_successor(supervisor, STR("the new version was not ready in time (setting "
					       "upgrade_timeout)"));
	}
}

static void on_successor_message(void *context, struct ipc_channel *channel,
				 struct ipc_message *message)
{
	struct supervisor *supervisor = context;
	struct supervisor_upgrade *upgrade = &supervisor->upgrade;

	if (message->type == UPGRADE_FAILED) {
		lose_successor(supervisor, message->body);
	} else if (message->type == UPGRADE_PREPARED && upgrade->state == UPGRADE_CHECKING) {
		upgrade->state = UPGRADE_STOPPING;
		os_timer_stop(upgrade->timer);
		supervisor_end_transcripts(supervisor);
		supervisor_hide_limits(supervisor);
		supervisor_stop_for_successor(supervisor, on_stopped);
	} else if (message->type == UPGRADE_READY && upgrade->state == UPGRADE_STARTING) {
		pass_node_on(supervisor);
	} else {
		ipc_channel_refuse(channel, message->type);
	}
}

static void on_successor_lost(void *context, struct ipc_channel *channel)
{
	struct supervisor *supervisor = context;

	(void)channel;
	lose_successor(supervisor, STR("")); /* how it ends says more */
}

static const struct ipc_channel_handler upgrade_handler = {on_successor_message, on_successor_lost};

static int start_successor(struct supervisor *supervisor)
{
	const char *arguments[] = {"stagepost", "serve",          "--successor",
				   "-c",        supervisor->file, NULL};
	const struct os_process_user user = {
		.uid = supervisor->users.own,
		.may_gain = true,
		.capabilities =
			supervisor->users.own == 0 ? 0 : UINT64_MAX, /* those that we have */
	};
	struct supervisor_upgrade *upgrade = &supervisor->upgrade;
	int sockets[2];
	int error = os_process_socket_pair(sockets);

	if (error < 0)
		return error;
	upgrade->pid =
		os_process_start(supervisor->own_program, -1, arguments, &user, sockets[1], -1);
	os_socket_close(sockets[1]);
	if (upgrade->pid < 0) {
		error = (int)upgrade->pid;
		upgrade->pid = 0;
		os_socket_close(sockets[0]);
		return error;
	}
	upgrade->group = upgrade->pid;
	upgrade->channel =
		ipc_channel_new(supervisor->loop, sockets[0], &upgrade_handler, supervisor);
	return 0;
}

void supervisor_upgrade(void *context)
{
	struct supervisor *supervisor = context;
	struct supervisor_upgrade *upgrade = &supervisor->upgrade;
	int error;

	if (upgrade->state != UPGRADE_NONE)
		return; /* the command waits for the one in progress */
	supervisor_begin_upgrade(supervisor);
	log_event(EVENT_UPGRADE_BEGUN, log_string(file, supervisor->own_program));
	if (upgrade->timer == NULL)
		upgrade->timer = os_timer_new(supervisor->loop, on_late_successor, supervisor);
	if (supervisor->is_stopping || !supervisor->was_ready) {
		buffer_append_string(&upgrade->record.reason,
				     "the version that runs is not ready itself");
		refuse_upgrade(supervisor);
		return;
	}
	upgrade->state = UPGRADE_CHECKING;
	os_timer_start(upgrade->timer, supervisor->config->upgrade_timeout * SECOND_US);
	error = start_successor(supervisor);
	if (error == 0)
		return;
	buffer_append_format(&upgrade->record.reason, "%s: %s", supervisor->own_program,
			     strerror(-error));
	refuse_upgrade(supervisor);
}

bool supervisor_upgrade_ended(struct supervisor *supervisor, pid_t pid, int status)
{
	struct supervisor_upgrade *upgrade = &supervisor->upgrade;

	if (pid != upgrade->pid)
		return false;
	upgrade->pid = 0;
	upgrade->status = status;
	if (upgrade->channel == NULL) /* otherwise what it has said is read first */
		miss_successor(supervisor);
	return true;
}

/* Gives the upgrade up. Whether that ends this process, too, as no other of ours is left. */
static bool stop_upgrade(struct supervisor *supervisor)
{
	struct supervisor_upgrade *upgrade = &supervisor->upgrade;
	enum upgrade_state state = upgrade->state;

	if (state == UPGRADE_NONE || state == UPGRADE_ENDING)
		return state == UPGRADE_ENDING;
	upgrade->state = state == UPGRADE_STARTING ? UPGRADE_ENDING : UPGRADE_NONE;
	lose_successor(supervisor, STR("a stop was asked for"));
	supervisor_end_upgrade(supervisor, true);
	return state == UPGRADE_STARTING;
}

void supervisor_stop_all(void *context)
{
	struct supervisor *supervisor = context;

	if (!stop_upgrade(supervisor))
		supervisor_stop(supervisor);
}
