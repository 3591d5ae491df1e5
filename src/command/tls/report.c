// SPDX-License-Identifier: ISC
/* stagepost tls-report - what is counted for reports of how TLS went. */
#include "base/panic.h"
#include "base/text/json.h"
#include "command/command.h"
#include "mail/host.h"
#include "os/file/file.h"
#include "policy/tlsrpt/count.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DAY_LENGTH = 10 }; /* "2026-11-25.example.org" */

const struct command_option command_tls_report_options[] = {
	COMMAND_OPTION_CONFIG,
	COMMAND_OPTION_JSON("print an object of JSON for each domain and day"),
	COMMAND_OPTION_END,
};

const struct command_exit command_tls_report_exits[] = {
	{COMMAND_OK, "it was printed"},
	{COMMAND_FAILED, "the results cannot be read"},
	{COMMAND_USAGE, "the command line is wrong"},
	{0, NULL},
};

struct listing {
	int directory;
	bool is_json;
	struct buffer out;
};

static void append_report_day(struct listing *listing, struct str name,
			      const struct tlsrpt_day *day)
{
	struct tlsrpt_totals totals = tlsrpt_day_totals(day);
	struct str date = str_slice(name.data, DAY_LENGTH);
	struct str domain = str_skip(name, DAY_LENGTH + 1);
	struct buffer *out = &listing->out;

	if (!listing->is_json) {
		buffer_append_format(
			out, STR_FORMAT " " STR_FORMAT " successes=%llu failures=%llu\n",
			STR_ARGUMENTS(date), STR_ARGUMENTS(domain),
			(unsigned long long)totals.successes, (unsigned long long)totals.failures);
		return;
	}
	buffer_append_byte(out, '{');
	json_field_text(out, "day", date);
	json_field_text(out, "domain", domain);
	json_field_number(out, "successes", totals.successes);
	json_field_number(out, "failures", totals.failures);
	buffer_append_string(out, "}\n");
}

/* A name as the process "policy" gives them; no other is shown to whoever runs this. */
static bool is_result(struct str name)
{
	for (size_t i = 0; i < name.length && i < DAY_LENGTH; i++)
		if (name.data[i] != '-' && (name.data[i] < '0' || name.data[i] > '9'))
			return false;
	return name.length > DAY_LENGTH && name.data[DAY_LENGTH] == '.' &&
	       mail_host_is_name(str_skip(name, DAY_LENGTH + 1));
}

/* 0 or -errno. A file that is being removed, or is damaged, is left out. */
static int read_report_of_day(void *context, const char *name)
{
	struct listing *listing = context;
	struct tlsrpt_day *day = NULL;
	char *text;
	ssize_t length;
	int file;

	if (!is_result(str_from(name)))
		return 0;
	file = os_file_open(listing->directory, name,
			    OS_FILE_READ | OS_FILE_NO_FOLLOW | OS_FILE_NO_BLOCK);
	if (file == -ENOENT)
		return 0;
	if (file < 0)
		return file;
	text = memory_alloc(TLSRPT_DAY_FILE_MAX + 1);
	length = os_file_read(file, text, TLSRPT_DAY_FILE_MAX + 1, 0);
	os_file_close(file);
	if (length > 0)
		day = tlsrpt_day_parse(str_slice(text, (size_t)length));
	if (day != NULL)
		append_report_day(listing, str_from(name), day);
	tlsrpt_day_free(day);
	free(text);
	return length < 0 ? (int)length : 0;
}

static int list_tls_reports(const struct config *config, struct listing *listing)
{
	struct buffer path CLEANUP(buffer_clear) = {0};
	int error;

	buffer_append_format(&path, "%s/tls-reports", config->policy_path);
	buffer_append_byte(&path, '\0');
	listing->directory = os_file_open_directory(OS_FILE_HERE, buffer_data(&path));
	if (listing->directory == -ENOENT)
		return COMMAND_OK; /* nothing was ever counted */
	error = listing->directory;
	if (error >= 0) {
		error = os_file_list(listing->directory, ".", read_report_of_day, listing);
		os_file_close(listing->directory);
	}
	if (error >= 0)
		return COMMAND_OK;
	fprintf(stderr, "stagepost tls-report: %s: %s\n", buffer_data(&path), strerror(-error));
	return COMMAND_FAILED;
}

int command_tls_report(const struct command *command, int argc, char **argv)
{
	struct command_options options = {NULL};
	struct listing listing = {0};
	struct config *config;
	int status;

	if (!command_parse(command, argc, argv, &options, &status))
		return status;
	if (argc != options.first)
		return command_usage(command, "there are no arguments");
	config = command_config(options.config_file);
	if (config == NULL)
		return COMMAND_FAILED;
	listing.is_json = options.json;
	status = list_tls_reports(config, &listing);
	command_write(stdout, buffer_view(&listing.out));
	buffer_clear(&listing.out);
	config_free(config);
	return status;
}
