// SPDX-License-Identifier: ISC
/* stagepost directory export */
#include "directory/bulk/export.h"
#include "command/directory/directory.h"
#include "directory/record/key.h"
#include "mail/text/text.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct export_options {
	struct command_options common;
	const char *format;
	const char *domain;
	const char *service;
	const char *table;
};

#define EXPORT_OPTION(field) offsetof(struct export_options, field)

const struct command_option command_directory_export_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--format", "json|csv|aliases|postfix|mailboxes", "json, unless this says another",
	 EXPORT_OPTION(format)},
	{"--domain", "DOMAIN", "aliases: whose addresses are printed", EXPORT_OPTION(domain)},
	{"--service", "SERVICE",
	 "postfix, mailboxes: the service that mailboxes and domains are at; those at another have "
	 "no place there",
	 EXPORT_OPTION(service)},
	{"--table", "domain|address|member|user|server|node", "only this one",
	 EXPORT_OPTION(table)},
	COMMAND_OPTION_END,
};

static int write_exported_text(void *context, struct str text)
{
	(void)context;
	if (fwrite(text.data, 1, text.length, stdout) == text.length)
		return 0;
	return errno != 0 ? -errno : -EIO;
}

static void left_out(void *context, const struct directory_key *key, const char *why)
{
	struct buffer shown CLEANUP(buffer_clear) = {0};
	struct buffer line CLEANUP(buffer_clear) = {0};

	++*(uint64_t *)context;
	directory_key_display(key->name, &shown);
	buffer_append_format(&line, "left out: %s ", directory_table_name(key->table));
	mail_text_append(&line, buffer_view(&shown), MAIL_TEXT_8BIT);
	buffer_append_format(&line, " %s\n", why);
	command_write(stderr, buffer_view(&line));
}

static int run_export(const struct command *command, const struct bulk_export_settings *settings,
		      const char *config_file)
{
	struct command_directory directory;
	int status = COMMAND_OK;
	int error;

	if (!command_directory_open(config_file, &directory))
		return COMMAND_FAILED;
	error = bulk_export(&directory.server, settings);
	if (error < 0 && directory.server.error != DIRECTORY_ERROR_NONE) {
		status = command_directory_failed(command, &directory);
	} else if (error < 0) {
		fprintf(stderr, "stagepost %s: standard output: %s\n", command->name,
			strerror(-error));
		status = COMMAND_FAILED;
	}
	command_directory_close(&directory);
	return status;
}

int command_directory_export(const struct command *command, int argc, char **argv)
{
	struct export_options options = {.format = "json"};
	struct bulk_settings record;
	struct bulk_export_settings settings = {.record = &record};
	uint64_t left_out_count = 0;
	int status;

	if (!command_parse_plain(command, argc, argv, &options.common, &status))
		return status;
	record = (struct bulk_settings){.domain = options.domain, .service = options.service};
	settings.format = bulk_format_find(str_from(options.format));
	settings.write = write_exported_text;
	settings.left_out = left_out;
	settings.context = &left_out_count;
	if (options.table != NULL)
		settings.table = directory_table_find(str_from(options.table));
	if (settings.format == BULK_FORMATS)
		return command_usage(command,
				     command_directory_no_format("there is no such format"));
	if (options.table != NULL && settings.table == DIRECTORY_NO_TABLE)
		return command_usage(command, command_directory_no_table());
	if (settings.format == BULK_ALIASES && options.domain == NULL)
		return command_usage(command, "aliases are those of a --domain");
	status = run_export(command, &settings, options.common.config_file);
	return status == COMMAND_OK && left_out_count > 0 ? COMMAND_FAILED : status;
}
