// SPDX-License-Identifier: ISC
/* stagepost check, config, manual - the configuration and what may stand in it. */
#include "os/process.h"
#include "program/command.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The configuration that the command line names; NULL: *STATUS_OUT says how to end. */
static struct config *read_config(const struct command *command, int argc, char **argv,
				  struct command_options *options, int *status_out)
{
	if (!command_parse_plain(command, argc, argv, options, status_out))
		return NULL;
	*status_out = COMMAND_FAILED;
	return command_config(options->config_file);
}

static void say_missing(const char *file, const char *setting, const char *user)
{
	struct os_process_user found;

	if (*user == '\0' || strcmp(user, "%u") == 0 ||
	    os_process_user_find(user, &found) != -ENOENT)
		return;
	fprintf(stderr, "%s: %s: there is no user %s on this machine\n", file, setting, user);
}

/* The file is right, but it is not for this machine, or not yet. */
static void say_missing_users(const char *file, const struct config *config)
{
	char setting[64];

	say_missing(file, "user", config->user);
	for (size_t i = 0; i < CONFIG_PROCESSES; i++) {
		snprintf(setting, sizeof setting, "process %s.user", config->processes[i].name);
		say_missing(file, setting, config->processes[i].user);
	}
	for (size_t i = 0; i < config->service_count; i++) {
		snprintf(setting, sizeof setting, "service %s.user", config->services[i].name);
		say_missing(file, setting, config->services[i].user);
	}
}

int command_check(const struct command *command, int argc, char **argv)
{
	struct command_options options = {NULL};
	int status;
	struct config *config = read_config(command, argc, argv, &options, &status);

	if (config == NULL)
		return status;
	say_missing_users(options.config_file, config);
	printf("%s: ok\n", options.config_file);
	config_free(config);
	return COMMAND_OK;
}

int command_config_print(const struct command *command, int argc, char **argv)
{
	struct command_options options = {NULL};
	struct buffer text = {0};
	int status;
	struct config *config = read_config(command, argc, argv, &options, &status);

	if (config == NULL)
		return status;
	config_print(config, &text);
	fwrite(buffer_data(&text), 1, text.length, stdout);
	buffer_clear(&text);
	config_free(config);
	return COMMAND_OK;
}

int command_manual(const struct command *command, int argc, char **argv)
{
	struct command_options options = {NULL};
	struct buffer text = {0};
	int status;

	if (!command_parse_plain(command, argc, argv, &options, &status))
		return status;
	config_print_manual(&text);
	fwrite(buffer_data(&text), 1, text.length, stdout);
	buffer_clear(&text);
	return COMMAND_OK;
}
