// SPDX-License-Identifier: ISC
/* stagepost node - shows and changes the nodes that hand mail over to each other. */
#include "base/text/json.h"
#include "command/directory/ask.h"
#include "command/queue/drained.h"
#include "command/queue/queue.h"
#include "directory/client/nodes.h"
#include "directory/record/key.h"
#include "mail/text/text.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char TABLE[] = "node";

/* --- list --- */

struct node_list {
	struct directory_asking asking;
	struct str group; /* only these; empty: all */
	size_t count;     /* of all groups */
	size_t shown;
};

static bool is_in_group(const struct directory_record *record, struct str group)
{
	for (size_t i = 0; i < record->field_count; i++)
		if (str_equal(record->fields[i].name, STR("group")) &&
		    str_equal(record->fields[i].value, group))
			return true;
	return group.length == 0;
}

/* The field's value, or the default, which is not in the record. */
static struct str node_field(const struct directory_record *record, const char *name,
			     const char *default_value)
{
	struct str value = directory_record_field(record, name);

	return value.length > 0 ? value : str_from(default_value);
}

static void append_node_groups(const struct directory_record *record, bool is_json,
			       struct buffer *out)
{
	const char *separator = "";

	for (size_t i = 0; i < record->field_count; i++) {
		if (!str_equal(record->fields[i].name, STR("group")))
			continue;
		buffer_append_string(out, separator);
		if (is_json)
			json_append_text(out, record->fields[i].value);
		else
			mail_text_append(out, record->fields[i].value, MAIL_TEXT_8BIT);
		separator = is_json ? "," : " ";
	}
}

static void append_node_json(const struct directory_record *record, struct buffer *out)
{
	uint64_t weight = 1;

	(void)!str_to_u64(directory_record_field(record, "weight"), &weight);
	buffer_append_byte(out, '{');
	json_field_text(out, "name", record->key.name);
	json_field_text(out, "state", node_field(record, "state", "active"));
	json_field_number(out, "weight", weight);
	json_field_text(out, "address", directory_record_field(record, "address"));
	json_field(out, "groups");
	buffer_append_byte(out, '[');
	append_node_groups(record, true, out);
	buffer_append_string(out, "]}\n");
}

static void append_node_line(const struct directory_record *record, struct buffer *out)
{
	struct str state = node_field(record, "state", "active");
	struct str weight = node_field(record, "weight", "1");
	struct str address = directory_record_field(record, "address");

	buffer_append_format(out, "%-24.*s %-8.*s %6.*s %-30.*s ", STR_ARGUMENTS(record->key.name),
			     STR_ARGUMENTS(state), STR_ARGUMENTS(weight), STR_ARGUMENTS(address));
	append_node_groups(record, false, out);
	buffer_append_byte(out, '\n');
}

static void print_node(struct node_list *list, const struct directory_record *record)
{
	struct buffer out CLEANUP(buffer_clear) = {0};
	bool is_json = list->asking.options.common.json;

	list->count++;
	if (!is_in_group(record, list->group))
		return;
	if (list->shown++ == 0 && !is_json)
		printf("%-24s %-8s %6s %-30s %s\n", "name", "state", "weight", "address", "groups");
	if (is_json)
		append_node_json(record, &out);
	else
		append_node_line(record, &out);
	command_write(stdout, buffer_view(&out));
}

/* Says what the list alone does not. */
static void end_node_list(struct node_list *list)
{
	const char *name = list->asking.command->name;

	if (list->asking.status == COMMAND_DIRECTORY_UNANSWERED)
		return;
	if (list->count > DIRECTORY_NODES_MAX)
		fprintf(stderr, "stagepost %s: there are %zu nodes; only the first %d are used\n",
			name, list->count, DIRECTORY_NODES_MAX);
	if (list->group.length > 0 && list->shown == 0) {
		fprintf(stderr, "stagepost %s: no node is in group " STR_FORMAT "\n", name,
			STR_ARGUMENTS(list->group));
		list->asking.status = COMMAND_FAILED;
	}
}

static int run_node_list(const struct command *command, int argc, char **argv)
{
	struct node_list list = {.asking = {.command = command, .options.table = TABLE}};
	struct directory_asking *asking = &list.asking;
	const struct directory_record *records;
	struct bulk_pages *pages;
	size_t count;
	int result;
	int first;

	if (!directory_asking_parse(asking, argc, argv))
		return asking->status;
	first = asking->options.common.first;
	if (first + 1 < argc)
		return command_usage(command, "at most one GROUP is allowed");
	if (first < argc)
		list.group = str_from(argv[first]);
	if (!command_directory_open(asking->options.common.config_file, &asking->directory))
		return COMMAND_DIRECTORY_UNANSWERED;
	pages = bulk_pages_new(&asking->directory.server, DIRECTORY_NODE, STR(""));
	bulk_pages_hear_malformed(pages, directory_asking_malformed, asking);
	while ((result = bulk_pages_next(pages, &records, &count)) == 1)
		for (size_t i = 0; i < count; i++)
			print_node(&list, &records[i]);
	if (result < 0) {
		(void)command_directory_failed(command, &asking->directory);
		asking->status = COMMAND_DIRECTORY_UNANSWERED;
	}
	end_node_list(&list);
	bulk_pages_free(pages);
	command_directory_close(&asking->directory);
	return asking->status;
}

