// SPDX-License-Identifier: ISC
/* stagepost trigger - shows and changes triggers. */
#include "queue/trigger.h"
#include "base/panic.h"
#include "base/table.h"
#include "base/text/json.h"
#include "command/queue/queue.h"
#include "mail/text/text.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "supervisor/talk/manager.h"
#include "supervisor/talk/manager_why.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 4096, REASON_MAX = 500 };

static const char name_rules[] = "NAME is " QUEUE_TRIGGER_NAMES ".\n";

struct known_trigger {
	char *name;
	struct str since; /* a view of TEXT */
	struct str reason;
	struct buffer text; /* of the file */
	uint64_t waiting;   /* number of messages */
	uint64_t seen_in;   /* the last message counted */
	UT_hash_handle hh;
};

struct trigger_list {
	struct queue_store *store;
	struct known_trigger *all;
	bool shows_holds;
	uint64_t holds; /* not shown */
};

static struct str record_of_trigger(const struct buffer *text, struct str name)
{
	struct str rest = buffer_view(text);
	struct str line;

	while (rest.length > 0 && str_split(&rest, '\n', &line))
		if (str_starts_with(line, name))
			return str_skip(line, name.length);
	return STR("");
}

static int add_trigger(void *context, struct str name)
{
	struct trigger_list *list = context;
	char path[QUEUE_TRIGGER_MAX + 16];
	struct known_trigger *trigger;
	ssize_t length = 0;
	int file;

	if (!list->shows_holds && queue_trigger_kind(name) == QUEUE_TRIGGER_HOLD) {
		list->holds++;
		return 0;
	}
	snprintf(path, sizeof path, "trigger/" STR_FORMAT, STR_ARGUMENTS(name));
	file = os_file_open(queue_store_directory(list->store), path, OS_FILE_READ);
	if (file == -ENOENT)
		return 0; /* released meanwhile */
	trigger = memory_alloc_zero(1, sizeof *trigger);
	trigger->name = memory_alloc(name.length + 1);
	memcpy(trigger->name, name.data, name.length);
	trigger->name[name.length] = '\0';
	if (file >= 0)
		length = os_file_read(file, buffer_reserve(&trigger->text, TEXT_MAX), TEXT_MAX, 0);
	os_file_close(file);
	if (length > 0)
		buffer_commit(&trigger->text, (size_t)length);
	trigger->since = record_of_trigger(&trigger->text, STR("since: "));
	trigger->reason = record_of_trigger(&trigger->text, STR("reason: "));
	HASH_ADD_KEYPTR(hh, list->all, trigger->name, name.length, trigger);
	return 0;
}

static void count_for(struct trigger_list *list, struct str name, uint64_t number)
{
	struct known_trigger *trigger;

	HASH_FIND(hh, list->all, name.data, name.length, trigger);
	if (trigger == NULL || trigger->seen_in == number)
		return;
	trigger->seen_in = number;
	trigger->waiting++;
}

static int count_message_of_triggers(void *context, const struct listing_entry *entry)
{
	struct trigger_list *list = context;
	char hold[LISTING_HOLD_SIZE];

	if (entry->control == NULL)
		return 0;
	if (entry->is_held)
		count_for(list, listing_hold_name(entry->control->envelope->id, hold),
			  entry->number);
	if (entry->held_until.length > 0)
		count_for(list, entry->held_until, entry->number);
	if (entry->waits_for.length > 0)
		count_for(list, entry->waits_for, entry->number);
	for (size_t i = 0; i < entry->control->delivery_count; i++)
		if (entry->control->deliveries[i].outcome == QUEUE_WAIT)
			count_for(list, entry->control->deliveries[i].trigger, entry->number);
	return 0;
}

