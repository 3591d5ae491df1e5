// SPDX-License-Identifier: ISC
/* stagepost mailbox repair. */
#include "filing/repair.h"
#include "base/panic.h"
#include "base/text/json.h"
#include "command/mailbox/mailbox_command.h"
#include "command/mailbox/mailboxes.h"
#include "deliver/mailbox/open.h"
#include "filing/decode/apart.h"
#include "filing/record/sqlite/rebuild.h"
#include "filing/user.h"
#include "os/clock.h"
#include "os/process/process.h"
#include "supervisor/start/program_directory.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct repair_task {
	const struct command *command;
	struct command_mailbox_options options;
	struct config *config;
	struct filing_repair repair;
	struct mailstore **stores; /* of config->services[i]; NULL: not opened yet */
	char decoder[OS_PROCESS_PATH_SIZE + sizeof "/decode"];
	uint64_t counts[FILING_REPAIR_KINDS];
	uint64_t left; /* differences */
	int64_t progress_us;
	bool has_progress; /* a line of it is on the terminal */
	bool is_broken_off;
	struct buffer out;
};

/* ---- what is printed ---- */

static void flush_repair_findings(struct repair_task *task)
{
	if (task->has_progress)
		fputc('\n', stderr);
	task->has_progress = false;
	mailbox_command_print(&task->out);
	buffer_truncate(&task->out, 0);
}

static void on_mailbox_repair_progress(void *context, uint64_t rows)
{
	struct repair_task *task = context;
	int64_t now_us = os_clock_monotonic_us();
	bool is_terminal = isatty(STDERR_FILENO);

	if (now_us - task->progress_us < SECOND_US)
		return;
	task->progress_us = now_us;
	task->has_progress = is_terminal;
	fprintf(stderr, is_terminal ? "\r%" PRIu64 " compared " : "%" PRIu64 " compared\n", rows);
	fflush(stderr);
}

static void append_repair_finding_json(struct buffer *out,
				       const struct filing_repair_finding *finding)
{
	buffer_append_byte(out, '{');
	json_field_text(out, "difference", str_from(filing_repair_name(finding->kind)));
	json_field_text(out, "user", finding->mailbox->user);
	json_field_text(out, "folder", finding->mailbox->folder);
	json_field_text(out, "message_id", finding->id);
	json_field_text(out, "copy", str_from(finding->copy));
	json_field_text(out, "text", str_from(finding->text));
	json_field(out, "repaired");
	buffer_append_string(out, finding->is_repaired ? "true}\n" : "false}\n");
}

static void append_repair_finding_text(struct buffer *out,
				       const struct filing_repair_finding *finding)
{
	buffer_append_format(
		out, "%s: " STR_FORMAT " " STR_FORMAT, filing_repair_name(finding->kind),
		STR_ARGUMENTS(finding->mailbox->user), STR_ARGUMENTS(finding->mailbox->folder));
	if (finding->id.length > 0)
		buffer_append_format(out, " " STR_FORMAT, STR_ARGUMENTS(finding->id));
	if (*finding->copy != '\0')
		buffer_append_format(out, " %s", finding->copy);
	if (*finding->text != '\0')
		buffer_append_format(out, ": %s", finding->text);
	buffer_append_string(out, finding->is_repaired ? ": repaired\n" : "\n");
}

static void on_repair_finding(void *context, const struct filing_repair_finding *finding)
{
	struct repair_task *task = context;

	task->counts[finding->kind]++;
	if (!finding->is_repaired && finding->kind != FILING_REPAIR_RECENT)
		task->left++;
	if (task->options.common.json)
		append_repair_finding_json(&task->out, finding);
	else
		append_repair_finding_text(&task->out, finding);
	flush_repair_findings(task);
}

static void print_counts(struct repair_task *task)
{
	struct buffer *out = &task->out;

	if (task->options.common.json) {
		buffer_append_byte(out, '{');
		json_field_number(out, "compared", task->repair.rows);
		for (unsigned i = 0; i < FILING_REPAIR_KINDS; i++)
			json_field_number(out, filing_repair_name(i), task->counts[i]);
		json_field_number(out, "left", task->left);
		buffer_append_string(out, "}\n");
	} else {
		buffer_append_format(out, "%" PRIu64 " compared", task->repair.rows);
		for (unsigned i = 0; i < FILING_REPAIR_KINDS; i++)
			if (task->counts[i] > 0)
				buffer_append_format(out, ", %" PRIu64 " %s", task->counts[i],
						     filing_repair_name(i));
		buffer_append_string(out, task->left == 0 || task->repair.applies
						  ? "\n"
						  : "; nothing was changed (use --apply)\n");
	}
	flush_repair_findings(task);
}