/* --- changes --- */

/* False: end with the status. */
static bool check_node_name(struct directory_asking *asking)
{
	struct buffer form CLEANUP(buffer_clear) = {0};

	if (directory_key_normalize(DIRECTORY_NODE, str_from(asking->key), &form) == 0)
		return true;
	asking->status = command_usage(asking->command, "NODE is not a host name of at most 64 of "
							"a-z, 0-9, - and .");
	return false;
}

static int run_node_put(const struct command *command, int argc, char **argv)
{
	struct directory_asking asking = {.command = command, .options.table = TABLE};
	struct directory_record_fields changes = {.count = 0};

	if (!directory_asking_parse_record(&asking, argc, argv, &changes) ||
	    !check_node_name(&asking))
		return asking.status;
	if (changes.count == 0)
		return command_usage(command, "a FIELD is required");
	if (!directory_asking_begin(&asking, directory_asking_changed))
		return asking.status;
	return directory_asking_merge(&asking, &changes, true);
}

/* The name of a node and nothing else; false: end with the status. */
static bool parse_node_name(struct directory_asking *asking, int argc, char **argv)
{
	if (!directory_asking_parse(asking, argc, argv))
		return false;
	if (asking->options.common.first + 1 != argc) {
		asking->status = command_usage(asking->command, "exactly one NODE is required");
		return false;
	}
	asking->key = argv[asking->options.common.first];
	return check_node_name(asking);
}

static int set_node_state(struct directory_asking *asking, const char *field)
{
	const struct directory_record_fields changes = {.fields = {str_from(field)}, .count = 1};

	if (!directory_asking_begin(asking, directory_asking_changed))
		return asking->status;
	return directory_asking_merge(asking, &changes, false);
}

/* --- draining --- */

enum { NODE_DRAIN_LEFT = 4 }; /* exit status */

static const int64_t DRAIN_TIMEOUT_US = 10 * MINUTE_US;
static const int64_t CHANGE_IS_KNOWN_US = 2 * SECOND_US; /* to all nodes, or they are away */

static int tell_node_is_drained(const struct config *config, const struct listing_left *left,
				bool json)
{
	struct buffer out CLEANUP(buffer_clear) = {0};
	bool is_drained = queue_is_drained(left);

	if (json) {
		queue_append_left_json(&out, left);
	} else {
		buffer_append_format(&out, "%s: ", config_node_name(config));
		if (is_drained)
			buffer_append_string(&out, "nothing is left");
		else
			queue_append_left(&out, left);
		if (left->messages > 0)
			buffer_append_string(&out, "; \"stagepost queue list\" says why");
		buffer_append_format(&out, "%s\n",
				     queue_is_served(config) ? "" : "; nothing runs there");
	}
	command_write(stdout, buffer_view(&out));
	return is_drained ? COMMAND_OK : NODE_DRAIN_LEFT;
}

/* The node that is drained is this machine's. */
static int wait_until_drained(const struct config *config, int64_t timeout_us, bool json)
{
	struct queue_store *store = command_queue_open_to_read(config);
	const struct queue_draining draining = {.config = config,
						.store = store,
						.timeout_us = timeout_us,
						.quiet_us = CHANGE_IS_KNOWN_US,
						.is_silent = json};
	struct listing_left left;
	int error;

	if (store == NULL)
		return COMMAND_FAILED;
	error = queue_wait_drained(&draining, &left);
	queue_store_close(store);
	return error < 0 ? command_queue_failed("drain", error)
			 : tell_node_is_drained(config, &left, json);
}

static bool is_own_node(const struct config *config, const char *name)
{
	return strcasecmp(config_node_name(config), name) == 0;
}

static int run_node_drain(const struct command *command, int argc, char **argv)
{
	struct directory_asking asking = {.command = command, .options.table = TABLE};
	int64_t timeout_us = DRAIN_TIMEOUT_US;
	struct config *config;
	int status;

	if (!parse_node_name(&asking, argc, argv))
		return asking.status;
	if (asking.options.timeout != NULL &&
	    !command_parse_time(asking.options.timeout, &timeout_us))
		return command_usage(command, "--timeout needs a time like 30s or 10m");
	status = set_node_state(&asking, "state draining");
	config = status == COMMAND_OK ? command_config(asking.options.common.config_file) : NULL;
	if (config == NULL)
		return status;
	if (is_own_node(config, asking.key))
		status = wait_until_drained(config, timeout_us, asking.options.common.json);
	config_free(config);
	return status;
}

static int run_node_activate(const struct command *command, int argc, char **argv)
{
	struct directory_asking asking = {.command = command, .options.table = TABLE};

	return parse_node_name(&asking, argc, argv) ? set_node_state(&asking, "state active")
						    : asking.status;
}