static void print_trigger(const struct known_trigger *trigger, bool json, bool count,
			  struct buffer *out)
{
	if (json) {
		buffer_append_byte(out, '{');
		json_field_text(out, "name", str_from(trigger->name));
		json_field_text(out, "since", trigger->since);
		json_field_text(out, "reason", trigger->reason);
		if (count)
			json_field_number(out, "messages", trigger->waiting);
		buffer_append_string(out, "}\n");
		return;
	}
	buffer_append_format(out, "%-40s %-20.*s ", trigger->name, STR_ARGUMENTS(trigger->since));
	if (count)
		buffer_append_format(out, "%8llu ", (unsigned long long)trigger->waiting);
	mail_text_append(out, trigger->reason, MAIL_TEXT_ASCII);
	buffer_append_byte(out, '\n');
}

static int by_name(const struct known_trigger *a, const struct known_trigger *b)
{
	return strcmp(a->name, b->name);
}

static void print_all(struct trigger_list *list, bool json, bool count)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct known_trigger *trigger;
	struct known_trigger *next;

	HASH_SORT(list->all, by_name);
	if (!json && list->all == NULL)
		puts("Nothing is waited for");
	else if (!json)
		printf("%-40s %-20s %sreason\n", "name", "since", count ? "messages " : "");
	HASH_ITER (hh, list->all, trigger, next) {
		print_trigger(trigger, json, count, &text);
		command_queue_flush(&text);
		HASH_DELETE(hh, list->all, trigger);
		buffer_clear(&trigger->text);
		free(trigger->name);
		free(trigger);
	}
	if (!json && list->holds > 0)
		printf("%llu held by operators: \"stagepost queue list --held\"\n",
		       (unsigned long long)list->holds);
}

struct trigger_list_options {
	struct command_options common;
	bool count;
	bool holds;
};

static const struct command_option list_option_rows[] = {
	COMMAND_OPTION_CONFIG,
	{"--count", NULL,
	 "say how many messages wait for each: reads the whole queue, and asks the manager about "
	 "those that were never tried",
	 offsetof(struct trigger_list_options, count)},
	{"--holds", NULL, "list what operators hold as well",
	 offsetof(struct trigger_list_options, holds)},
	COMMAND_OPTION_JSON("one JSON object a line"),
	COMMAND_OPTION_END,
};

static int list_triggers(const struct command *command, int argc, char **argv)
{
	struct trigger_list_options options = {.count = false};
	struct manager_why why = {.run = NULL};
	const struct listing_filter everything = {
		.ask_why = manager_why_ask, .why_context = &why, .wants_triggers_only = true};
	struct trigger_list list = {0};
	struct config *config;
	int result;
	int status;

	if (!command_parse_plain(command, argc, argv, &options.common, &status))
		return status;
	list.shows_holds = options.holds;
	config = command_config(options.common.config_file);
	list.store = config != NULL ? command_queue_open_to_read(config) : NULL;
	if (list.store == NULL) {
		config_free(config);
		return COMMAND_FAILED;
	}
	why.run = config->run;
	result = queue_trigger_each(list.store, add_trigger, &list);
	if (result == 0 && options.count)
		result = listing_each(list.store, &everything, count_message_of_triggers, &list);
	queue_store_close(list.store);
	manager_why_clear(&why);
	config_free(config);
	print_all(&list, options.common.json, options.count);
	return result < 0 ? command_queue_failed("trigger", result) : COMMAND_OK;
}

/* --- wait, release --- */

static int fail_trigger_command(const struct command *command, const char *name, const char *why)
{
	fprintf(stderr, "stagepost %s: %s: %s\n", command->name, name, why);
	return COMMAND_FAILED;
}

