// SPDX-License-Identifier: ISC
/* What each node says, for people and as JSON. */
#include "base/text/json.h"
#include "base/text/json_read.h"
#include "base/timestamp.h"
#include "command/nodes/nodes.h"
#include "mail/text/text.h"
#include <inttypes.h>
#include <stdio.h>

enum { TRIGGERS_SHOWN = 10 }; /* of each node */

static uint64_t number_in(struct str object, const char *name)
{
	uint64_t number = 0;

	(void)json_number(json_member(object, name), &number);
	return number;
}

/* TEXT to the left of WIDTH columns, and a space. */
static void append_column(struct str text, size_t width, struct buffer *out)
{
	size_t before = out->length;

	mail_text_append(out, text, MAIL_TEXT_ASCII);
	do
		buffer_append_byte(out, ' ');
	while (out->length - before <= width);
}

static void append_figure(struct str object, const char *name, int width, struct buffer *out)
{
	if (json_member(object, name).length > 0)
		buffer_append_format(out, "%*" PRIu64 " ", width, number_in(object, name));
	else
		buffer_append_format(out, "%*s ", width, "?");
}

/* "3d", "12m" */
static void append_age(struct str queue, int64_t now_us, struct buffer *out)
{
	static const struct {
		int64_t seconds;
		char letter;
	} units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
	struct buffer text CLEANUP(buffer_clear) = {0};
	char age[24] = "-";
	int64_t oldest_us;

	if (json_text(json_member(queue, "oldest"), &text) &&
	    timestamp_parse(buffer_view(&text), &oldest_us)) {
		int64_t seconds = oldest_us < now_us ? (now_us - oldest_us) / SECOND_US : 0;
		size_t unit = 0;

		while (unit + 1 < COUNT_OF(units) && seconds < 2 * units[unit].seconds)
			unit++;
		snprintf(age, sizeof age, "%" PRId64 "%c", seconds / units[unit].seconds,
			 units[unit].letter);
	}
	buffer_append_format(out, "%6s ", age);
}

static void append_node_row(const struct nodes_node *node, int64_t now_us, struct buffer *out)
{
	struct str queue = json_member(node->status, "queue");
	struct str rates = json_member(queue, "last_minute");

	append_column(node->name, 24, out);
	if (node->status.length == 0) {
		mail_text_append(out, node->reason, MAIL_TEXT_ASCII);
		buffer_append_byte(out, '\n');
		return;
	}
	append_column(node->state.length > 0 ? node->state : STR("unlisted"), 8, out);
	if (node->problem.length > 0) {
		mail_text_append(out, node->problem, MAIL_TEXT_ASCII);
		buffer_append_byte(out, '\n');
		return;
	}
	append_figure(queue, "messages", 9, out);
	append_age(queue, now_us, out);
	append_figure(rates, "taken", 9, out);
	append_figure(rates, "delivered", 9, out);
	append_figure(rates, "handed_over", 7, out);
	append_figure(rates, "deferred", 8, out);
	append_figure(rates, "failed", 6, out);
	buffer_truncate(out, out->length - 1);
	buffer_append_byte(out, '\n');
}

static void append_places_of_node(const struct nodes_node *node, struct buffer *out)
{
	struct json_walk walk =
		json_walk_begin(json_member(json_member(node->status, "queue"), "places"));
	struct str name;
	struct str place;
	const char *before = " ";

	if (walk.rest.length == 0 || walk.rest.data[0] == ']')
		return;
	append_column(node->name, 24, out);
	buffer_append_string(out, "has");
	while (json_walk_next(&walk, &name, &place)) {
		struct buffer text CLEANUP(buffer_clear) = {0};

		(void)json_text(json_member(place, "name"), &text);
		buffer_append_format(out, "%s%" PRIu64 " ", before, number_in(place, "messages"));
		mail_text_append(out, buffer_view(&text), MAIL_TEXT_ASCII);
		before = ", ";
	}
	buffer_append_byte(out, '\n');
}

static void append_triggers_of_node(const struct nodes_node *node, struct buffer *out)
{
	struct str queue = json_member(node->status, "queue");
	struct json_walk walk = json_walk_begin(json_member(queue, "triggers"));
	uint64_t count = number_in(queue, "trigger_count");
	struct str name;
	struct str trigger;
	unsigned shown = 0;

	for (; shown < TRIGGERS_SHOWN && json_walk_next(&walk, &name, &trigger); shown++) {
		struct buffer text CLEANUP(buffer_clear) = {0};

		append_column(node->name, 24, out);
		(void)json_text(json_member(trigger, "name"), &text);
		buffer_append_string(out, "waits for ");
		append_column(buffer_view(&text), 32, out);
		buffer_append_format(out, "%" PRIu64 " messages\n", number_in(trigger, "messages"));
	}
	if (count <= shown)
		return;
	append_column(node->name, 24, out);
	buffer_append_format(out, "waits for %" PRIu64 " more: \"stagepost trigger list\" there\n",
			     count - shown);
}

void nodes_print_table(const struct nodes_picture *picture, int64_t now_us, struct buffer *out)
{
	buffer_append_format(out, "%-24s %-8s %9s %6s %9s %9s %7s %8s %6s\n", "node", "state",
			     "messages", "oldest", "taken/min", "delivered", "handed", "deferred",
			     "failed");
	for (size_t i = 0; i < picture->count; i++)
		if (picture->nodes[i].is_shown)
			append_node_row(&picture->nodes[i], now_us, out);
	for (size_t i = 0; i < picture->count; i++) {
		if (!picture->nodes[i].is_shown)
			continue;
		append_places_of_node(&picture->nodes[i], out);
		append_triggers_of_node(&picture->nodes[i], out);
	}
}

void nodes_print_json(const struct nodes_picture *picture, struct buffer *out)
{
	for (size_t i = 0; i < picture->count; i++) {
		const struct nodes_node *node = &picture->nodes[i];

		if (!node->is_shown)
			continue;
		buffer_append_byte(out, '{');
		json_field_text(out, "node", node->name);
		if (node->status.length > 0) {
			json_field(out, "status");
			buffer_append_str(out, node->status);
		} else {
			json_field_text(out, "reason", node->reason);
		}
		buffer_append_string(out, "}\n");
	}
}
