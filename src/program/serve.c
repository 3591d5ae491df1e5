// SPDX-License-Identifier: ISC
#include "program/serve.h"
#include "base/panic.h"
#include "ipc/channel.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"
#include "os/socket.h"
#include "program/child.h"
#include "program/pid_file.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROCESSES_MAX = 64, LISTEN_BACKLOG = 1024 };

static const int64_t RESTART_DELAY_US = SECOND_US / 10;
static const int64_t RESTART_DELAY_MAX_US = 10 * SECOND_US;
static const int64_t HEALTHY_US = 10 * SECOND_US;
static const int64_t STOP_PATIENCE_US = 35 * SECOND_US;

struct supervisor;

struct process {
	struct supervisor *supervisor;
	const char *program; /* file name */
	pid_t pid;           /* 0: not running */
	struct ipc_channel *control;
	struct os_timer *restart;
	int64_t delay_us;
	int64_t started_us;
	bool is_ready;
};

struct bound_socket {
	char name[192];
	int descriptor;
	bool is_wanted;
};

struct supervisor {
	struct os_loop *loop;
	const char *file;
	struct buffer text; /* of the configuration in force */
	struct config *config;
	struct os_process_user user;
	char program_directory[OS_PROCESS_PATH_SIZE];
	struct process processes[PROCESSES_MAX];
	size_t process_count;
	struct bound_socket sockets[CHILD_SOCKETS_MAX];
	size_t socket_count;
	struct os_timer *patience;
	bool is_stopping;
	bool was_ready;
	int exit_status;
};

/* --- sockets --- */

static struct bound_socket *socket_find(struct supervisor *supervisor, const char *name)
{
	for (size_t i = 0; i < supervisor->socket_count; i++)
		if (strcmp(supervisor->sockets[i].name, name) == 0)
			return &supervisor->sockets[i];
	return NULL;
}

static int socket_keep(struct supervisor *supervisor, const char *name, int descriptor)
{
	struct bound_socket *bound = &supervisor->sockets[supervisor->socket_count];

	if (descriptor < 0) {
		log_event(EVENT_PROCESS_ERROR, log_string("socket", name), log_error(descriptor));
		return descriptor;
	}
	if (supervisor->socket_count == CHILD_SOCKETS_MAX) {
		os_socket_close(descriptor);
		return -EMFILE;
	}
	snprintf(bound->name, sizeof bound->name, "%s", name);
	bound->descriptor = descriptor;
	bound->is_wanted = true;
	supervisor->socket_count++;
	return 0;
}

static int bind_unix(struct supervisor *supervisor, const char *name, int kind)
{
	char path[108];
	int descriptor;

	if (socket_find(supervisor, name) != NULL)
		return 0;
	if (snprintf(path, sizeof path, "%s/%s", supervisor->config->run, name) >= (int)sizeof path)
		return -ENAMETOOLONG;
	descriptor = os_socket_listen_unix(path, kind, 0660);
	if (descriptor >= 0 && supervisor->user.change &&
	    chown(path, supervisor->user.uid, supervisor->user.gid) != 0) {
		os_socket_close(descriptor);
		descriptor = -errno;
	}
	return socket_keep(supervisor, name, descriptor);
}

static int bind_endpoint(const struct config_endpoint *endpoint)
{
	union os_socket_address address;

	if (endpoint->port == 0)
		return os_socket_listen_unix(endpoint->host, SOCK_STREAM, 0666);
	if (!os_socket_address_parse(endpoint->host, endpoint->port, &address))
		return -EINVAL;
	return os_socket_listen(&address, LISTEN_BACKLOG);
}

static int bind_listen(struct supervisor *supervisor, const struct config_endpoint *endpoint)
{
	char name[192];
	struct bound_socket *bound;
	int error;

	snprintf(name, sizeof name, "listen %s", endpoint->text);
	bound = socket_find(supervisor, name);
	if (bound != NULL) {
		bound->is_wanted = true;
		return 0;
	}
	error = socket_keep(supervisor, name, bind_endpoint(endpoint));
	if (error == 0)
		log_event(EVENT_LISTENING, log_string("address", endpoint->text));
	return error;
}

