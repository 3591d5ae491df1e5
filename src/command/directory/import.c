// SPDX-License-Identifier: ISC
/* stagepost directory import */
#include "base/panic.h"
#include "base/text/json.h"
#include "command/directory/directory.h"
#include "command/directory/file.h"
#include "command/directory/teller.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct import_options {
	struct command_options common;
	const char *format;
	const char *domain;
	const char *service;
	const char *source;
	const char *table;
	bool include;
	bool dry_run;
	bool partial;
	bool update;
	bool replace;
	bool yes;
};

#define IMPORT_OPTION(field) offsetof(struct import_options, field)

const struct command_option command_directory_import_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--format", "json|csv|aliases|postfix|mailboxes",
	 "what FILE is, where its name does not say it", IMPORT_OPTION(format)},
	{"--domain", "DOMAIN", "of names that have none", IMPORT_OPTION(domain)},
	{"--service", "SERVICE", "of mailboxes and domains that name none", IMPORT_OPTION(service)},
	{"--source", "NAME",
	 "mark addresses as made by NAME, and leave those that others have made alone",
	 IMPORT_OPTION(source)},
	{"--table", "domain|address|member|user|server", "of lines that name none, in json and csv",
	 IMPORT_OPTION(table)},
	{"--include", NULL, "read the files that :include: names in aliases",
	 IMPORT_OPTION(include)},
	{"--dry-run", NULL, "say what would be done, field by field, and change nothing",
	 IMPORT_OPTION(dry_run)},
	{"--partial", NULL, "import the others when lines are wrong", IMPORT_OPTION(partial)},
	{"--update", NULL,
	 "set the fields that FILE names in records that are there; their other fields stay",
	 IMPORT_OPTION(update)},
	{"--replace", NULL,
	 "replace records that are there, and then remove what FILE does not have: from the "
	 "tables that it has records of, or with --source what is of that source",
	 IMPORT_OPTION(replace)},
	{"--yes", NULL, "remove without asking", IMPORT_OPTION(yes)},
	COMMAND_OPTION_JSON("print what is done, or would be, and the sums, as JSON: an object a "
			    "line"),
	COMMAND_OPTION_END,
};

struct import_job {
	const struct command *command;
	const struct import_options *options;
	struct command_directory directory;
	struct directory_file file;
	struct directory_teller teller;
	struct bulk_import *import;
};

static bool ends_with(const char *name, const char *suffix)
{
	return str_ends_with_nocase(str_from(name), str_from(suffix));
}

/* Guesses from the file's name; BULK_FORMATS if that is impossible. */
static enum bulk_format guess_format(const char *file)
{
	const char *slash = strrchr(file, '/');

	if (ends_with(file, ".json") || ends_with(file, ".jsonl"))
		return BULK_JSON;
	if (ends_with(file, ".csv"))
		return BULK_CSV;
	if (strncmp(slash != NULL ? slash + 1 : file, "aliases", strlen("aliases")) == 0)
		return BULK_ALIASES;
	return BULK_FORMATS;
}

static int read_failed(struct import_job *job, int error)
{
	directory_teller_end_progress(&job->teller);
	fprintf(stderr, "stagepost %s: %s: %s\n", job->command->name, job->file.name,
		strerror(-error));
	return COMMAND_FAILED;
}

/* A pass over the file or the directory has ended with ERROR. */
static int pass_failed(struct import_job *job, int error)
{
	directory_teller_end_progress(&job->teller);
	if (job->directory.server.error == DIRECTORY_ERROR_NONE)
		return read_failed(job, error);
	return command_directory_failed(job->command, &job->directory);
}

static uint64_t count_of_import_event(const struct import_job *job, enum bulk_event event)
{
	return bulk_import_count(job->import, event);
}

/* The number of records that would be removed; -errno. */
static int64_t count_removals(struct import_job *job)
{
	int error;

	job->teller.is_quiet = true;
	error = bulk_import_remove(job->import, true);
	job->teller.is_quiet = false;
	return error < 0 ? error : (int64_t)count_of_import_event(job, BULK_REMOVED);
}

static bool is_agreed(struct import_job *job, int64_t removals)
{
	char answer[8] = "";

	if (removals == 0 || job->options->yes)
		return true;
	if (strcmp(job->file.name, "-") == 0 || !isatty(STDIN_FILENO)) {
		fprintf(stderr,
			"stagepost %s: %" PRId64 " records that %s does not have would be removed; "
			"--yes agrees to that. Nothing was changed.\n",
			job->command->name, removals, job->file.name);
		return false;
	}
	fprintf(stderr, "%" PRId64 " records that %s does not have will be removed. Go on? [y/N] ",
		removals, job->file.name);
	return fgets(answer, sizeof answer, stdin) != NULL && strcasecmp(answer, "y\n") == 0;
}

static uint64_t count_wrong(const struct import_job *job)
{
	return count_of_import_event(job, BULK_BAD) + count_of_import_event(job, BULK_REFUSED);
}

static void print_json_summary(const struct import_job *job)
{
	static const struct {
		const char *name;
		enum bulk_event event;
	} counts[] = {
		{"added", BULK_ADDED}, {"changed", BULK_CHANGED},   {"removed", BULK_REMOVED},
		{"same", BULK_SAME},   {"different", BULK_DIFFERS}, {"kept", BULK_KEPT},
	};
	struct buffer out CLEANUP(buffer_clear) = {0};

	buffer_append_byte(&out, '{');
	json_field_text(&out, "event", STR("sum"));
	json_field(&out, "dry_run");
	buffer_append_string(&out, job->options->dry_run ? "true" : "false");
	for (size_t i = 0; i < COUNT_OF(counts); i++)
		json_field_number(&out, counts[i].name,
				  count_of_import_event(job, counts[i].event));
	json_field_number(&out, "wrong", count_wrong(job));
	buffer_append_string(&out, "}\n");
	command_write(stdout, buffer_view(&out));
}