static bool may_forget_node(const struct directory_asking *asking)
{
	char answer[8] = "";

	if (asking->options.yes)
		return true;
	if (!isatty(STDIN_FILENO)) {
		fprintf(stderr,
			"stagepost %s: the record of node %s would be removed; --yes agrees to "
			"that. Nothing was changed.\n",
			asking->command->name, asking->key);
		return false;
	}
	fprintf(stderr, "The record of node %s will be removed. Go on? [y/N] ", asking->key);
	return fgets(answer, sizeof answer, stdin) != NULL && strcasecmp(answer, "y\n") == 0;
}

static int run_node_forget(const struct command *command, int argc, char **argv)
{
	struct directory_asking asking = {.command = command, .options.table = TABLE};

	if (!parse_node_name(&asking, argc, argv))
		return asking.status;
	if (!may_forget_node(&asking))
		return COMMAND_FAILED;
	if (!directory_asking_begin(&asking, directory_asking_changed))
		return asking.status;
	directory_client_remove(asking.directory.server.client, TABLE, str_from(asking.key),
				&asking.question);
	return directory_asking_end(&asking);
}

/* --- the table --- */

static const struct command_option node_list_options[] = {
	COMMAND_OPTION_CONFIG,
	COMMAND_OPTION_JSON("print an object of JSON a line"),
	COMMAND_OPTION_END,
};

static const struct command_option node_drain_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--timeout", "TIME", "wait so long at most (default: 10m; 0s: only begin)",
	 offsetof(struct directory_table_options, timeout)},
	COMMAND_OPTION_JSON("at the end an object: what is left"),
	COMMAND_OPTION_END,
};

static const struct command_option node_forget_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--yes", NULL, "remove without asking", offsetof(struct directory_table_options, yes)},
	COMMAND_OPTION_END,
};

static const struct command_exit node_list_exits[] = {
	{COMMAND_OK, "all is printed"},
	{COMMAND_FAILED, "some records are malformed, which are named; or no node is in GROUP"},
	{COMMAND_USAGE, "the command line is wrong"},
	{COMMAND_DIRECTORY_UNANSWERED,
	 "the directory does not answer; or the configuration is wrong"},
	{0, NULL},
};

static const struct command_exit node_put_exits[] = {
	{COMMAND_OK, "the change is durable"},
	{COMMAND_USAGE, "the command line is wrong"},
	{COMMAND_DIRECTORY_UNANSWERED,
	 "no answer (the change may be made yet), or not taken; or a wrong configuration"},
	{0, NULL},
};

static const struct command_exit node_drain_exits[] = {
	{COMMAND_OK, "nothing is left; of another machine's node: the change is durable"},
	{COMMAND_FAILED, "there is no such node; or what is left cannot be counted"},
	{COMMAND_USAGE, "the command line is wrong"},
	{COMMAND_DIRECTORY_UNANSWERED,
	 "no answer (the change may be made yet), or not taken; or a wrong configuration"},
	{NODE_DRAIN_LEFT, "something is left, and the draining goes on"},
	{0, NULL},
};

static const struct command_exit node_change_exits[] = {
	{COMMAND_OK, "the change is durable"},
	{COMMAND_FAILED, "there is no such node; or nobody agreed"},
	{COMMAND_USAGE, "the command line is wrong"},
	{COMMAND_DIRECTORY_UNANSWERED,
	 "no answer (the change may be made yet), or not taken; or a wrong configuration"},
	{0, NULL},
};

const struct command command_node_subcommands[] = {
	{"node list", "[GROUP]", "Lists the nodes, or those of a group.",
	 "With the state, weight, address and groups of each.\n", run_node_list, node_list_options,
	 node_list_exits, NULL},
	{"node put", "NODE FIELD ...", "Makes a node, or changes fields of one.",
	 "A FIELD is written NAME=VALUE: address=a1.example.org:627 group=core group=out "
	 "weight=2.\n"
	 "The groups that are given take the place of all before; NAME= without a value removes\n"
	 "the field. Other fields stay, also those that others change at the same time. A new\n"
	 "node needs an address.\n",
	 run_node_put, command_config_options, node_put_exits, NULL},
	{"node drain", "NODE", "Has a node take nothing new, and hand all over that it has.",
	 "Its state becomes draining: other nodes hand nothing more over to it, and what it has "
	 "goes\n"
	 "to them, with what was tried. If it is the node of this machine, the command waits "
	 "until\n"
	 "nothing is left, and shows progress; it may be interrupted and repeated.\n",
	 run_node_drain, node_drain_options, node_drain_exits, NULL},
	{"node activate", "NODE", "Ends the draining or absence of a node.",
	 "Its state becomes active again.\n", run_node_activate, command_config_options,
	 node_change_exits, NULL},
	{"node forget", "NODE", "Removes the record of a node.",
	 "Other nodes do not speak with it any more. What is on its disk stays there. At a\n"
	 "terminal it asks before.\n",
	 run_node_forget, node_forget_options, node_change_exits, NULL},
	{NULL},
};
