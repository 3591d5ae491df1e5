// SPDX-License-Identifier: ISC
/* stagepost nodes - all nodes in one picture. */
#include "command/nodes/nodes.h"
#include "os/clock.h"
#include "supervisor/talk/manager.h"
#include "supervisor/talk/nodes.h"
#include <errno.h>
#include <stdio.h>

const struct command_option command_nodes_options[] = {
	COMMAND_OPTION_CONFIG,
	COMMAND_OPTION_JSON("print an object of JSON a line: what each node says, and each "
			    "difference"),
	COMMAND_OPTION_END,
};

const struct command_exit command_nodes_exits[] = {
	{COMMAND_OK, "all of these nodes have answered"},
	{COMMAND_FAILED, "some have not, or there is no such node; or none could be asked"},
	{COMMAND_USAGE, "the command line is wrong"},
	{0, NULL},
};

/* Those that are named are shown; false: one is not there, which is said. */
static bool choose_nodes(struct nodes_picture *picture, char **names)
{
	bool are_all_there = true;

	for (size_t i = 0; names[0] != NULL && i < picture->count; i++)
		picture->nodes[i].is_shown = false;
	for (; *names != NULL; names++) {
		bool is_there = false;

		for (size_t i = 0; i < picture->count; i++) {
			if (!str_equal(picture->nodes[i].name, str_from(*names)))
				continue;
			picture->nodes[i].is_shown = is_there = true;
		}
		if (!is_there)
			fprintf(stderr, "stagepost nodes: there is no node %s\n", *names);
		are_all_there &= is_there;
	}
	return are_all_there;
}

static bool have_all_answered(const struct nodes_picture *picture)
{
	for (size_t i = 0; i < picture->count; i++)
		if (picture->nodes[i].is_shown &&
		    (picture->nodes[i].status.length == 0 || picture->nodes[i].problem.length > 0))
			return false;
	return true;
}

static int print_picture(struct nodes_picture *picture, int64_t now_us, bool is_json, char **names)
{
	struct buffer out CLEANUP(buffer_clear) = {0};
	bool is_whole = choose_nodes(picture, names);

	if (is_json)
		nodes_print_json(picture, &out);
	else
		nodes_print_table(picture, now_us, &out);
	nodes_print_differences(picture, is_json, &out);
	command_write(stdout, buffer_view(&out));
	if (picture->problem.length > 0)
		fprintf(stderr, "stagepost nodes: " STR_FORMAT "\n",
			STR_ARGUMENTS(picture->problem));
	return is_whole && picture->problem.length == 0 && have_all_answered(picture)
		       ? COMMAND_OK
		       : COMMAND_FAILED;
}

int command_nodes(const struct command *command, int argc, char **argv)
{
	struct buffer answers CLEANUP(buffer_clear) = {0};
	struct buffer reason CLEANUP(buffer_clear) = {0};
	struct command_options options = {NULL};
	struct nodes_picture picture = {.count = 0};
	struct config *config;
	int64_t now_us;
	int result;
	int status;

	if (!command_parse(command, argc, argv, &options, &status))
		return status;
	config = command_config(options.config_file);
	if (config == NULL)
		return COMMAND_FAILED;
	result = nodes_talk_ask(config->run, STR(""), &answers, &reason);
	config_free(config);
	now_us = os_clock_wall_us();
	if (result == 0 && !nodes_picture_read(buffer_view(&answers), now_us, &picture))
		result = -EPROTO;
	if (result < 0)
		buffer_append_string(&reason, manager_talk_explain(result));
	if (result == 0)
		status = print_picture(&picture, now_us, options.json, argv + options.first);
	else
		fprintf(stderr, "stagepost nodes: " STR_FORMAT "\n",
			STR_ARGUMENTS(buffer_view(&reason)));
	nodes_picture_clear(&picture);
	return result == 0 ? status : COMMAND_FAILED;
}