static void print_summary(const struct import_job *job)
{
	const char *would = job->options->dry_run ? "would be " : "";

	if (job->options->common.json) {
		print_json_summary(job);
		return;
	}
	printf("%s%" PRIu64 " added, %" PRIu64 " changed, %" PRIu64 " removed; %" PRIu64
	       " the same",
	       would, count_of_import_event(job, BULK_ADDED),
	       count_of_import_event(job, BULK_CHANGED), count_of_import_event(job, BULK_REMOVED),
	       count_of_import_event(job, BULK_SAME));
	if (count_of_import_event(job, BULK_DIFFERS) > 0)
		printf(", %" PRIu64 " different and left as they are (see --update)",
		       count_of_import_event(job, BULK_DIFFERS));
	if (count_of_import_event(job, BULK_KEPT) > 0)
		printf(", %" PRIu64 " left as others made them",
		       count_of_import_event(job, BULK_KEPT));
	if (count_wrong(job) > 0)
		printf(", %" PRIu64 " wrong", count_wrong(job));
	putchar('\n');
}

static int refuse_file(const struct import_job *job)
{
	fprintf(stderr,
		"stagepost %s: %" PRIu64 " lines are wrong, nothing was changed; --partial imports "
		"the others\n",
		job->command->name, count_of_import_event(job, BULK_BAD));
	return COMMAND_FAILED;
}

static int apply_import(struct import_job *job)
{
	int error = directory_file_pass(&job->file, job->import, bulk_import_apply);

	if (error == 0 && job->options->replace)
		error = bulk_import_remove(job->import, job->options->dry_run);
	if (error < 0)
		return pass_failed(job, error);
	directory_teller_end_progress(&job->teller);
	print_summary(job);
	return count_wrong(job) + count_of_import_event(job, BULK_KEPT) +
				       count_of_import_event(job, BULK_DIFFERS) >
			       0
		       ? COMMAND_FAILED
		       : COMMAND_OK;
}

static int check_and_apply(struct import_job *job)
{
	const struct import_options *options = job->options;
	int64_t removals = 0;
	int error = directory_file_pass(&job->file, job->import, bulk_import_check);

	if (error < 0)
		return read_failed(job, error);
	directory_teller_end_progress(&job->teller);
	if (count_of_import_event(job, BULK_BAD) > 0 && !options->partial && !options->dry_run)
		return refuse_file(job);
	if (options->replace && !options->dry_run && !options->yes) {
		removals = count_removals(job);
		if (removals < 0)
			return pass_failed(job, (int)removals);
		if (!is_agreed(job, removals))
			return COMMAND_FAILED;
		bulk_import_forget(job->import, BULK_REMOVED);
	}
	return apply_import(job);
}

static int run_import(struct import_job *job)
{
	const struct bulk_import_settings settings = {
		.mode = job->options->update    ? BULK_UPDATE
			: job->options->replace ? BULK_REPLACE
						: BULK_ADD,
		.source = job->options->source,
		.dry_run = job->options->dry_run,
		.tell = directory_teller_tell,
		.progress = directory_teller_progress,
		.context = &job->teller,
	};
	int error = directory_file_open(&job->file);
	int status;

	if (error < 0)
		return read_failed(job, error);
	job->import = bulk_import_new(&job->directory.server, &settings);
	status = check_and_apply(job);
	bulk_import_free(job->import);
	directory_file_close(&job->file);
	buffer_clear(&job->teller.line);
	return status;
}

/* What is wrong with the options; NULL: they are valid. */
static const char *check_options(const struct import_options *options, enum bulk_format format)
{
	if (format == BULK_FORMATS)
		return command_directory_no_format(options->format != NULL
							   ? "there is no such format"
							   : "--format has to say what FILE is");
	if (options->table != NULL &&
	    directory_table_find(str_from(options->table)) == DIRECTORY_NO_TABLE)
		return command_directory_no_table();
	if (options->update && options->replace)
		return "--update keeps what --replace drops: only one of them is allowed";
	if (options->yes && !options->replace)
		return "--yes goes with --replace";
	return NULL;
}

int command_directory_import(const struct command *command, int argc, char **argv)
{
	struct import_options options = {.format = NULL};
	struct bulk_settings settings;
	struct import_job job = {.command = command, .options = &options};
	const char *problem;
	int status;

	if (!command_parse(command, argc, argv, &options.common, &status))
		return status;
	if (options.common.first + 1 != argc)
		return command_usage(command, options.common.first == argc ? "a FILE is missing"
									   : "one FILE at a time");
	settings = (struct bulk_settings){options.domain, options.service, options.source,
					  options.table, options.include};
	job.file = (struct directory_file){
		.name = argv[options.common.first], .settings = &settings, .descriptor = -1};
	job.file.format = options.format != NULL ? bulk_format_find(str_from(options.format))
						 : guess_format(job.file.name);
	problem = check_options(&options, job.file.format);
	if (problem != NULL)
		return command_usage(command, problem);
	job.teller.dry_run = options.dry_run;
	job.teller.json = options.common.json;
	job.teller.shows_progress = isatty(STDERR_FILENO) && !options.dry_run;
	if (!command_directory_open(options.common.config_file, &job.directory))
		return COMMAND_FAILED;
	status = run_import(&job);
	command_directory_close(&job.directory);
	return status;
}
