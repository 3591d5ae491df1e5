// SPDX-License-Identifier: ISC
/* Makes connections for processes that cannot make them (os/socket/connector.h): only those that a
 * process needs, and no more of them than one that works normally requests. */
#include "log/event.h"
#include "os/socket/connector.h"
#include "os/socket/socket.h"
#include "supervisor/internal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>

static bool may_process_connect_to(const struct process *process, const char *path)
{
	const struct config *config = process->supervisor->config;
	const struct supervisor_program *program = process->program;
	size_t run = strlen(config->run);

	if (config->log_target == CONFIG_LOG_SYSLOG && strcmp(path, _PATH_LOG) == 0)
		return true;
	if (program->may_connect != NULL && program->may_connect(config, path))
		return true;
	return strncmp(path, config->run, run) == 0 && path[run] == '/' &&
	       confine_process_has_target(confine_process_find(program->name), path + run + 1);
}

/* Of this machine, for the moment: who gets no answer asks again. */
static void log_error_of(const struct process *process, const char *operation, int error)
{
	log_event_rated(EVENT_IPC_ERROR, log_string(operation, operation),
			log_string(program, process->program->name), log_number(pid, process->pid),
			log_error(error));
}

static void answer_connection_question(struct process *process,
				       const struct os_connector_question *question)
{
	const struct program_user *user =
		program_users_of(&process->supervisor->users, process->program->name);
	int result = -EACCES;
	int error;

	if (may_process_connect_to(process, question->path))
		result = os_connector_connect_as(&user->user, question->path, question->kind);
	else
		log_event(EVENT_CONNECT_REFUSED, log_string(program, process->program->name),
			  log_number(pid, process->pid), log_string(path, question->path));
	error = os_connector_answer(process->connector, question, result);
	if (error < 0 && error != -EPIPE && error != -ECONNRESET) /* it has not just ended */
		log_error_of(process, "send", error);
	if (result >= 0)
		os_socket_close(result);
}

static void end_pause_of_connector(void *context)
{
	struct process *process = context;

	process->questions = 0;
	if (process->connector_watch != NULL)
		os_watch_set(process->connector_watch, OS_WATCH_READ);
}

static void on_question(void *context, unsigned events)
{
	struct process *process = context;
	const struct supervisor_pace *pace = process->program->pace;
	struct os_connector_question question;
	int error = os_connector_hear(process->connector, &question);

	(void)events;
	if (error == -EAGAIN)
		return;
	if (error == -EPIPE || error == -EBADMSG) {
		supervisor_stop_connecting(process);
		return;
	}
	if (process->questions == 0)
		os_timer_start(process->connector_pause, pace->pause_us);
	if (++process->questions == pace->questions)
		os_watch_set(process->connector_watch, OS_WATCH_NONE);
	if (error == 0)
		answer_connection_question(process, &question);
	else
		log_error_of(process, "receive", error);
}

int supervisor_start_connecting(struct process *process)
{
	int sockets[2];
	int error = os_process_socket_pair(sockets);

	if (error < 0)
		return error;
	supervisor_stop_connecting(process);
	if (process->connector_pause == NULL)
		process->connector_pause =
			os_timer_new(process->supervisor->loop, end_pause_of_connector, process);
	process->connector = sockets[0];
	process->connector_watch = os_watch_new(process->supervisor->loop, sockets[0],
						OS_WATCH_READ, on_question, process);
	process->asker = sockets[1];
	return 0;
}

void supervisor_stop_connecting(struct process *process)
{
	if (process->connector_watch == NULL)
		return;
	os_watch_free(process->connector_watch);
	os_socket_close(process->connector);
	os_socket_close(process->asker);
	process->connector_watch = NULL;
	process->connector = -1;
	process->questions = 0;
}
