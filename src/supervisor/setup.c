// SPDX-License-Identifier: ISC
/* Sends a process its configuration, sockets, tokens and users. */
#include "ipc/pack.h"
#include "log/event.h"
#include "os/file/file.h"
#include "supervisor/internal.h"

static void send_users(struct process *process)
{
	const struct supervisor *supervisor = process->supervisor;
	struct buffer body = {0};

	for (size_t i = 0; i < SUPERVISOR_PROGRAMS; i++) {
		pack_str(&body, str_from(supervisor_programs[i].name));
		pack_u32(&body, supervisor->users.programs[i].user.uid);
	}
	ipc_channel_send(process->control, CHILD_USERS, 0, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}

/* Passwords are only for the process that has secrets, the site's key for those that mark mail or
 * look for marks. */
static int share_configuration(const struct process *process)
{
	const struct supervisor *supervisor = process->supervisor;
	struct str whole = buffer_view(&supervisor->text);
	bool has_key = process->program->has_site_key;
	struct buffer text = {0};
	int descriptor;

	if (strcmp(process->program->name, "keys") == 0)
		return os_process_share_text(whole);
	config_hide_secrets(whole, has_key, &text);
	if (has_key && !config_has_site_key(supervisor->config))
		config_append_site_key(supervisor->site_key, &text);
	descriptor = os_process_share_text(buffer_view(&text));
	buffer_clear(&text);
	return descriptor;
}

static void send_sockets_to_process(struct process *process)
{
	const struct supervisor *supervisor = process->supervisor;

	if (process->connector_watch != NULL)
		ipc_channel_send(process->control, CHILD_SOCKET, 0, STR("connector"),
				 &process->asker, 1);
	for (size_t i = 0; i < supervisor->socket_count; i++) {
		const struct bound_socket *bound = &supervisor->sockets[i];

		if (bound->is_wanted &&
		    supervisor_program_has_socket(process->program, process->number, bound->name))
			ipc_channel_send(process->control, CHILD_SOCKET, 0, str_from(bound->name),
					 &bound->descriptor, 1);
	}
}

static void send_whether_to_drain(const struct process *process)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u32(&body, process->supervisor->is_draining);
	ipc_channel_send(process->control, CHILD_DRAIN, 0, buffer_view(&body), NULL, 0);
}

/* Opened before anything is sent: a process gets all, or is set up later. */
struct process_files {
	int configuration;
	int seen; /* -1: the process is not told */
};

static int open_process_files(struct process *process, struct process_files *files_out)
{
	int text = share_configuration(process);

	*files_out = (struct process_files){text, -1};
	if (text < 0) {
		log_event(EVENT_PROCESS_ERROR, log_string(reason, "no memory file"),
			  log_error(text));
		return text;
	}
	if (process->program->is_told_seen)
		files_out->seen = supervisor_open_seen(process);
	if (!process->program->is_told_seen || files_out->seen >= 0)
		return 0;
	os_file_close(text);
	return files_out->seen;
}

void supervisor_set_up(void *context)
{
	struct process *process = context;
	struct process_files files;

	if (process->control == NULL)
		return;
	if (open_process_files(process, &files) < 0) {
		os_timer_start(process->again, SERVE_SET_UP_AGAIN_US);
		return;
	}
	ipc_channel_send(process->control, CHILD_CONFIG, 0, str_from(process->supervisor->file),
			 &files.configuration, 1);
	os_file_close(files.configuration);
	send_users(process);
	supervisor_send_tokens(process);
	send_sockets_to_process(process);
	if (files.seen >= 0) {
		ipc_channel_send(process->control, CHILD_SOCKET, 0, STR("directory_seen"),
				 &files.seen, 1);
		os_file_close(files.seen);
	}
	send_whether_to_drain(process);
	supervisor_send_rows(process);
	supervisor_send_transcript(process);
	ipc_channel_send(process->control, CHILD_START, 0, STR(""), NULL, 0);
}