/* ---- what is looked into ---- */

static struct mailstore *store_for(void *context, const struct record_mailbox *mailbox,
				   const char **why_out)
{
	struct repair_task *task = context;
	const struct config_service *service =
		mailbox_command_service(task->config, task->options.service, mailbox->user);
	struct mailstore **store;
	int error;

	*why_out = "it is not known which service has this mailbox; use -s";
	if (service == NULL || !config_service_records(service))
		return NULL;
	store = &task->stores[service - task->config->services];
	if (*store != NULL)
		return *store;
	error = mailbox_store_new(task->config, service, store);
	*why_out = strerror(-error);
	return error == 0 ? *store : NULL;
}

static void decode_repaired_message(void *context, const struct ipc_content *content,
				    struct arena *arena, struct decode_message *out)
{
	const struct repair_task *task = context;

	decode_apart(task->decoder, content, arena, out);
}

/* The folders that copies go to, also if the record does not know them any more. */
static void add_usual(struct repair_task *task, struct mailbox_list *list, struct str user)
{
	const struct config_service *service =
		mailbox_command_service(task->config, task->options.service, user);

	if (service == NULL || !config_service_records(service))
		return;
	mailbox_list_add(list, &(struct record_mailbox){user, str_from(service->folder)});
	mailbox_list_add(list, &(struct record_mailbox){user, str_from(service->sent_folder)});
}

/* Those of which the record may have nothing any more. */
static void add_found(struct repair_task *task, struct mailbox_list *list)
{
	const char *name = task->options.service;

	for (size_t i = 0; i < task->config->service_count; i++) {
		const struct config_service *service = &task->config->services[i];

		if (service->kind == CONFIG_SERVICE_MAILBOX &&
		    (name == NULL || strcmp(service->name, name) == 0))
			mailbox_list_walk(list, service->path);
	}
}

static int add_all_mailboxes(struct repair_task *task, struct mailbox_list *list)
{
	struct record_mailbox only = {.user = STR("")};
	struct arena *arena = arena_new();
	int error = 0;

	if (task->options.recipient != NULL)
		error = filing_user(str_from(task->options.recipient), arena, &only.user, NULL,
				    NULL);
	if (error == 0 && only.user.length > 0)
		add_usual(task, list, only.user);
	if (error == 0) /* a new file has all mailboxes, whichever one was named */
		error = mailbox_list_read(list, task->repair.record,
					  task->options.rebuilds ? STR("") : only.user);
	if (task->options.rebuilds)
		add_found(task, list);
	for (size_t i = 0, count = list->count; i < count && error == 0; i++)
		add_usual(task, list, list->mailboxes[i].user);
	arena_free(arena);
	return error;
}

static int compare_all_mailboxes(struct repair_task *task)
{
	struct mailbox_list list = {.table = NULL};
	int error = add_all_mailboxes(task, &list);

	for (size_t i = 0; i < list.count && error == 0; i++)
		error = filing_repair_mailbox(&task->repair, &list.mailboxes[i]);
	mailbox_list_clear(&list);
	task->is_broken_off = error != 0;
	if (error == 0) {
		print_counts(task);
		return task->left == 0 ? COMMAND_OK : COMMAND_FAILED;
	}
	flush_repair_findings(task);
	fprintf(stderr, "stagepost %s: %s\n", task->command->name,
		*record_error(task->repair.record) != '\0' ? record_error(task->repair.record)
							   : strerror(-error));
	return COMMAND_FAILED;
}

static int find_decoder(struct repair_task *task)
{
	int error = program_directory_find(task->decoder);

	if (error == 0)
		strcat(task->decoder, "/decode");
	else
		fprintf(stderr, "stagepost %s: the program decode: %s\n", task->command->name,
			strerror(-error));
	return error;
}

/* ---- a new record ---- */

static int say_why(const struct repair_task *task, const struct buffer *why)
{
	fprintf(stderr, "stagepost %s: " STR_FORMAT "\n", task->command->name,
		STR_ARGUMENTS(buffer_view(why)));
	return COMMAND_FAILED;
}

static void print_rebuild(struct repair_task *task, const char *problem, uint64_t messages,
			  const struct buffer *kept)
{
	struct buffer *out = &task->out;

	if (task->options.common.json) {
		buffer_append_byte(out, '{');
		json_field_text(out, "problem", str_from(problem));
		json_field_number(out, "saved", messages);
		json_field_text(out, "kept", buffer_view(kept));
		buffer_append_string(out, "}\n");
	} else {
		buffer_append_format(out, "the record: %s\n", problem);
		if (!task->options.applies)
			buffer_append_string(out, "nothing was changed (use --apply)\n");
		else
			buffer_append_format(out, "%" PRIu64 " messages of it can be read\n",
					     messages);
		if (kept->length > 0)
			buffer_append_format(out, "the damaged file is now " STR_FORMAT "\n",
					     STR_ARGUMENTS(buffer_view(kept)));
	}
	flush_repair_findings(task);
}