static void drop_unwanted_sockets(struct supervisor *supervisor)
{
	size_t kept = 0;

	for (size_t i = 0; i < supervisor->socket_count; i++) {
		if (supervisor->sockets[i].is_wanted)
			supervisor->sockets[kept++] = supervisor->sockets[i];
		else
			os_socket_close(supervisor->sockets[i].descriptor);
	}
	supervisor->socket_count = kept;
}

/* Binds what CONFIG wants and marks it; what was bound before stays. */
static int bind_sockets(struct supervisor *supervisor, const struct config *config)
{
	for (size_t i = 0; i < supervisor->socket_count; i++)
		supervisor->sockets[i].is_wanted =
			strncmp(supervisor->sockets[i].name, "listen ", 7) != 0;
	for (size_t i = 0; i < config->listen_count; i++) {
		for (size_t j = 0; j < config->listens[i].address_count; j++) {
			int error = bind_listen(supervisor, &config->listens[i].addresses[j]);

			if (error < 0)
				return error;
		}
	}
	return 0;
}

static int bind_run_sockets(struct supervisor *supervisor)
{
	int error = bind_unix(supervisor, "queue", SOCK_SEQPACKET);

	if (error == 0)
		error = bind_unix(supervisor, "send", SOCK_SEQPACKET);
	if (error == 0)
		error = bind_unix(supervisor, "notify", SOCK_DGRAM);
	return error;
}

/* --- processes --- */

/* Which process works with which socket. */
static bool process_wants(const struct process *process, const char *name)
{
	if (strcmp(process->program, "smtpd") == 0)
		return strncmp(name, "listen ", 7) == 0;
	if (strcmp(process->program, "queue") == 0)
		return strcmp(name, "queue") == 0;
	if (strcmp(process->program, "send") == 0)
		return strcmp(name, "send") == 0 || strcmp(name, "notify") == 0;
	return false;
}

static void send_setup(struct process *process)
{
	struct supervisor *supervisor = process->supervisor;
	int text = os_process_share_text(buffer_view(&supervisor->text));

	if (text < 0) {
		log_event(EVENT_PROCESS_ERROR, log_string("reason", "no memory file"),
			  log_error(text));
		return;
	}
	ipc_channel_send(process->control, CHILD_CONFIG, 0, str_from(supervisor->file), &text, 1);
	close(text);
	for (size_t i = 0; i < supervisor->socket_count; i++) {
		const struct bound_socket *bound = &supervisor->sockets[i];

		if (bound->is_wanted && process_wants(process, bound->name))
			ipc_channel_send(process->control, CHILD_SOCKET, 0, str_from(bound->name),
					 &bound->descriptor, 1);
	}
}

static void announce_ready(struct supervisor *supervisor)
{
	if (supervisor->was_ready || supervisor->is_stopping)
		return;
	for (size_t i = 0; i < supervisor->process_count; i++)
		if (!supervisor->processes[i].is_ready)
			return;
	supervisor->was_ready = true;
	log_event(EVENT_SERVE_READY, log_number("processes", (int64_t)supervisor->process_count));
}

static void on_control_message(void *context, struct ipc_channel *channel,
			       struct ipc_message *message)
{
	struct process *process = context;

	(void)channel;
	if (message->type == CHILD_READY) {
		process->is_ready = true;
		announce_ready(process->supervisor);
	}
}

static void on_control_lost(void *context, struct ipc_channel *channel)
{
	struct process *process = context;

	ipc_channel_close(channel);
	process->control = NULL;
}

static const struct ipc_channel_handler control_handler = {on_control_message, on_control_lost};

/* To deliver as somebody else, local must be able to become him; then so must be the
 * programs that it runs. */
static bool stays_root(const struct process *process)
{
	return os_process_is_root() && strcmp(process->program, "local") == 0 &&
	       config_has_owners(process->supervisor->config);
}

static pid_t start_program(const struct process *process, int control)
{
	const struct supervisor *supervisor = process->supervisor;
	static const struct os_process_user root = {.may_gain = true};
	const char *arguments[] = {process->program, "--supervised", NULL};
	const struct os_process_user *user = &supervisor->user;
	char path[OS_PROCESS_PATH_SIZE + 32];

	snprintf(path, sizeof path, "%s/%s", supervisor->program_directory, process->program);
	if (stays_root(process))
		user = &root;
	return os_process_start(path, arguments, user, control);
}

