// SPDX-License-Identifier: ISC
/* stagepost node - shows and changes the nodes that hand mail over to each other. */
#include "base/text/json.h"
#include "command/directory/ask.h"
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

static int set_node_state(const struct command *command, int argc, char **argv, const char *field)
{
	struct directory_asking asking = {.command = command, .options.table = TABLE};
	const struct directory_record_fields changes = {.fields = {str_from(field)}, .count = 1};

	if (!parse_node_name(&asking, argc, argv) ||
	    !directory_asking_begin(&asking, directory_asking_changed))
		return asking.status;
	return directory_asking_merge(&asking, &changes, false);
}

static int run_node_drain(const struct command *command, int argc, char **argv)
{
	return set_node_state(command, argc, argv, "state draining");
}

static int run_node_activate(const struct command *command, int argc, char **argv)
{
	return set_node_state(command, argc, argv, "state active");
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
	{"node drain", "NODE", "Has a node take nothing new.",
	 "Its state becomes draining: other nodes hand nothing more over to it.\n", run_node_drain,
	 command_config_options, node_change_exits, NULL},
	{"node activate", "NODE", "Ends the draining or absence of a node.",
	 "Its state becomes active again.\n", run_node_activate, command_config_options,
	 node_change_exits, NULL},
	{"node forget", "NODE", "Removes the record of a node.",
	 "Other nodes do not speak with it any more. What is on its disk stays there. At a\n"
	 "terminal it asks before.\n",
	 run_node_forget, node_forget_options, node_change_exits, NULL},
	{NULL},
};
