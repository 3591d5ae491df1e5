// SPDX-License-Identifier: ISC
/* Opens the queue for a command. */
#include "command/queue/queue.h"
#include "os/process/process.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

int command_queue_failed(const char *what, int error)
{
	fprintf(stderr, "stagepost: %s: %s\n", what, strerror(-error));
	return COMMAND_FAILED;
}

void command_queue_flush(struct buffer *text)
{
	command_write(stdout, buffer_view(text));
	buffer_reset(text);
}

static struct queue_store *open_store_or_explain(const struct config *config,
						 const struct queue_options *options)
{
	struct buffer reason CLEANUP(buffer_clear) = {0};
	struct queue_store *store = NULL;
	int error = queue_store_open(config->queue, options, &store, &reason);

	if (error >= 0)
		return store;
	if (error == -ENOENT) {
		buffer_reset(&reason);
		buffer_append_string(&reason,
				     "there is no queue yet; \"stagepost serve\" makes it");
	}
	if (reason.length == 0)
		buffer_append_string(&reason, strerror(-error));
	fprintf(stderr, "stagepost: %s: " STR_FORMAT "\n", config->queue,
		STR_ARGUMENTS(buffer_view(&reason)));
	return NULL;
}

struct queue_store *command_queue_open_to_read(const struct config *config)
{
	const struct queue_options options = {.read_only = true};

	return open_store_or_explain(config, &options);
}

struct queue_store *command_queue_open(const char *config_file)
{
	struct config *config = command_config(config_file);
	struct queue_store *store;

	if (config == NULL)
		return NULL;
	store = command_queue_open_to_read(config);
	config_free(config);
	return store;
}

bool command_queue_become_owner(const struct config *config)
{
	struct os_process_user user = {0};
	int error = 0;

	os_process_own_mask();
	if (os_process_is_root() && config->user[0] != '\0') {
		error = os_process_user_find(config->user, &user);
		if (error == 0)
			error = os_process_become(&user);
	}
	if (error < 0) {
		fprintf(stderr, "stagepost: user %s: %s\n", config->user,
			error == -ENOENT ? "there is none" : strerror(-error));
		return false;
	}
	if (os_process_owns(config->queue) != 0)
		return true; /* what is wrong with the directory is said when it is opened */
	fprintf(stderr, "stagepost: %s belongs to another user\n", config->queue);
	return false;
}

static struct queue_store *open_for_change(const struct config *config, bool make_lacking)
{
	const struct queue_options options = {
		.make_lacking = make_lacking,
		.unsafe = config->queue_unsafe,
		.sync = queue_sync_of(config->queue_sync),
	};

	return command_queue_become_owner(config) ? open_store_or_explain(config, &options) : NULL;
}

struct queue_store *command_queue_open_for_change(const struct config *config)
{
	return open_for_change(config, false);
}

struct queue_store *command_queue_open_to_repair(const struct config *config)
{
	return open_for_change(config, true);
}