static void process_start(void *context)
{
	struct process *process = context;
	int sockets[2];
	int error = os_process_socket_pair(sockets);

	if (error == 0) {
		process->pid = start_program(process, sockets[1]);
		os_socket_close(sockets[1]);
		if (process->pid < 0) {
			error = (int)process->pid;
			process->pid = 0;
			os_socket_close(sockets[0]);
		}
	}
	if (error < 0) {
		log_event(EVENT_PROCESS_ERROR, log_string("program", process->program),
			  log_error(error));
		os_timer_start(process->restart, RESTART_DELAY_MAX_US);
		return;
	}
	process->started_us = os_clock_monotonic_us();
	process->control =
		ipc_channel_new(process->supervisor->loop, sockets[0], &control_handler, process);
	log_event(EVENT_PROCESS_STARTED, log_string("program", process->program),
		  log_number("pid", process->pid));
	send_setup(process);
	ipc_channel_send(process->control, CHILD_START, 0, STR(""), NULL, 0);
}

static void add_process(struct supervisor *supervisor, const char *program)
{
	struct process *process = &supervisor->processes[supervisor->process_count++];

	if (supervisor->process_count > PROCESSES_MAX)
		panic("more than %d processes", PROCESSES_MAX);
	*process = (struct process){.supervisor = supervisor, .program = program};
	process->delay_us = RESTART_DELAY_US;
	process->restart = os_timer_new(supervisor->loop, process_start, process);
}

static void add_processes(struct supervisor *supervisor)
{
	add_process(supervisor, "queue");
	add_process(supervisor, "send");
	add_process(supervisor, "resolve");
	add_process(supervisor, "remote");
	add_process(supervisor, "lmtp");
	add_process(supervisor, "local");
	for (uint32_t i = 0; i < supervisor->config->smtpd_workers; i++)
		add_process(supervisor, "smtpd");
}

static size_t running(const struct supervisor *supervisor)
{
	size_t count = 0;

	for (size_t i = 0; i < supervisor->process_count; i++)
		count += supervisor->processes[i].pid != 0;
	return count;
}

static void process_ended(struct process *process, int status)
{
	struct supervisor *supervisor = process->supervisor;
	int64_t lived_us = os_clock_monotonic_us() - process->started_us;
	char text[32];

	os_process_status_format(status, text, sizeof text);
	log_event(supervisor->is_stopping ? EVENT_PROCESS_STOPPED : EVENT_PROCESS_ENDED,
		  log_string("program", process->program), log_number("pid", process->pid),
		  log_string("status", text));
	process->pid = 0;
	process->is_ready = false;
	ipc_channel_close(process->control);
	process->control = NULL;
	if (supervisor->is_stopping)
		return;
	if (lived_us > HEALTHY_US)
		process->delay_us = RESTART_DELAY_US;
	os_timer_start(process->restart, process->delay_us);
	process->delay_us *= 2;
	if (process->delay_us > RESTART_DELAY_MAX_US)
		process->delay_us = RESTART_DELAY_MAX_US;
}

/* --- stopping --- */

/* The intake first, so that what it has accepted can still be queued; then all
 * the others. */
static void stop_next(struct supervisor *supervisor)
{
	bool intake_runs = false;

	for (size_t i = 0; i < supervisor->process_count; i++)
		intake_runs |= supervisor->processes[i].pid != 0 &&
			       strcmp(supervisor->processes[i].program, "smtpd") == 0;
	for (size_t i = 0; i < supervisor->process_count; i++) {
		struct process *process = &supervisor->processes[i];
		bool is_intake = strcmp(process->program, "smtpd") == 0;
		bool is_queue = strcmp(process->program, "queue") == 0;

		if (process->control == NULL || (intake_runs && !is_intake))
			continue;
		if (is_queue && running(supervisor) > 1)
			continue;
		ipc_channel_send(process->control, CHILD_STOP, 0, STR(""), NULL, 0);
	}
	if (running(supervisor) == 0)
		os_loop_stop(supervisor->loop);
}

