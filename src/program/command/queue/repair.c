// SPDX-License-Identifier: ISC
/* stagepost queue repair */
#include "queue/repair.h"
#include "program/command/queue/queue.h"
#include "program/command/queue/restored.h"
#include "program/start/log_settings.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct report {
	bool dry_run;
	uint64_t renumbered;
	uint64_t set_aside;
	struct queue_restored restored;
};

static void on_renumbered(void *context, uint64_t old, uint64_t number)
{
	struct report *report = context;

	report->renumbered++;
	printf("%llu %s %llu\n", (unsigned long long)old,
	       report->dry_run ? "would become" : "is now", (unsigned long long)number);
}

static void on_set_aside(void *context, const char *path, const char *why)
{
	struct report *report = context;

	report->set_aside++;
	printf("%s %s damaged/: %s\n", path, report->dry_run ? "would go to" : "is now in", why);
}

static int on_kept(void *context, uint64_t old, uint64_t number)
{
	struct report *report = context;

	return queue_restored_keep(&report->restored, old, number);
}

static void on_progress(void *context, uint64_t count)
{
	(void)context;
	if (isatty(STDERR_FILENO) && count > 0)
		fprintf(stderr, "\r%llu messages looked at", (unsigned long long)count);
}

bool command_queue_lock(struct queue_store *store, const char *path)
{
	int error = queue_store_lock(store, "queue");

	if (error == 0)
		error = queue_store_lock(store, "send");
	if (error == -EAGAIN)
		fprintf(stderr, "stagepost: %s is in use: stop the mail system first\n", path);
	else if (error < 0)
		command_queue_failed(path, error);
	return error == 0;
}

struct repair_options {
	struct command_options common;
	bool dry_run;
	bool restored;
	bool hold;
};

static int repair(struct queue_store *store, const char *path, const struct repair_options *given)
{
	bool dry_run = given->dry_run;
	struct report report = {.dry_run = dry_run, .restored = {store, given->hold, 0}};
	const struct queue_repair options = {
		.dry_run = dry_run,
		.renumbered = on_renumbered,
		.kept = given->restored || given->hold ? on_kept : NULL,
		.set_aside = on_set_aside,
		.progress = on_progress,
		.context = &report,
	};
	int error;

	if (!command_queue_lock(store, path))
		return COMMAND_FAILED;
	if (dry_run && queue_repair_is_pending(store) > 0)
		puts("a repair was interrupted: it would be finished");
	error = queue_repair(store, &options);
	printf("%llu renumbered, %llu set aside%s\n", (unsigned long long)report.renumbered,
	       (unsigned long long)report.set_aside, dry_run ? " (dry run: nothing is done)" : "");
	if (options.kept != NULL && !dry_run)
		printf("%llu restored%s\n", (unsigned long long)report.restored.count,
		       given->hold ? ", and held" : "");
	if (error < 0)
		command_queue_failed("repair; run it again", error);
	return error < 0 || report.set_aside > 0 ? COMMAND_FAILED : COMMAND_OK;
}

const struct command_option command_queue_repair_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--dry-run", NULL, "only tell what would be done",
	 offsetof(struct repair_options, dry_run)},
	{"--restored", NULL, "the queue is that of a backup: log each message",
	 offsetof(struct repair_options, restored)},
	{"--hold", NULL, "the same, and hold each, until it is released",
	 offsetof(struct repair_options, hold)},
	COMMAND_OPTION_END,
};

int command_queue_repair(const struct command *command, int argc, char **argv)
{
	struct repair_options options = {.dry_run = false};
	struct queue_store *store;
	struct config *config;
	int result = COMMAND_FAILED;
	int status;

	if (!command_parse_plain(command, argc, argv, &options.common, &status))
		return status;
	config = command_config(options.common.config_file);
	if (config == NULL)
		return COMMAND_FAILED;
	log_settings_apply("repair", config);
	store = options.dry_run ? command_queue_open_for_change(config)
				: command_queue_open_to_repair(config);
	if (store != NULL)
		result = repair(store, config->queue, &options);
	queue_store_close(store);
	config_free(config);
	return result;
}