/* Compares the new file with the mailboxes before anybody else sees it. */
static int fill_rebuilt(struct repair_task *task, struct record_rebuild *rebuild,
			struct buffer *why)
{
	const char *problem = record_rebuild_problem(rebuild);
	struct buffer kept CLEANUP(buffer_clear) = {0};
	uint64_t messages = 0;
	int status;

	if (!task->options.applies) {
		print_rebuild(task, problem, 0, &kept);
		return COMMAND_FAILED;
	}
	record_free(task->repair.record);
	task->repair.record = NULL;
	if (record_rebuild_make(rebuild, &task->repair.record, &messages, why) < 0)
		return say_why(task, why);
	status = compare_all_mailboxes(task);
	if (task->is_broken_off)
		return status;
	record_free(task->repair.record);
	task->repair.record = NULL;
	if (record_rebuild_finish(rebuild, &kept, why) < 0)
		return say_why(task, why);
	print_rebuild(task, problem, messages, &kept);
	return status;
}

static int rebuild_record(struct repair_task *task)
{
	struct buffer why CLEANUP(buffer_clear) = {0};
	struct record_rebuild *made = NULL;
	int status;

	if (task->config->record.backend != CONFIG_RECORD_SQLITE) {
		buffer_append_string(&why, "--rebuild: the record is no SQLite file; restore the "
					   "database, and compare it without this option");
		return say_why(task, &why);
	}
	if (record_rebuild_new(task->config->record.path, &made, &why) < 0)
		return say_why(task, &why);
	if (*record_rebuild_problem(made) != '\0') {
		status = fill_rebuilt(task, made, &why);
		record_rebuild_free(made);
		return status;
	}
	record_rebuild_free(made);
	return compare_all_mailboxes(task);
}

static int run_mailbox_repair(struct repair_task *task)
{
	int status;

	if (find_decoder(task) != 0)
		return COMMAND_FAILED;
	task->stores = memory_alloc_zero(task->config->service_count + 1, sizeof *task->stores);
	task->repair = (struct filing_repair){
		.record = mailbox_record_new(task->config),
		.applies = task->options.applies,
		.forgets = task->options.forgets,
		.lock_us = task->config->record.lock_timeout * (int64_t)SECOND_US,
		.store = store_for,
		.decode = decode_repaired_message,
		.found = on_repair_finding,
		.progress = on_mailbox_repair_progress,
		.context = task,
	};
	status = task->options.rebuilds ? rebuild_record(task) : compare_all_mailboxes(task);
	for (size_t i = 0; i < task->config->service_count; i++)
		mailstore_free(task->stores[i]);
	free(task->stores);
	record_free(task->repair.record);
	buffer_clear(&task->out);
	return status;
}

/* False, after a message: -r names what cannot be a mailbox, or -s no service that has some. */
static bool are_words_valid(const struct repair_task *task)
{
	const char *name = task->options.service;
	const char *user = task->options.recipient;
	const struct config_service *service =
		config_service_find(task->config, str_from(name != NULL ? name : ""));
	struct arena *arena = arena_new();
	struct str ignored;
	int error = user != NULL ? filing_user(str_from(user), arena, &ignored, NULL, NULL) : 0;

	arena_free(arena);
	if (error < 0)
		fprintf(stderr, "stagepost %s: -r: \"%s\" cannot have a mailbox; allowed: %s\n",
			task->command->name, user, "LOCAL@DOMAIN");
	else if (name != NULL && (service == NULL || !config_service_records(service)))
		fprintf(stderr, "stagepost %s: " MAILBOX_COMMAND_NO_SERVICE "\n",
			task->command->name, name);
	else
		return true;
	return false;
}

int mailbox_command_repair(const struct command *command, int argc, char **argv)
{
	struct repair_task task = {.command = command, .progress_us = os_clock_monotonic_us()};
	int status;

	if (!command_parse_plain(command, argc, argv, &task.options.common, &status))
		return status;
	task.config = mailbox_command_config(command, &task.options.common);
	if (task.config == NULL)
		return COMMAND_FAILED;
	os_process_private_mask();
	status = are_words_valid(&task) ? run_mailbox_repair(&task) : COMMAND_USAGE;
	config_free(task.config);
	return status;
}
