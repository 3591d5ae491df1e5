// SPDX-License-Identifier: ISC
/* directory-command - does the work of "stagepost directory repair". */
#include "base/text/json.h"
#include "command/directory/directory.h"
#include "directory/store/sqlite/repair.h"
#include "log/event.h"
#include "mail/text/text.h"
#include "os/loop.h"
#include "os/process/process.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct report {
	const struct command *command;
	bool is_json;
	struct buffer out;
};

static void flush_repair_report(struct report *report)
{
	command_write(stdout, buffer_view(&report->out));
	buffer_reset(&report->out);
}

static void on_damaged_record(void *context, struct str table, struct str key, const char *why)
{
	struct report *report = context;
	struct buffer *out = &report->out;

	if (report->is_json) {
		buffer_append_byte(out, '{');
		json_field_text(out, "table", table);
		json_field_text(out, "key", key);
		json_field_text(out, "problem", str_from(why));
		buffer_append_string(out, "}\n");
	} else {
		mail_text_append(out, table, MAIL_TEXT_8BIT);
		buffer_append_byte(out, ' ');
		mail_text_append(out, key, MAIL_TEXT_8BIT);
		buffer_append_format(out, ": %s\n", why);
	}
	flush_repair_report(report);
}

static void print_directory_repair_json(struct report *report,
					const struct store_sqlite_repair *repair)
{
	struct buffer *out = &report->out;

	buffer_append_byte(out, '{');
	json_field_number(out, "good", repair->good);
	json_field_number(out, "damaged", repair->lost_count);
	json_field(out, "unnamed");
	buffer_append_string(out, repair->has_unnamed ? "true" : "false");
	json_field_text(out, "problem", buffer_view(&repair->problem));
	json_field_text(out, "kept", buffer_view(&repair->kept));
	buffer_append_string(out, "}\n");
	flush_repair_report(report);
}

static void print_next(const struct store_sqlite_repair *repair)
{
	if (repair->state == STORE_SQLITE_WHOLE)
		return;
	if (!repair->applies)
		puts("nothing was changed (use --apply)");
	else if (repair->state == STORE_SQLITE_UNREADABLE)
		puts("put back a copy of the file; or run \"stagepost directory accept\", and put\n"
		     "the records in again");
	else if (!repair->has_identity)
		puts("it is known as other data: run \"stagepost directory accept\"");
	else if (repair->lost_count > 0 || repair->has_unnamed)
		puts("put in again what is lost");
}

static void print_directory_repair_text(const struct store_sqlite_repair *repair)
{
	if (repair->problem.length > 0)
		printf("the file: " STR_FORMAT "\n", STR_ARGUMENTS(buffer_view(&repair->problem)));
	printf("%" PRIu64 " records are good, %" PRIu64 " are damaged\n", repair->good,
	       repair->lost_count);
	if (repair->has_unnamed)
		puts("more may be lost, whose names cannot be read");
	if (repair->kept.length > 0)
		printf("the damaged file is now " STR_FORMAT "\n",
		       STR_ARGUMENTS(buffer_view(&repair->kept)));
	print_next(repair);
}

static int repair_directory_file(struct report *report, const char *path, bool applies)
{
	struct store_sqlite_repair repair = {
		.applies = applies, .lost = on_damaged_record, .context = report};
	struct os_loop *loop = os_loop_new();
	struct buffer why CLEANUP(buffer_clear) = {0};
	int error = store_sqlite_repair(loop, path, &repair, &why);

	if (error < 0)
		fprintf(stderr, "stagepost %s: " STR_FORMAT "\n", report->command->name,
			STR_ARGUMENTS(buffer_view(&why)));
	else if (report->is_json)
		print_directory_repair_json(report, &repair);
	else
		print_directory_repair_text(&repair);
	os_loop_free(loop);
	buffer_clear(&repair.problem);
	buffer_clear(&repair.kept);
	if (error < 0 || repair.lost_count > 0 || repair.has_unnamed ||
	    repair.state == STORE_SQLITE_UNREADABLE)
		return COMMAND_FAILED;
	return applies || repair.state == STORE_SQLITE_WHOLE ? COMMAND_OK : COMMAND_FAILED;
}

/* The file of this configuration, or NULL, after an error message. */
static const char *path_of_directory_file(const struct command *command,
					  const struct config *config)
{
	const struct config_directory *directory = &config->directory;

	if (directory->backend == CONFIG_BACKEND_SQLITE)
		return directory->path;
	fprintf(stderr, "stagepost %s: %s\n", command->name,
		directory->backend == CONFIG_BACKEND_LDAP
			? "the file is a copy of what LDAP has: stop the node and remove it, and "
			  "it "
			  "is loaded anew"
			: "the directory of this configuration has no SQLite file");
	return NULL;
}

/* Root becomes the user whose the file is: what root would make there, nobody else could use. */
static bool become_owner_of_directory_file(const struct command *command,
					   const struct config *config)
{
	const char *name = config_process_user(config, "directory");
	struct os_process_user user = {0};
	int error;

	os_process_private_mask();
	if (!os_process_is_root() || *name == '\0')
		return true;
	error = os_process_user_find(name, &user);
	if (error == 0)
		error = os_process_become(&user);
	if (error < 0)
		fprintf(stderr, "stagepost %s: user %s: %s\n", command->name, name,
			error == -ENOENT ? "there is none" : strerror(-error));
	return error == 0;
}

static int run_directory_repair(const struct command *command, int argc, char **argv)
{
	struct command_directory_repair_options options = {.applies = false};
	struct report report = {.command = command};
	struct config *config;
	const char *path;
	int status;

	if (!command_parse_plain(command, argc, argv, &options.common, &status))
		return status;
	config = command_config(options.common.config_file);
	if (config == NULL)
		return COMMAND_FAILED;
	report.is_json = options.common.json;
	log_open("stagepost", LOG_ERROR_LEVEL);
	path = path_of_directory_file(command, config);
	status = COMMAND_FAILED;
	if (path != NULL && become_owner_of_directory_file(command, config))
		status = repair_directory_file(&report, path, options.applies);
	buffer_clear(&report.out);
	config_free(config);
	return status;
}

int main(int argc, char **argv)
{
	os_process_ignore_pipe_signal();
	for (const struct command *row = command_directory_subcommands; row->name != NULL; row++)
		if (row->run == command_directory_repair)
			return command_check_output(run_directory_repair(row, argc, argv));
	return COMMAND_FAILED;
}
