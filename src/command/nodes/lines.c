// SPDX-License-Identifier: ISC
/* What all nodes know of a message: lines of their logs. */
#include "base/text/json_read.h"
#include "command/nodes/nodes.h"
#include "mail/text/text.h"
#include "os/clock.h"
#include "supervisor/talk/manager.h"
#include "supervisor/talk/nodes.h"
#include <errno.h>
#include <stdio.h>

static void complain_about_node(const struct command *command, struct str node, struct str reason)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	mail_text_append(&text, node, MAIL_TEXT_ASCII);
	buffer_append_string(&text, ": ");
	mail_text_append(&text, reason, MAIL_TEXT_ASCII);
	fprintf(stderr, "stagepost %s: " STR_FORMAT "\n", command->name,
		STR_ARGUMENTS(buffer_view(&text)));
}

/* False: it does not know all, which is said. */
static bool append_lines_of_node(const struct command *command, const struct nodes_node *node,
				 struct buffer *lines)
{
	struct str message = json_member(json_member(node->status, "queue"), "message");
	struct json_walk walk = json_walk_begin(json_member(message, "lines"));
	struct str name;
	struct str value;

	if (node->status.length == 0 || node->problem.length > 0 || message.length == 0) {
		complain_about_node(command, node->name,
				    node->reason.length > 0    ? node->reason
				    : node->problem.length > 0 ? node->problem
							       : STR("it does not answer that"));
		return false;
	}
	while (json_walk_next(&walk, &name, &value)) {
		struct buffer line CLEANUP(buffer_clear) = {0};

		if (!json_text(value, &line) || str_has_control(buffer_view(&line)))
			continue;
		buffer_append_format(lines, STR_FORMAT " ", STR_ARGUMENTS(node->name));
		buffer_append_str(lines, buffer_view(&line));
		buffer_append_byte(lines, '\n');
	}
	if (str_equal(json_member(message, "searched"), STR("true")))
		return true;
	complain_about_node(command, node->name,
			    STR("its queue is too large to be searched in time; ask again"));
	return false;
}

int nodes_lines_fetch(const struct command *command, const char *run, struct str id,
		      struct buffer *lines)
{
	struct buffer answers CLEANUP(buffer_clear) = {0};
	struct buffer reason CLEANUP(buffer_clear) = {0};
	struct nodes_picture picture = {.count = 0};
	int result = nodes_talk_ask(run, id, &answers, &reason);
	bool is_whole;

	if (result == 0 && !nodes_picture_read(buffer_view(&answers), os_clock_wall_us(), &picture))
		result = -EPROTO;
	if (result < 0)
		buffer_append_string(&reason, manager_talk_explain(result));
	is_whole = result == 0;
	for (size_t i = 0; i < picture.count; i++)
		is_whole &= append_lines_of_node(command, &picture.nodes[i], lines);
	if (picture.problem.length > 0)
		buffer_append_str(&reason, picture.problem);
	if (reason.length > 0)
		fprintf(stderr, "stagepost %s: " STR_FORMAT "\n", command->name,
			STR_ARGUMENTS(buffer_view(&reason)));
	nodes_picture_clear(&picture);
	return is_whole && reason.length == 0 ? COMMAND_OK : COMMAND_FAILED;
}
