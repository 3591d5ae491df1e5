// SPDX-License-Identifier: ISC
/* stagepost reload, stagepost stop, stagepost upgrade - send a signal to the running supervisor,
 * and wait for what becomes of it. */
#include "command/request.h"
#include "os/clock.h"
#include "os/process/process.h"
#include "supervisor/machine_check/machine_check.h"
#include "supervisor/talk/pid_file.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* The supervisor itself gives up a minute after stop_timeout. */
enum { STOP_MORE_SECONDS = 90, LOOKS_A_SECOND = 20, RELOAD_SECONDS = 60 };

/* The supervisor's pid; or 0, after a message that there is none. */
pid_t command_find_node(const struct command *command, const struct config *config,
			uid_t *owner_out)
{
	pid_t pid = pid_file_read(config->run, owner_out);

	if (pid == -ESRCH)
		fprintf(stderr, "stagepost %s: nothing runs with %s\n", command->name, config->run);
	else if (pid < 0)
		fprintf(stderr, "stagepost %s: %s/%s: %s\n", command->name, config->run,
			PID_FILE_NAME, strerror(-pid));
	return pid > 0 ? pid : 0;
}

static int signal_supervisor(const struct command *command, pid_t pid, uid_t owner, int signal)
{
	int error = os_process_signal_of(pid, owner, signal);

	if (error == 0)
		return COMMAND_OK;
	if (error == -ENOTUNIQ) {
		fprintf(stderr,
			"stagepost %s: " PID_FILE_NAME
			" was made by user %lu and names process %ld, "
			"which is not one of that user: nothing was done\n",
			command->name, (unsigned long)owner, (long)pid);
		return COMMAND_FAILED;
	}
	fprintf(stderr, "stagepost %s: process %ld: %s\n", command->name, (long)pid,
		strerror(-error));
	return COMMAND_FAILED;
}

/* TEXT: that of the configuration, which this appends. */
static struct config *begin_reload(const struct command *command, int argc, char **argv,
				   struct buffer *text, int *status_out)
{
	struct command_options options = {NULL};
	struct config *config = NULL;

	if (!command_parse_plain(command, argc, argv, &options, status_out))
		return NULL;
	*status_out = COMMAND_FAILED;
	return command_config_load(options.config_file, text, &config) < 0 ? NULL : config;
}

static int tell_outcome(const struct command *command, const struct command_request *request,
			const struct request_record *record)
{
	struct str rest = buffer_view(&record->reason);
	struct str line;

	if (!record->is_refused)
		return COMMAND_OK;
	fprintf(stderr, "stagepost %s: refused, %s:\n", command->name, request->goes_on);
	while (str_split(&rest, '\n', &line))
		fprintf(stderr, STR_FORMAT "\n", STR_ARGUMENTS(line));
	return COMMAND_FAILED;
}

/* Waits for the end of a request that began after the one with the number BEFORE. */
static int wait_for_request(const struct command *command, const struct config *config,
			    const struct command_request *request, uint64_t before)
{
	for (unsigned i = 0; i < request->seconds_max * LOOKS_A_SECOND; i++) {
		struct request_record record CLEANUP(request_record_clear) = {0};
		uid_t owner;

		if (pid_file_read(config->run, &owner) <= 0) {
			fprintf(stderr, "stagepost %s: it has ended\n", command->name);
			return COMMAND_FAILED;
		}
		if (request_record_read(config->run, request->kind, owner, &record) == 0 &&
		    record.ended > before)
			return tell_outcome(command, request, &record);
		os_clock_pause_ms(1000 / LOOKS_A_SECOND);
	}
	fprintf(stderr, "stagepost %s: no answer in %u seconds; the log may tell more\n",
		command->name, request->seconds_max);
	return COMMAND_FAILED;
}

int command_make_request(const struct command *command, const struct config *config, pid_t pid,
			 uid_t owner, int signal, const struct command_request *request)
{
	struct request_record record CLEANUP(request_record_clear) = {0};
	int error = request_record_read(config->run, request->kind, owner, &record);
	int status;

	if (error < 0) {
		fprintf(stderr, "stagepost %s: %s/%s: %s; nothing was done\n", command->name,
			config->run, request->kind, strerror(-error));
		return COMMAND_FAILED;
	}
	status = signal_supervisor(command, pid, owner, signal);
	return status == COMMAND_OK ? wait_for_request(command, config, request, record.begun)
				    : status;
}

/* What is fatal is the reason of a refusal, which is printed anyway. */
static void print_fault(void *context, const struct machine_finding *finding)
{
	(void)context;
	if (finding->severity == MACHINE_FAULT)
		fprintf(stderr, "%s\n", finding->text);
}

/* If the file is invalid, command_config_load() has printed the problems. */
int command_reload(const struct command *command, int argc, char **argv)
{
	static const struct command_request request = {
		REQUEST_RELOAD, "the old configuration stays in force", RELOAD_SECONDS};
	struct buffer text CLEANUP(buffer_clear) = {0};
	int status;
	struct config *config = begin_reload(command, argc, argv, &text, &status);
	uid_t owner;
	pid_t pid;

	if (config == NULL)
		return status;
	pid = command_find_node(command, config, &owner);
	if (pid > 0)
		status = command_make_request(command, config, pid, owner, SIGHUP, &request);
	if (pid > 0 && status == COMMAND_OK)
		(void)machine_check(config, buffer_view(&text), true, print_fault, NULL);
	config_free(config);
	return status;
}

/* Waits until the supervisor's lock on the file is gone, when all its processes have ended. */
static int wait_for_end_of_supervisor(const struct command *command, const struct config *config)
{
	uint32_t seconds = config->stop_timeout + STOP_MORE_SECONDS;
	uid_t owner;

	for (uint32_t i = 0; i < seconds * LOOKS_A_SECOND; i++) {
		if (pid_file_read(config->run, &owner) <= 0)
			return COMMAND_OK;
		os_clock_pause_ms(1000 / LOOKS_A_SECOND);
	}
	fprintf(stderr, "stagepost %s: it has not ended in %u seconds\n", command->name, seconds);
	return COMMAND_FAILED;
}

int command_stop(const struct command *command, int argc, char **argv)
{
	struct command_options options = {NULL};
	struct config *config;
	int status;
	uid_t owner;
	pid_t pid;

	if (!command_parse_plain(command, argc, argv, &options, &status))
		return status;
	config = command_config(options.config_file);
	if (config == NULL)
		return COMMAND_FAILED;
	status = COMMAND_FAILED;
	pid = command_find_node(command, config, &owner);
	if (pid > 0)
		status = signal_supervisor(command, pid, owner, SIGTERM);
	if (pid > 0 && status == COMMAND_OK)
		status = wait_for_end_of_supervisor(command, config);
	config_free(config);
	return status;
}
