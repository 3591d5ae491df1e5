// SPDX-License-Identifier: ISC
/* The successor's side of an upgrade: upgrade.h has its table. */
#include "base/panic.h"
#include "log/event.h"
#include "os/file/file.h"
#include "supervisor/internal.h"
#include "supervisor/upgrade.h"

static void take_sockets(struct supervisor *supervisor, struct ipc_message *message)
{
	for (size_t i = 0; i < message->descriptor_count; i++) {
		supervisor_inherit(supervisor, message->descriptors[i], STR(""));
		message->descriptors[i] = -1;
	}
}

static void take_pid_file(struct supervisor *supervisor, struct ipc_message *message)
{
	if (message->descriptor_count != 1 || supervisor->pid_file >= 0)
		return;
	supervisor->pid_file = message->descriptors[0];
	message->descriptors[0] = -1;
}

static void on_predecessor_message(void *context, struct ipc_channel *channel,
				   struct ipc_message *message)
{
	struct supervisor *supervisor = context;

	switch (message->type) {
	case UPGRADE_SOCKETS:
		take_sockets(supervisor, message);
		break;
	case UPGRADE_PID_FILE:
		take_pid_file(supervisor, message);
		break;
	case UPGRADE_GO:
		supervisor->is_our_turn = true;
		os_loop_stop(supervisor->loop);
		break;
	default:
		ipc_channel_refuse(channel, message->type);
	}
}

/* The service manager was told who the main process is now; it listens to us from here on. */
static void be_alone(struct supervisor *supervisor)
{
	supervisor_record_success(supervisor);
	supervisor_store_sockets(supervisor);
	supervisor_tell_status(supervisor, supervisor->was_ready ? "READY=1\n" : "");
}

/* Before our turn it goes on alone, and we end. */
static void on_predecessor_lost(void *context, struct ipc_channel *channel)
{
	struct supervisor *supervisor = context;

	ipc_channel_close(channel);
	supervisor->predecessor = NULL;
	if (supervisor->is_our_turn)
		be_alone(supervisor);
	else
		os_loop_stop(supervisor->loop);
}

static const struct ipc_channel_handler successor_handler = {on_predecessor_message,
							     on_predecessor_lost};

void supervisor_meet_predecessor(struct supervisor *supervisor, int socket)
{
	os_process_lead_group();
	supervisor->predecessor =
		ipc_channel_new(supervisor->loop, socket, &successor_handler, supervisor);
}

void supervisor_tell_predecessor(struct supervisor *supervisor, enum upgrade_message message,
				 struct str reason)
{
	if (supervisor->predecessor != NULL)
		ipc_channel_send(supervisor->predecessor, (uint16_t)message, 0, reason, NULL, 0);
}

bool supervisor_await_turn(struct supervisor *supervisor)
{
	supervisor_tell_predecessor(supervisor, UPGRADE_PREPARED, STR(""));
	os_loop_run(supervisor->loop);
	if (!supervisor->is_our_turn)
		log_event(EVENT_PROCESS_ERROR,
			  log_string(reason, "the version that runs has withdrawn its upgrade"));
	return supervisor->is_our_turn;
}
