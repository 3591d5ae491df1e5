// SPDX-License-Identifier: ISC
/* newaliases: imports alias files into the directory, like sendmail's command. */
#include "base/panic.h"
#include "command/directory/directory.h"
#include "command/directory/file.h"
#include "command/directory/teller.h"
#include "directory/record/key.h"
#include "os/process/process.h"
#include "os/stream/stream.h"
#include "queue/inject/message.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char SOURCE[] = "aliases"; /* field "source" of its records */

struct newaliases_options {
	struct command_options common;
	const char *domain;
};

const struct command_option command_newaliases_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--domain", "DOMAIN", "whose addresses the aliases are (setting default_domain)",
	 offsetof(struct newaliases_options, domain)},
	COMMAND_OPTION_END,
};

/* The size of a file. */
struct sizes {
	uint64_t aliases;
	uint64_t longest; /* bytes of addresses in the longest alias */
	uint64_t bytes;   /* of names and addresses */
};

struct newaliases_job {
	struct command_directory directory;
	struct bulk_settings settings;
	struct directory_teller teller;
	struct bulk_import *import;
	struct directory_file *files;
	size_t file_count;
};

/* --- sizes, as printed by sendmail --- */

static uint64_t size_of_alias_value(const struct directory_record *record)
{
	uint64_t size = 0;
	struct str list;
	struct str member;

	if (record->key.table == DIRECTORY_MEMBER) {
		directory_key_member(record->key.name, &list, &member);
		return member.length;
	}
	for (size_t i = 0; i < record->field_count; i++)
		if (str_equal(record->fields[i].name, STR("target")))
			size += record->fields[i].value.length + (size > 0 ? 2 : 0);
	return size;
}

/* A list is followed by its members. */
static void add_record_to_sizes(struct sizes *sizes, const struct directory_record *record,
				uint64_t *size)
{
	uint64_t added = size_of_alias_value(record);

	if (record->key.table == DIRECTORY_ADDRESS) {
		sizes->aliases++;
		sizes->bytes += record->key.name.length;
		*size = 0;
	}
	*size += added;
	sizes->bytes += added;
	if (*size > sizes->longest)
		sizes->longest = *size;
}

static int measure_alias_file(struct directory_file *file, struct sizes *sizes)
{
	struct bulk_reader *reader = NULL;
	struct bulk_entry entry;
	uint64_t size = 0;
	int result = os_stream_rewind(file->descriptor);

	if (result == 0)
		result = bulk_reader_new(file->format, file->name, file->descriptor, file->settings,
					 &reader);
	if (result < 0)
		return result;
	while ((result = bulk_reader_next(reader, &entry)) != 0) {
		if (result > 0)
			add_record_to_sizes(sizes, &entry.record, &size);
		else if (result != -EBADMSG)
			break;
	}
	bulk_reader_free(reader);
	return result;
}

/* --- errors --- */

static int file_failed(const struct directory_file *file, int error)
{
	fprintf(stderr, "newaliases: %s: %s\n", file->name, strerror(-error));
	return INJECT_NO_INPUT;
}

static int directory_failed(const struct newaliases_job *job)
{
	fprintf(stderr, "newaliases: %s\n", bulk_server_problem(&job->directory.server));
	switch (bulk_server_errno(&job->directory.server)) {
	case -ECONNREFUSED:
		return INJECT_TRY_LATER;
	case -EACCES:
		return INJECT_NO_PERMISSION;
	default:
		return INJECT_IO;
	}
}

/* --- the work --- */

static int each_alias_file(struct newaliases_job *job,
			   int (*pass)(struct bulk_import *import, struct bulk_reader *reader))
{
	for (size_t i = 0; i < job->file_count; i++) {
		int error = directory_file_pass(&job->files[i], job->import, pass);

		if (error < 0 && job->directory.server.error != DIRECTORY_ERROR_NONE)
			return directory_failed(job);
		if (error < 0)
			return file_failed(&job->files[i], error);
	}
	return INJECT_OK;
}

