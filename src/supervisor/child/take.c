// SPDX-License-Identifier: ISC
/* Receives configuration, sockets, users and tokens from the supervisor. */
#include "config/text.h"
#include "ipc/pack.h"
#include "log/sink.h"
#include "os/file/file.h"
#include "os/process/process.h"
#include "os/socket/connector.h"
#include "os/socket/socket.h"
#include "supervisor/child/internal.h"
#include "transcript/transcript.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { CONFIG_SIZE_MAX = 4 << 20, TRANSCRIPT_BACKLOG_MAX = 1 << 20 };

void child_fail(struct supervised *supervised, int error, const char *reason)
{
	log_event(EVENT_PROCESS_ERROR, log_string(reason, reason), log_error(error));
	supervised->exit_status = 1;
	os_loop_stop(supervised->child.loop);
}

/* The supervisor has checked the configuration, so a problem here means a fault of the machine, or
 * two different versions. */
void child_take_config(struct supervised *supervised, struct ipc_message *message)
{
	struct config_problems problems = {0};
	struct buffer text = {0};
	char file[4096];
	int error;

	if (message->descriptor_count == 0) {
		supervised->is_lacking = true;
		return;
	}
	snprintf(file, sizeof file, STR_FORMAT, STR_ARGUMENTS(message->body));
	error = os_process_read_text(message->descriptors[0], CONFIG_SIZE_MAX, &text);
	config_free(supervised->next);
	supervised->next = NULL;
	if (error == 0)
		error = config_parse(file, buffer_view(&text), &supervised->next, &problems);
	if (error < 0)
		child_fail(supervised, error, "the configuration cannot be read");
	config_problems_clear(&problems);
	buffer_clear(&text);
}

/* A reload sends all sockets again, although most are held already. */
static bool is_socket_already_held(const struct child *child, const char *name, int descriptor)
{
	struct os_file_info held;
	struct os_file_info info;

	return child_socket(child, name) >= 0 &&
	       os_file_info(child_socket(child, name), &held) == 0 &&
	       os_file_info(descriptor, &info) == 0 && held.inode == info.inode &&
	       held.device == info.device;
}

/* It is sent with each configuration, in case it could not be received before. */
static void take_connector(struct ipc_message *message)
{
	if (os_connector_is_used())
		return; /* the caller closes what is not taken */
	os_connector_use(message->descriptors[0]);
	message->descriptors[0] = -1;
	log_sink_connect_by(os_socket_connect_unix);
}

void child_take_socket(struct supervised *supervised, struct ipc_message *message)
{
	struct child *child = &supervised->child;
	struct child_socket *entry = &child->sockets[child->socket_count];

	if (message->descriptor_count == 0) {
		supervised->is_lacking = true;
		return;
	}
	if (str_equal(message->body, STR("connector"))) {
		take_connector(message);
		return;
	}
	if (child->socket_count == CHILD_SOCKETS_MAX ||
	    message->body.length >= sizeof entry->name) {
		child_fail(supervised, -EBADMSG, "a socket was not accepted");
		return;
	}
	memcpy(entry->name, message->body.data, message->body.length);
	entry->name[message->body.length] = '\0';
	if (is_socket_already_held(child, entry->name, message->descriptors[0]))
		return; /* the caller closes what is not taken */
	entry->descriptor = message->descriptors[0];
	message->descriptors[0] = -1;
	child->socket_count++;
}

/* The ones in force get more rows when a process begins that there was not before. */
static struct limit_memory *memory_for(struct supervised *supervised,
				       const struct limit_layout *layout)
{
	struct limit_memory *limits = supervised->child.limits;

	if (limits != NULL && limit_layout_equal(limit_memory_layout(limits), layout))
		return limits;
	if (supervised->next_limits != NULL &&
	    limit_layout_equal(limit_memory_layout(supervised->next_limits), layout))
		return supervised->next_limits;
	limit_memory_free(supervised->next_limits);
	supervised->next_limits = limit_memory_new(layout);
	return supervised->next_limits;
}

/* Like the kernel, which gives fewer descriptors when there is no room for all. */
static void lack_rows(struct supervised *supervised)
{
	supervised->is_lacking = true;
	if (supervised->is_started)
		ipc_channel_send(supervised->control, CHILD_AGAIN, 0, STR(""), NULL, 0);
}

void child_take_rows(struct supervised *supervised, const struct ipc_message *message)
{
	struct unpack in = {message->body, false};
	struct limit_layout layout;
	bool is_right = limit_layout_unpack(&in, &layout);
	struct limit_memory *memory = is_right ? memory_for(supervised, &layout) : NULL;
	size_t count = 0;
	int error = is_right ? 0 : -EBADMSG;

	for (; error == 0 && in.rest.length > 0 && count < message->descriptor_count; count++) {
		struct str name = unpack_str(&in);
		bool is_own = unpack_u32(&in) != 0;
		char text[LIMIT_NAME_SIZE];

		snprintf(text, sizeof text, STR_FORMAT, STR_ARGUMENTS(name));
		error = limit_memory_add(memory, text, message->descriptors[count], is_own);
	}
	if (error < 0 || in.failed)
		child_fail(supervised, error < 0 ? error : -EBADMSG,
			   "the memory to count in was not accepted");
	else if (in.rest.length > 0)
		lack_rows(supervised);
}

void child_take_users(struct supervised *supervised, const struct ipc_message *message)
{
	struct child *child = &supervised->child;
	struct unpack body = {message->body, false};

	child->user_count = 0;
	while (body.rest.length > 0 && child->user_count < CHILD_USERS_MAX) {
		struct child_user *user = &child->users[child->user_count++];
		struct str program = unpack_str(&body);

		user->uid = unpack_u32(&body);
		if (body.failed || program.length >= sizeof user->program) {
			child_fail(supervised, -EBADMSG, "the users were not accepted");
			return;
		}
		memcpy(user->program, program.data, program.length);
		user->program[program.length] = '\0';
	}
}

/* If the supervisor does not read, lines are lost; nothing waits for it. */
static void send_said_line_to_supervisor(void *context, struct str said)
{
	const struct supervised *supervised = context;

	if (supervised->control != NULL &&
	    ipc_channel_backlog(supervised->control) < TRANSCRIPT_BACKLOG_MAX)
		ipc_channel_send(supervised->control, CHILD_SAID, 0, said, NULL, 0);
}

void child_take_transcript(struct supervised *supervised, const struct ipc_message *message)
{
	transcript_say_by(send_said_line_to_supervisor, supervised);
	if (!transcript_configure(message->body))
		child_fail(supervised, -EBADMSG, "who watches was not accepted");
}

void child_take_tokens(struct supervised *supervised, const struct ipc_message *message)
{
	struct ipc_tokens *tokens = &supervised->child.tokens;
	struct unpack body = {message->body, false};

	tokens->count = 0;
	while (body.rest.length > 0) {
		struct str program = unpack_str(&body);
		struct str text = unpack_str(&body);

		if (!body.failed && ipc_tokens_add(tokens, program, text))
			continue;
		child_fail(supervised, -EBADMSG, "the tokens were not accepted");
		return;
	}
}