static void stop_serving(void *context)
{
	struct supervisor *supervisor = context;

	if (supervisor->is_stopping)
		return;
	supervisor->is_stopping = true;
	log_event(EVENT_SERVE_STOPPING);
	for (size_t i = 0; i < supervisor->process_count; i++)
		os_timer_stop(supervisor->processes[i].restart);
	os_timer_start(supervisor->patience, STOP_PATIENCE_US);
	stop_next(supervisor);
}

static void lose_patience(void *context)
{
	struct supervisor *supervisor = context;

	for (size_t i = 0; i < supervisor->process_count; i++)
		os_process_kill(supervisor->processes[i].pid, SIGKILL);
}

static void on_child_signal(void *context)
{
	struct supervisor *supervisor = context;
	int status;
	pid_t pid;

	while ((pid = os_process_ended(&status)) > 0)
		for (size_t i = 0; i < supervisor->process_count; i++)
			if (supervisor->processes[i].pid == pid)
				process_ended(&supervisor->processes[i], status);
	if (supervisor->is_stopping)
		stop_next(supervisor);
}

/* --- reloading --- */

static void log_problems(const struct supervisor *supervisor,
			 const struct config_problems *problems)
{
	struct buffer text = {0};
	struct str rest;
	struct str line;

	config_problems_print(problems, supervisor->file, &text);
	rest = buffer_view(&text);
	while (str_split(&rest, '\n', &line))
		if (line.length > 0)
			log_event(EVENT_CONFIG_REFUSED, log_str("problem", line));
	buffer_clear(&text);
}

/* What a running node cannot change: said, not ignored. */
static const char *fixed_setting_changed(const struct config *old, const struct config *new)
{
	if (strcmp(old->queue, new->queue) != 0)
		return "queue";
	if (strcmp(old->run, new->run) != 0)
		return "run";
	if (strcmp(old->user, new->user) != 0)
		return "user";
	if (old->smtpd_workers != new->smtpd_workers)
		return "smtpd_workers";
	if (os_process_is_root() && config_has_owners(old) != config_has_owners(new))
		return "user of services";
	return NULL;
}

static int read_file(const char *file, struct buffer *text)
{
	int descriptor = os_file_open(OS_FILE_HERE, file, OS_FILE_READ);
	int error = descriptor;

	if (descriptor >= 0) {
		error = os_process_read_text(descriptor, 4 << 20, text);
		os_file_close(descriptor);
	}
	return error;
}

static void take_over(struct supervisor *supervisor, struct config *config, struct buffer *text)
{
	struct buffer old_text = supervisor->text;
	struct config *old = supervisor->config;

	supervisor->config = config;
	supervisor->text = *text;
	*text = old_text;
	for (size_t i = 0; i < supervisor->process_count; i++) {
		struct process *process = &supervisor->processes[i];

		if (process->control == NULL)
			continue;
		send_setup(process);
		ipc_channel_send(process->control, CHILD_RELOAD, 0, STR(""), NULL, 0);
	}
	drop_unwanted_sockets(supervisor);
	config_free(old);
	log_event(EVENT_CONFIG_RELOADED, log_string("file", supervisor->file));
}

static void reload(void *context)
{
	struct supervisor *supervisor = context;
	struct config_problems problems = {0};
	struct config *config = NULL;
	struct buffer text = {0};
	const char *fixed;
	int error = read_file(supervisor->file, &text);

	if (error == 0)
		error = config_parse(supervisor->file, buffer_view(&text), &config, &problems);
	else
		log_event(EVENT_CONFIG_REFUSED, log_string("file", supervisor->file),
			  log_error(error));
	fixed = error == 0 ? fixed_setting_changed(supervisor->config, config) : NULL;
	if (error < 0) {
		log_problems(supervisor, &problems);
	} else if (fixed != NULL) {
		log_event(EVENT_CONFIG_REFUSED, log_string("setting", fixed),
			  log_string("problem", "can only be changed by a restart"));
	} else if (bind_sockets(supervisor, config) < 0) {
		log_event(EVENT_CONFIG_REFUSED,
			  log_string("problem", "a listening socket cannot be bound"));
		(void)!bind_sockets(supervisor, supervisor->config);
		drop_unwanted_sockets(supervisor);
	} else {
		take_over(supervisor, config, &text);
		config = NULL;
	}
	config_free(config);
	config_problems_clear(&problems);
	buffer_clear(&text);
}

