// SPDX-License-Identifier: ISC
#include "supervisor/talk/manager.h"
#include "base/panic.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel queues 10 datagrams for a slow reader (net.unix.max_dgram_qlen); further answers would
 * be dropped. */
enum { OUTSTANDING_MAX = 8, ANSWER_MAX = ORDER_ANSWER_MAX + 8, MANAGER_PATH_SIZE = 4096 };

struct manager_talk {
	int socket;
	manager_talk_answered *answered;
	void *context;
	struct mail_id outstanding[OUTSTANDING_MAX]; /* a ring */
	size_t first;
	size_t count;
};

const char *manager_talk_explain(int error)
{
	if (error == -ESRCH)
		return "no manager runs";
	if (error == -ETIMEDOUT)
		return "the manager does not answer";
	return strerror(-error);
}

int manager_talk_open(const char *run, manager_talk_answered *answered, void *context,
		      struct manager_talk **talk_out)
{
	struct manager_talk *talk;
	char path[MANAGER_PATH_SIZE];
	int socket;

	snprintf(path, sizeof path, "%s/notify", run);
	socket = os_socket_ask_unix(path);
	if (socket == -ENOENT || socket == -ECONNREFUSED)
		return -ESRCH;
	if (socket < 0)
		return socket;
	talk = memory_alloc_zero(1, sizeof *talk);
	talk->socket = socket;
	talk->answered = answered;
	talk->context = context;
	*talk_out = talk;
	return 0;
}

void manager_talk_close(struct manager_talk *talk)
{
	if (talk == NULL)
		return;
	os_socket_close(talk->socket);
	free(talk);
}

/* A supervisor that has ended leaves no socket. */
static int errno_of_lost_manager(ssize_t error)
{
	return error == -ECONNREFUSED || error == -ENOTCONN || error == -ECONNRESET ? -ESRCH
										    : (int)error;
}

/* Receives an answer, whose texts are views of TEXT. -EAGAIN. */
static int receive_order_answer(const struct manager_talk *talk, char text[ANSWER_MAX],
				struct order_answer *answer_out)
{
	ssize_t length = os_socket_read(talk->socket, text, ANSWER_MAX);

	return length < 0 ? errno_of_lost_manager(length)
			  : order_answer_read(str_slice(text, (size_t)length), answer_out);
}

static int take_order_answer(struct manager_talk *talk)
{
	char text[ANSWER_MAX];
	struct order_answer answer;
	int result = receive_order_answer(talk, text, &answer);
	struct mail_id id = talk->outstanding[talk->first];

	if (result == -EAGAIN) {
		int error = os_socket_wait(talk->socket, false, MANAGER_TALK_SECONDS * SECOND_US);

		return error < 0 ? error : 0;
	}
	if (result < 0)
		return result;
	talk->first = (talk->first + 1) % OUTSTANDING_MAX;
	talk->count--;
	talk->answered(talk->context, id, &answer);
	return 0;
}

static int write_command(struct manager_talk *talk, struct str command)
{
	ssize_t sent;
	int error = 0;

	do {
		sent = os_socket_write(talk->socket, command.data, command.length);
		if (sent == -EAGAIN)
			error = os_socket_wait(talk->socket, true,
					       MANAGER_TALK_SECONDS * SECOND_US);
	} while (sent == -EAGAIN && error == 0);
	if (error < 0)
		return error;
	return sent < 0 ? errno_of_lost_manager(sent) : 0;
}

int manager_talk_send(struct manager_talk *talk, struct mail_id id, struct str command)
{
	int error = 0;

	while (error == 0 && talk->count == OUTSTANDING_MAX)
		error = take_order_answer(talk);
	if (error == 0)
		error = write_command(talk, command);
	if (error < 0)
		return error;
	talk->outstanding[(talk->first + talk->count++) % OUTSTANDING_MAX] = id;
	return 0;
}

int manager_talk_question(struct manager_talk *talk, struct str question, struct buffer *told)
{
	char text[ANSWER_MAX];
	struct order_answer answer;
	int result = write_command(talk, question);

	while (result == 0) {
		result = receive_order_answer(talk, text, &answer);
		if (result == 0 && answer.code == ORDER_OK)
			buffer_append_str(told, answer.text);
		if (result != -EAGAIN)
			return result == 0 ? answer.code != ORDER_OK : result;
		result = os_socket_wait(talk->socket, false, MANAGER_TALK_SECONDS * SECOND_US);
	}
	return result;
}

int manager_talk_finish(struct manager_talk *talk)
{
	int error = 0;

	while (error == 0 && talk->count > 0)
		error = take_order_answer(talk);
	return error;
}

static void keep_reason_of_answer(void *context, struct mail_id id,
				  const struct order_answer *answer)
{
	(void)id;
	if (answer->code != ORDER_OK)
		buffer_append_str(context, answer->text);
}

int manager_talk_ask(const char *run, struct str command, struct buffer *reason)
{
	struct manager_talk *talk;
	size_t before = reason->length;
	int error = manager_talk_open(run, keep_reason_of_answer, reason, &talk);

	if (error < 0)
		return error;
	error = manager_talk_send(talk, (struct mail_id){0, 0}, command);
	if (error == 0)
		error = manager_talk_finish(talk);
	manager_talk_close(talk);
	if (error < 0)
		return error;
	return reason->length > before ? 1 : 0;
}
