// SPDX-License-Identifier: ISC
/* stagepost upgrade - the installed version takes over from the one that runs. */
#include "base/attributes.h"
#include "command/formats.h"
#include "command/request.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum {
	UPGRADE_NOT_SO = 3,
	UPGRADE_ONE_WAY = 4,
	MORE_SECONDS = 180, /* for the rest of a stop, and the way back */
};

struct upgrade_options {
	struct command_options common;
	bool check;
	bool one_way;
};

const struct command_option command_upgrade_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--check", NULL, "only say what the version that runs could not read afterwards",
	 offsetof(struct upgrade_options, check)},
	{"--one-way", NULL, "upgrade also if the version that runs could not read it afterwards",
	 offsetof(struct upgrade_options, one_way)},
	COMMAND_OPTION_END,
};

const struct command_exit command_upgrade_exits[] = {
	{COMMAND_OK, "the installed version serves; with --check: there is a way back"},
	{COMMAND_FAILED, "it cannot, and why is printed; the version that ran before goes on"},
	{COMMAND_USAGE, "the command line is wrong"},
	{UPGRADE_NOT_SO, "nothing runs, or a version that cannot be replaced so: start it again"},
	{UPGRADE_ONE_WAY,
	 "there would be no way back, and --one-way was not given: nothing changed"},
	{0, NULL},
};

static void print_format_finding(void *context, const struct formats_finding *finding)
{
	const struct command *command = context;

	fprintf(stderr, "stagepost %s: %s: %s has format %" PRIu64 ", ", command->name,
		finding->path, finding->what, finding->found);
	if (finding->verdict == FORMATS_UNREADABLE)
		fprintf(stderr,
			"the installed version (" VERSION ") reads up to %" PRIu64
			": install a newer one, or restore a backup that is older than this "
			"format\n",
			finding->own);
	else
		fprintf(stderr,
			"the installed version (" VERSION ") changes it to %" PRIu64
			", which the version before cannot read: make a backup first "
			"(stagepost-backup(7)), which is the only way back\n",
			finding->own);
}

/* Whether the upgrade may go on; otherwise *STATUS_OUT is the exit status. */
static bool check_formats(const struct command *command, const struct config *config,
			  const struct upgrade_options *options, int *status_out)
{
	int verdict = formats_check(config, print_format_finding, (void *)(uintptr_t)command);

	if (verdict < 0) {
		fprintf(stderr,
			"stagepost %s: the formats of the queue and the directory cannot be "
			"looked at: %s; nothing was changed\n",
			command->name, strerror(-verdict));
		*status_out = COMMAND_FAILED;
	} else if (verdict == FORMATS_UNREADABLE) {
		*status_out = COMMAND_FAILED;
	} else if (verdict == FORMATS_ONE_WAY && !options->one_way) {
		*status_out = UPGRADE_ONE_WAY;
	} else {
		*status_out = COMMAND_OK;
	}
	return *status_out == COMMAND_OK && !options->check;
}

/* A version that does not know the signal, which would end it, has written no record. */
static int request_upgrade(const struct command *command, const struct config *config)
{
	const struct command_request request = {
		REQUEST_UPGRADE, "the version that ran before goes on",
		config->stop_timeout + 2 * config->upgrade_timeout + MORE_SECONDS};
	uid_t owner;
	pid_t pid = command_find_node(command, config, &owner);

	if (pid <= 0)
		return UPGRADE_NOT_SO;
	if (request_record_is_there(config->run, REQUEST_UPGRADE))
		return command_make_request(command, config, pid, owner, SIGUSR2, &request);
	fprintf(stderr,
		"stagepost %s: the version that runs cannot be replaced while it runs: "
		"start it again\n",
		command->name);
	return UPGRADE_NOT_SO;
}

int command_upgrade(const struct command *command, int argc, char **argv)
{
	struct upgrade_options options = {{NULL}};
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct config *config;
	int status;

	if (!command_parse_plain(command, argc, argv, &options.common, &status))
		return status;
	if (command_config_load(options.common.config_file, &text, &config) < 0)
		return COMMAND_FAILED;
	if (check_formats(command, config, &options, &status))
		status = request_upgrade(command, config);
	config_free(config);
	return status;
}