/* --- starting --- */

static int prepare_directory(struct supervisor *supervisor, const char *path)
{
	int error = os_file_make_directory(OS_FILE_HERE, path);

	if (error == -EEXIST)
		return 0;
	if (error == 0 && supervisor->user.change &&
	    chown(path, supervisor->user.uid, supervisor->user.gid) != 0)
		error = -errno;
	if (error < 0)
		log_event(EVENT_PROCESS_ERROR, log_string("directory", path), log_error(error));
	return error;
}

/* The file stays open, and so locked, until the process ends. */
static int write_pid_file(const struct config *config)
{
	int file = pid_file_write(config->run);

	if (file >= 0)
		return 0;
	log_event(EVENT_PROCESS_ERROR, log_string("file", PID_FILE_NAME),
		  log_string("run", config->run),
		  log_string("reason", file == -EAGAIN ? "another one runs here" : "not written"),
		  log_error(file));
	return file;
}

static int prepare(struct supervisor *supervisor)
{
	const struct config *config = supervisor->config;
	int error = 0;

	if (os_process_is_root() && config->user[0] != '\0')
		error = os_process_user_find(config->user, &supervisor->user);
	if (error < 0) {
		log_event(EVENT_PROCESS_ERROR, log_string("user", config->user), log_error(error));
		return error;
	}
	error = os_process_own_directory(supervisor->program_directory);
	if (error == 0)
		error = prepare_directory(supervisor, config->run);
	if (error == 0)
		error = write_pid_file(config);
	if (error == 0)
		error = prepare_directory(supervisor, config->queue);
	if (error == 0)
		error = bind_run_sockets(supervisor);
	if (error == 0)
		error = bind_sockets(supervisor, config);
	return error;
}

/* Installed: where the command's own file says, so that a tree may be moved;
 * not installed: beside it. */
static void find_programs(struct supervisor *supervisor)
{
	static const char *const places[] = {"../libexec/stagepost", "."};
	char *directory = supervisor->program_directory;
	char path[OS_PROCESS_PATH_SIZE + 32];

	for (size_t i = 0; i < COUNT_OF(places); i++) {
		size_t length = strlen(directory);

		snprintf(path, sizeof path, "%s/%s/send", directory, places[i]);
		if (access(path, X_OK) != 0)
			continue;
		snprintf(directory + length, OS_PROCESS_PATH_SIZE - length, "/%s", places[i]);
		return;
	}
	snprintf(directory, OS_PROCESS_PATH_SIZE, "%s", PROGRAM_DIRECTORY);
}

int serve(const char *file, struct str text, struct config *config)
{
	static struct supervisor supervisor;
	struct os_signal *signals[4];

	log_open("stagepost", LOG_INFO_LEVEL);
	os_process_ignore_pipe_signal();
	os_process_raise_descriptor_limit();
	supervisor.file = file;
	supervisor.config = config;
	buffer_append_str(&supervisor.text, text);
	supervisor.loop = os_loop_new();
	os_loop_set_idle(supervisor.loop, log_flush);
	supervisor.patience = os_timer_new(supervisor.loop, lose_patience, &supervisor);
	if (prepare(&supervisor) < 0)
		return 1;
	find_programs(&supervisor);
	signals[0] = os_signal_new(supervisor.loop, SIGCHLD, on_child_signal, &supervisor);
	signals[1] = os_signal_new(supervisor.loop, SIGTERM, stop_serving, &supervisor);
	signals[2] = os_signal_new(supervisor.loop, SIGINT, stop_serving, &supervisor);
	signals[3] = os_signal_new(supervisor.loop, SIGHUP, reload, &supervisor);
	add_processes(&supervisor);
	for (size_t i = 0; i < supervisor.process_count; i++)
		process_start(&supervisor.processes[i]);
	os_loop_run(supervisor.loop);
	log_event(EVENT_SERVE_STOPPED);
	log_flush();
	for (size_t i = 0; i < COUNT_OF(signals); i++)
		os_signal_free(signals[i]);
	config_free(supervisor.config);
	buffer_clear(&supervisor.text);
	return supervisor.exit_status;
}