/* If no manager runs, no process has these files in memory, so they can be changed directly. */
static int change_file(const struct command *command, const struct config *config, const char *name,
		       const struct str *reason)
{
	struct queue_store *store = command_queue_open_for_change(config);
	char path[QUEUE_TRIGGER_MAX + 16];
	struct os_file_info info;
	int error;

	if (store == NULL)
		return COMMAND_FAILED;
	snprintf(path, sizeof path, "trigger/%s", name);
	if (reason != NULL) {
		error = queue_trigger_set(store, str_from(name), os_clock_wall_us(), *reason);
	} else {
		error = os_file_info_at(queue_store_directory(store), path, &info);
		if (error == 0)
			error = queue_trigger_release(store, str_from(name));
	}
	queue_store_close(store);
	if (error == -ENOENT)
		return fail_trigger_command(command, name,
					    order_refusal(ORDER_NOTHING_WAITS).text.data);
	return error < 0 ? fail_trigger_command(command, name, strerror(-error)) : COMMAND_OK;
}

static int change_trigger(const struct command *command, const struct config *config,
			  const char *name, const struct str *reason)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer answer CLEANUP(buffer_clear) = {0};
	int result;

	buffer_append_format(&text, "%s %s", reason != NULL ? "wait" : "trigger", name);
	if (reason != NULL && reason->length > 0)
		buffer_append_format(&text, " " STR_FORMAT, STR_ARGUMENTS(*reason));
	result = manager_talk_ask(config->run, buffer_view(&text), &answer);
	if (result == 0)
		return COMMAND_OK;
	if (result == -ESRCH)
		return change_file(command, config, name, reason);
	if (result < 0)
		return fail_trigger_command(command, config->run, manager_talk_explain(result));
	buffer_append_byte(&answer, '\0');
	return fail_trigger_command(command, name, buffer_data(&answer));
}

static int begin_trigger_change(const struct command *command, int argc, char **argv,
				struct command_options *options, struct config **config_out)
{
	int status;

	if (!command_parse(command, argc, argv, options, &status))
		return status;
	if (options->first == argc)
		return command_usage(command, "a NAME is missing");
	if (!queue_trigger_name_is_valid(str_from(argv[options->first]))) {
		fprintf(stderr, "stagepost %s: \"%s\" is no name of a trigger. %s", command->name,
			argv[options->first], name_rules);
		return COMMAND_USAGE;
	}
	*config_out = command_config(options->config_file);
	return *config_out != NULL ? COMMAND_OK : COMMAND_FAILED;
}

static int run_trigger_wait(const struct command *command, int argc, char **argv)
{
	struct buffer reason CLEANUP(buffer_clear) = {0};
	struct command_options options = {NULL};
	struct config *config = NULL;
	struct str text;
	int status = begin_trigger_change(command, argc, argv, &options, &config);

	if (config == NULL)
		return status;
	for (int i = options.first + 1; i < argc; i++) {
		if (reason.length > 0)
			buffer_append_byte(&reason, ' ');
		mail_text_append(&reason, str_from(argv[i]), MAIL_TEXT_8BIT);
	}
	if (reason.length == 0)
		buffer_append_string(&reason, "asked for");
	if (reason.length > REASON_MAX)
		buffer_truncate(&reason, REASON_MAX);
	text = buffer_view(&reason);
	status = change_trigger(command, config, argv[options.first], &text);
	config_free(config);
	return status;
}

static int run_trigger_release(const struct command *command, int argc, char **argv)
{
	struct command_options options = {NULL};
	struct config *config = NULL;
	int status = begin_trigger_change(command, argc, argv, &options, &config);

	if (config == NULL)
		return status;
	status = options.first + 1 == argc
			 ? change_trigger(command, config, argv[options.first], NULL)
			 : command_usage(command, "release needs one NAME");
	config_free(config);
	return status;
}

const struct command command_trigger_subcommands[] = {
	{"trigger list", "", "Lists what is waited for, since when and why.", "", list_triggers,
	 list_option_rows, NULL, NULL},
	{"trigger wait", "NAME [REASON ...]",
	 "Makes messages that name this trigger wait until it is released.", name_rules,
	 run_trigger_wait, command_config_options, NULL, NULL},
	{"trigger release", "NAME", "Makes all messages that wait for it due at once.", name_rules,
	 run_trigger_release, command_config_options, NULL, NULL},
	{NULL},
};
