// SPDX-License-Identifier: ISC
/* stagepost queue repair */
#include "queue/repair.h"
#include "base/text/json.h"
#include "command/queue/damage.h"
#include "command/queue/queue.h"
#include "command/queue/restored.h"
#include "mail/text/text.h"
#include "queue/cleaner.h"
#include "supervisor/start/log_settings.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct report {
	bool dry_run;
	bool is_json;
	uint64_t renumbered;
	uint64_t set_aside;
	uint64_t differing;
	bool is_restored; /* RESTORED counts */
	struct queue_restored restored;
};

static void on_repaired_message_renumbered(void *context, uint64_t old, uint64_t number)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct report *report = context;

	report->renumbered++;
	if (report->is_json) {
		buffer_append_byte(&text, '{');
		json_field_number(&text, "renumbered", old);
		json_field_number(&text, "number", number);
		buffer_append_string(&text, "}\n");
	} else {
		buffer_append_format(&text, "%llu %s %llu\n", (unsigned long long)old,
				     report->dry_run ? "would become" : "is now",
				     (unsigned long long)number);
	}
	command_queue_flush(&text);
}

static void on_damaged_file_set_aside(void *context, const char *path, const char *why)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct report *report = context;

	report->set_aside++;
	if (report->is_json) {
		buffer_append_byte(&text, '{');
		json_field_text(&text, "set_aside", str_from(path));
		json_field_text(&text, "reason", str_from(why));
		buffer_append_string(&text, "}\n");
	} else {
		buffer_append_format(&text, "%s %s damaged/: %s\n", path,
				     report->dry_run ? "would go to" : "is now in", why);
	}
	command_queue_flush(&text);
}

static void add_recipients(struct buffer *text, const struct mail_envelope *envelope)
{
	json_field(text, "recipients");
	buffer_append_byte(text, '[');
	for (size_t i = 0; i < envelope->recipient_count; i++) {
		if (i > 0)
			buffer_append_byte(text, ',');
		json_append_text(text, envelope->recipients[i].address);
	}
	buffer_append_byte(text, ']');
}

static void print_recipients(struct buffer *text, const struct mail_envelope *envelope)
{
	buffer_append_string(text, ": from <");
	mail_text_append(text, envelope->sender, MAIL_TEXT_ASCII);
	buffer_append_string(text, "> to");
	for (size_t i = 0; i < envelope->recipient_count; i++) {
		buffer_append_string(text, " <");
		mail_text_append(text, envelope->recipients[i].address, MAIL_TEXT_ASCII);
		buffer_append_byte(text, '>');
	}
}

/* Its sender and recipients are those that can be read. */
static void on_lost_message_found(void *context, const struct queue_cleaner_finding *finding)
{
	const struct mail_envelope *envelope =
		finding->control != NULL ? finding->control->envelope : NULL;
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct report *report = context;

	report->set_aside++;
	if (report->is_json) {
		buffer_append_byte(&text, '{');
		json_field_number(&text, "lost", finding->number);
		json_field_text(&text, "path", str_from(finding->path));
		json_field_text(&text, "reason", str_from(finding->why));
		if (envelope != NULL) {
			json_field_text(&text, "sender", envelope->sender);
			add_recipients(&text, envelope);
		}
		if (finding->report != 0)
			json_field_number(&text, "report", finding->report);
		buffer_append_string(&text, "}\n");
	} else {
		buffer_append_format(&text, "%llu is now in %s: %s",
				     (unsigned long long)finding->number, finding->path,
				     finding->why);
		if (envelope != NULL)
			print_recipients(&text, envelope);
		if (finding->report != 0)
			buffer_append_format(&text, "; %llu stands for it",
					     (unsigned long long)finding->report);
		buffer_append_byte(&text, '\n');
	}
	command_queue_flush(&text);
}

static void on_differs(void *context, const char *path, const struct queue_difference *difference)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct report *report = context;

	report->differing++;
	if (report->is_json) {
		buffer_append_byte(&text, '{');
		json_field(&text, "damage");
		command_damage_print_json(&text, path, difference);
		buffer_append_byte(&text, '}');
	} else {
		command_damage_print(&text, path, difference);
	}
	buffer_append_byte(&text, '\n');
	command_queue_flush(&text);
}

static void print_sum(const struct report *report)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	if (report->is_json) {
		buffer_append_byte(&text, '{');
		json_field(&text, "sum");
		buffer_append_byte(&text, '{');
		json_field_number(&text, "renumbered", report->renumbered);
		json_field_number(&text, "set_aside", report->set_aside);
		json_field_number(&text, "damage", report->differing);
		if (report->is_restored)
			json_field_number(&text, "restored", report->restored.count);
		json_field(&text, "dry_run");
		buffer_append_string(&text, report->dry_run ? "true}}\n" : "false}}\n");
	} else {
		buffer_append_format(&text, "%llu renumbered, %llu set aside%s\n",
				     (unsigned long long)report->renumbered,
				     (unsigned long long)report->set_aside,
				     report->dry_run ? " (dry run: nothing is done)" : "");
		if (report->is_restored && !report->dry_run)
			buffer_append_format(&text, "%llu restored%s\n",
					     (unsigned long long)report->restored.count,
					     report->restored.is_to_hold ? ", and held" : "");
	}
	command_queue_flush(&text);
}

static int on_kept(void *context, uint64_t old, uint64_t number)
{
	struct report *report = context;

	return queue_restored_keep(&report->restored, old, number);
}

static void on_queue_repair_progress(void *context, uint64_t count)
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

static int repair_queue(struct queue_store *store, const char *path, struct report *report)
{
	const struct queue_repair options = {
		.dry_run = report->dry_run,
		.renumbered = on_repaired_message_renumbered,
		.kept = report->is_restored ? on_kept : NULL,
		.set_aside = on_damaged_file_set_aside,
		.lost = on_lost_message_found,
		.differs = on_differs,
		.progress = on_queue_repair_progress,
		.context = report,
	};
	int error;

	if (!command_queue_lock(store, path))
		return COMMAND_FAILED;
	if (report->dry_run && !report->is_json && queue_repair_is_pending(store) > 0)
		puts("a repair was interrupted: it would be finished");
	error = queue_repair(store, &options);
	print_sum(report);
	if (error < 0)
		command_queue_failed("repair; run it again", error);
	return error < 0 || report->set_aside > 0 || report->differing > 0 ? COMMAND_FAILED
									   : COMMAND_OK;
}

const struct command_option command_queue_repair_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--dry-run", NULL, "only tell what would be done",
	 offsetof(struct repair_options, dry_run)},
	{"--restored", NULL, "the queue is that of a backup: log each message",
	 offsetof(struct repair_options, restored)},
	{"--hold", NULL, "the same, and hold each, until it is released",
	 offsetof(struct repair_options, hold)},
	COMMAND_OPTION_JSON("print JSON, one object a line"),
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
	if (store != NULL) {
		struct report report = {.dry_run = options.dry_run,
					.is_json = options.common.json,
					.is_restored = options.restored || options.hold,
					.restored = {store, options.hold, 0}};

		result = repair_queue(store, config->queue, &report);
	}
	queue_store_close(store);
	config_free(config);
	return result;
}