static int print_sizes(struct newaliases_job *job)
{
	for (size_t i = 0; i < job->file_count; i++) {
		struct sizes sizes = {0};
		int error = measure_alias_file(&job->files[i], &sizes);

		if (error < 0)
			return file_failed(&job->files[i], error);
		printf("%s: %" PRIu64 " aliases, the longest of %" PRIu64 " bytes, %" PRIu64
		       " bytes in all\n",
		       job->files[i].name, sizes.aliases, sizes.longest, sizes.bytes);
	}
	return INJECT_OK;
}

static bool was_told(const struct newaliases_job *job)
{
	return bulk_import_count(job->import, BULK_BAD) +
		       bulk_import_count(job->import, BULK_KEPT) +
		       bulk_import_count(job->import, BULK_REFUSED) >
	       0;
}

static int import_all(struct newaliases_job *job)
{
	int status = each_alias_file(job, bulk_import_check);

	if (status == INJECT_OK)
		status = each_alias_file(job, bulk_import_apply);
	if (status != INJECT_OK)
		return status;
	if (bulk_import_remove(job->import, false) < 0)
		return directory_failed(job);
	status = print_sizes(job);
	return status == INJECT_OK && was_told(job) ? INJECT_BAD_DATA : status;
}

/* Opens all files before anything is changed. */
static int open_alias_files(struct newaliases_job *job)
{
	const struct config_directory *config = &job->directory.config->directory;

	job->files = memory_alloc_zero(config->alias_count + 1, sizeof *job->files);
	for (size_t i = 0; i < config->alias_count; i++) {
		struct directory_file *file = &job->files[i];
		int error;

		*file = (struct directory_file){config->aliases[i], BULK_ALIASES, &job->settings,
						-1};
		error = directory_file_open(file);
		if (error < 0)
			return file_failed(file, error);
		job->file_count++;
	}
	return INJECT_OK;
}

static int run_newaliases(struct newaliases_job *job)
{
	const struct bulk_import_settings settings = {.mode = BULK_REPLACE,
						      .source = SOURCE,
						      .tell = directory_teller_tell,
						      .context = &job->teller};
	int status = open_alias_files(job);

	if (status == INJECT_OK) {
		job->import = bulk_import_new(&job->directory.server, &settings);
		status = import_all(job);
		bulk_import_free(job->import);
	}
	for (size_t i = 0; i < job->file_count; i++)
		directory_file_close(&job->files[i]);
	free(job->files);
	buffer_clear(&job->teller.line);
	return status;
}

/* Whether the configuration in FILE has a directory; without one there is nothing to do.
 * *STATUS_OUT: the exit status. */
static bool has_configured_directory(const char *file, int *status_out)
{
	struct command_config_fault fault = {.is_closed = false}; /* who opens it says it */
	struct config *config = command_config_in_force(file, &fault);
	bool has_one;

	*status_out = INJECT_CONFIG;
	if (config == NULL)
		fprintf(stderr, STR_FORMAT, STR_ARGUMENTS(buffer_view(&fault.text)));
	buffer_clear(&fault.text);
	if (config == NULL)
		return false;
	has_one = config->directory.backend != CONFIG_BACKEND_NONE;
	config_free(config);
	*status_out = INJECT_OK;
	return has_one;
}

int command_newaliases_run(const char *file, const char *domain)
{
	struct newaliases_job job = {.settings = {.source = SOURCE, .include = true}};
	int status;

	if (os_process_is_privileged()) {
		fputs("newaliases: not for programs that act as another user\n", stderr);
		return INJECT_NO_PERMISSION;
	}
	if (!has_configured_directory(file, &status))
		return status;
	if (!command_directory_open(file, &job.directory))
		return INJECT_CONFIG;
	job.settings.domain = domain != NULL ? domain : config_default_domain(job.directory.config);
	status = run_newaliases(&job);
	command_directory_close(&job.directory);
	return status;
}

int command_newaliases(const struct command *command, int argc, char **argv)
{
	struct newaliases_options options = {.domain = NULL};
	int status;

	if (!command_parse_plain(command, argc, argv, &options.common, &status))
		return status == COMMAND_USAGE ? INJECT_USAGE : status;
	return command_newaliases_run(options.common.config_file, options.domain);
}
