// SPDX-License-Identifier: ISC
/* Connects a command to the directory. */
#include "base/panic.h"
#include "command/directory/directory.h"
#include "log/event.h"
#include "os/loop.h"
#include <stdio.h>

bool command_directory_open(const char *file, struct command_directory *directory_out)
{
	struct command_directory directory = {.config = command_config(file)};
	struct buffer path CLEANUP(buffer_clear) = {0};
	const char *server;

	if (directory.config == NULL)
		return false;
	if (directory.config->directory.backend == CONFIG_BACKEND_NONE) {
		fprintf(stderr, "stagepost: %s has no section \"directory\"\n",
			directory.config->file);
		config_free(directory.config);
		return false;
	}
	buffer_append_format(&path, "unix:%s/directory", directory.config->run);
	buffer_append_byte(&path, '\0');
	server = buffer_data(&path);
	/* the command itself prints what the client would log */
	log_open("stagepost", LOG_ERROR_LEVEL);
	directory.server.loop = os_loop_new();
	directory.server.client =
		directory_client_new(directory.server.loop, &server, 1, NULL, NULL, NULL);
	directory_client_set_capacity(directory.server.client, 0);
	*directory_out = directory;
	return true;
}

void command_directory_close(struct command_directory *directory)
{
	directory_client_free(directory->server.client);
	os_loop_free(directory->server.loop);
	config_free(directory->config);
}

int command_directory_failed(const struct command *command,
			     const struct command_directory *directory)
{
	fprintf(stderr, "stagepost %s: %s\n", command->name,
		bulk_server_problem(&directory->server));
	return COMMAND_FAILED;
}
