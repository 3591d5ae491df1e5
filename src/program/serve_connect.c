// SPDX-License-Identifier: ISC
/* The connections that the supervisor makes for its processes, which cannot (os/connector.h):
 * only those that each has business with, and not more of them than a process that behaves
 * ever asks for. */
#include "log/event.h"
#include "os/connector.h"
#include "os/socket.h"
#include "program/serve_internal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>

enum { TARGETS_MAX = 4 };

/* Who asks waits meanwhile, half a second at most. */
struct pace {
	unsigned questions;
	int64_t pause_us;
};

static const struct pace ONES_OWN = {16, SECOND_US};
/* To servers of LMTP, which may want a connection for each message. */
static const struct pace SERVERS = {500, SECOND_US / 10};

/* Names in the run directory; "directory" and servers of "lmtp" are below. */
static const struct row {
	const char *program;
	const char *targets[TARGETS_MAX];
} rows[] = {
	{"smtpd", {"queue", "directory", "names"}},
	{"send", {"queue"}},
	{"resolve", {"send", "directory"}},
	{"list", {"send", "queue", "directory"}},
	{"local", {"send", "directory"}},
	{"pipe", {"send", "launch"}},
	{"lmtp", {"send"}},
	{"remote", {"send"}},
};

/* A relay's servers, where they are on this machine. */
static bool is_server(const struct config *config, const char *path)
{
	for (size_t i = 0; i < config->directory.server_count; i++)
		if (strncmp(config->directory.servers[i], "unix:", 5) == 0 &&
		    strcmp(config->directory.servers[i] + 5, path) == 0)
			return true;
	return false;
}

static bool is_lmtp_server(const struct config *config, const char *path)
{
	for (size_t i = 0; i < config->service_count; i++) {
		const struct config_service *service = &config->services[i];

		if (service->kind == CONFIG_SERVICE_LMTP && service->address.port == 0 &&
		    strcmp(service->address.host, path) == 0)
			return true;
	}
	return false;
}

static bool may_connect(const struct process *process, const char *path)
{
	const struct config *config = process->supervisor->config;
	char target[OS_CONNECTOR_PATH_SIZE];

	if (config->log_target == CONFIG_LOG_SYSLOG && strcmp(path, _PATH_LOG) == 0)
		return true;
	if (strcmp(process->program, "directory") == 0)
		return is_server(config, path);
	if (strcmp(process->program, "lmtp") == 0 && is_lmtp_server(config, path))
		return true;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (strcmp(rows[i].program, process->program) != 0)
			continue;
		for (size_t j = 0; j < TARGETS_MAX && rows[i].targets[j] != NULL; j++) {
			snprintf(target, sizeof target, "%s/%s", config->run, rows[i].targets[j]);
			if (strcmp(path, target) == 0)
				return true;
		}
	}
	return false;
}

static void answer(struct process *process, const struct os_connector_question *question)
{
	const struct program_user *user = serve_user(process->supervisor, process->program);
	int result = -EACCES;

	if (may_connect(process, question->path))
		result = os_connector_connect_as(&user->user, question->path, question->kind);
	else
		log_event(EVENT_CONNECT_REFUSED, log_string("program", process->program),
			  log_number("pid", process->pid), log_string("path", question->path));
	os_connector_answer(process->connector, question, result);
	if (result >= 0)
		os_socket_close(result);
}

static void end_pause(void *context)
{
	struct process *process = context;

	process->questions = 0;
	if (process->connector_watch != NULL)
		os_watch_set(process->connector_watch, OS_WATCH_READ);
}

static void on_question(void *context, unsigned events)
{
	struct process *process = context;
	const struct pace *pace = strcmp(process->program, "lmtp") == 0 ? &SERVERS : &ONES_OWN;
	struct os_connector_question question;
	int error = os_connector_hear(process->connector, &question);

	(void)events;
	if (error == -EAGAIN)
		return;
	if (error < 0) {
		serve_stop_connecting(process);
		return;
	}
	if (process->questions == 0)
		os_timer_start(process->connector_pause, pace->pause_us);
	if (++process->questions == pace->questions)
		os_watch_set(process->connector_watch, OS_WATCH_NONE);
	answer(process, &question);
}

int serve_start_connecting(struct process *process)
{
	int sockets[2];
	int error = os_process_socket_pair(sockets);

	if (error < 0)
		return error;
	serve_stop_connecting(process);
	if (process->connector_pause == NULL)
		process->connector_pause =
			os_timer_new(process->supervisor->loop, end_pause, process);
	process->connector = sockets[0];
	process->connector_watch = os_watch_new(process->supervisor->loop, sockets[0],
						OS_WATCH_READ, on_question, process);
	process->asker = sockets[1];
	return 0;
}

void serve_stop_connecting(struct process *process)
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
