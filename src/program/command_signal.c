// SPDX-License-Identifier: ISC
/* stagepost reload, stagepost stop - a word to the supervisor that runs. */
#include "os/process.h"
#include "program/command.h"
#include "program/pid_file.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The supervisor itself loses patience a minute after stop_timeout. */
enum { STOP_MORE_SECONDS = 90, LOOKS_A_SECOND = 20 };

/* The supervisor's pid; or it is said that there is none, and 0. */
static pid_t find(const struct command *command, const struct config *config, uid_t *owner_out)
{
	pid_t pid = pid_file_read(config->run, owner_out);

	if (pid == -ESRCH)
		fprintf(stderr, "stagepost %s: nothing runs with %s\n", command->name, config->run);
	else if (pid < 0)
		fprintf(stderr, "stagepost %s: %s/%s: %s\n", command->name, config->run,
			PID_FILE_NAME, strerror(-pid));
	return pid > 0 ? pid : 0;
}

static int tell(const struct command *command, pid_t pid, uid_t owner, int signal)
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

static struct config *begin(const struct command *command, int argc, char **argv, int *status_out)
{
	struct command_options options = {NULL};
	struct config *config;

	if (!command_parse_plain(command, argc, argv, &options, status_out))
		return NULL;
	config = command_config(options.config_file);
	*status_out = COMMAND_FAILED;
	return config;
}

/* command_config() has said what is wrong with the file by then, if anything. */
int command_reload(const struct command *command, int argc, char **argv)
{
	int status;
	struct config *config = begin(command, argc, argv, &status);
	uid_t owner;
	pid_t pid;

	if (config == NULL)
		return status;
	pid = find(command, config, &owner);
	config_free(config);
	return pid > 0 ? tell(command, pid, owner, SIGHUP) : COMMAND_FAILED;
}

/* Until its lock on the file is gone: then all its processes have ended. */
static int wait_for_end(const struct command *command, const struct config *config)
{
	const struct timespec pause = {0, 1000000000 / LOOKS_A_SECOND};
	uint32_t seconds = config->stop_timeout + STOP_MORE_SECONDS;
	uid_t owner;

	for (uint32_t i = 0; i < seconds * LOOKS_A_SECOND; i++) {
		if (pid_file_read(config->run, &owner) <= 0)
			return COMMAND_OK;
		nanosleep(&pause, NULL);
	}
	fprintf(stderr, "stagepost %s: it has not ended in %u seconds\n", command->name, seconds);
	return COMMAND_FAILED;
}

int command_stop(const struct command *command, int argc, char **argv)
{
	int status;
	struct config *config = begin(command, argc, argv, &status);
	uid_t owner;
	pid_t pid;

	if (config == NULL)
		return status;
	pid = find(command, config, &owner);
	if (pid > 0)
		status = tell(command, pid, owner, SIGTERM);
	if (pid > 0 && status == COMMAND_OK)
		status = wait_for_end(command, config);
	config_free(config);
	return status;
}
