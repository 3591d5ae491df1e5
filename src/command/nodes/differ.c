// SPDX-License-Identifier: ISC
/* In what nodes differ that are to be alike. */
#include "base/text/json.h"
#include "base/text/json_read.h"
#include "base/timestamp.h"
#include "command/nodes/nodes.h"
#include "mail/text/text.h"
#include <stddef.h>
#include <stdlib.h>

/* So far may clocks be apart, and answers be under way, before it is said. */
static const int64_t CLOCK_APART_US = 10 * SECOND_US;

static const struct kind {
	const char *name; /* of the field, for people and in JSON */
	size_t offset;    /* of a struct str in struct nodes_node */
} kinds[] = {
	{"release", offsetof(struct nodes_node, release)},
	{"configuration", offsetof(struct nodes_node, configuration)},
	{"directory", offsetof(struct nodes_node, identity)},
	{"directory version", offsetof(struct nodes_node, version)},
};

static struct str value_of_kind(const struct nodes_node *node, const struct kind *kind)
{
	return *(const struct str *)(const void *)((const char *)node + kind->offset);
}

static size_t count_value(const struct nodes_picture *picture, const struct kind *kind,
			  struct str value)
{
	size_t count = 0;

	for (size_t i = 0; i < picture->count; i++)
		count += str_equal(value_of_kind(&picture->nodes[i], kind), value);
	return count;
}

/* What most nodes say; if there is no such value, that of the first. NULL: nobody says any. */
static const struct nodes_node *find_most(const struct nodes_picture *picture,
					  const struct kind *kind)
{
	const struct nodes_node *most = NULL;
	size_t most_count = 0;

	for (size_t i = 0; i < picture->count; i++) {
		struct str value = value_of_kind(&picture->nodes[i], kind);
		size_t count = value.length > 0 ? count_value(picture, kind, value) : 0;

		if (count > most_count) {
			most = &picture->nodes[i];
			most_count = count;
		}
	}
	return most;
}

/* The kinds of sections that one has and the other has not, or another one. */
static void append_other_sections(struct str one, struct str other, bool adds_equal,
				  struct buffer *out)
{
	struct json_walk walk = json_walk_begin(one);
	struct buffer name CLEANUP(buffer_clear) = {0};
	struct str quoted;
	struct str value;

	while (json_walk_next(&walk, &quoted, &value)) {
		struct str same;

		buffer_reset(&name);
		(void)json_text(quoted, &name);
		buffer_append_byte(&name, '\0');
		same = json_member(other, buffer_data(&name));
		if (adds_equal ? same.length > 0 : str_equal(same, value))
			continue;
		if (out->length > 0)
			buffer_append_byte(out, ' ');
		mail_text_append(out, str_from(buffer_data(&name)), MAIL_TEXT_ASCII);
	}
}

static struct str sections_of(const struct nodes_node *node)
{
	return json_member(json_member(node->status, "configuration"), "sections");
}

static void append_section_names(const struct nodes_node *node, const struct nodes_node *most,
				 struct buffer *out)
{
	append_other_sections(sections_of(node), sections_of(most), false, out);
	append_other_sections(sections_of(most), sections_of(node), true, out);
}

static void print_node_difference(const struct nodes_node *node, const struct nodes_node *most,
				  const struct kind *kind, bool is_json, struct buffer *out)
{
	struct buffer sections CLEANUP(buffer_clear) = {0};
	bool is_configuration = kind == &kinds[1];

	if (is_configuration)
		append_section_names(node, most, &sections);
	if (is_json) {
		buffer_append_byte(out, '{');
		json_field_text(out, "node", node->name);
		json_field_text(out, "differs_in", str_from(kind->name));
		json_field_text(out, "value", value_of_kind(node, kind));
		json_field_text(out, "others", value_of_kind(most, kind));
		if (sections.length > 0)
			json_field_text(out, "sections", buffer_view(&sections));
		buffer_append_string(out, "}\n");
		return;
	}
	mail_text_append(out, node->name, MAIL_TEXT_ASCII);
	buffer_append_format(out, ": %s ", kind->name);
	mail_text_append(out, value_of_kind(node, kind), MAIL_TEXT_ASCII);
	buffer_append_string(out, ", others ");
	mail_text_append(out, value_of_kind(most, kind), MAIL_TEXT_ASCII);
	if (sections.length > 0)
		buffer_append_format(out, " (in: " STR_FORMAT ")",
				     STR_ARGUMENTS(buffer_view(&sections)));
	buffer_append_byte(out, '\n');
}

static void print_clock(const struct nodes_node *node, bool is_json, struct buffer *out)
{
	int64_t apart_us = node->time_us - node->asked_us;
	long long seconds = llabs(apart_us) / SECOND_US;

	if (node->time_us == 0 || llabs(apart_us) < CLOCK_APART_US)
		return;
	if (is_json) {
		buffer_append_byte(out, '{');
		json_field_text(out, "node", node->name);
		json_field_text(out, "differs_in", STR("clock"));
		json_field(out, "seconds");
		buffer_append_format(out, "%s%lld}\n", apart_us < 0 ? "-" : "", seconds);
		return;
	}
	mail_text_append(out, node->name, MAIL_TEXT_ASCII);
	buffer_append_format(out, ": its clock is %lld seconds %s\n", seconds,
			     apart_us < 0 ? "slow" : "fast");
}

/* Versions of different data cannot be compared. */
static bool is_comparable(const struct nodes_node *node, const struct nodes_node *most,
			  const struct kind *kind)
{
	return kind != &kinds[COUNT_OF(kinds) - 1] || str_equal(node->identity, most->identity);
}

void nodes_print_differences(const struct nodes_picture *picture, bool is_json, struct buffer *out)
{
	for (size_t k = 0; k < COUNT_OF(kinds); k++) {
		const struct nodes_node *most = find_most(picture, &kinds[k]);

		for (size_t i = 0; most != NULL && i < picture->count; i++) {
			const struct nodes_node *node = &picture->nodes[i];
			struct str value = value_of_kind(node, &kinds[k]);

			if (node->is_shown && value.length > 0 &&
			    !str_equal(value, value_of_kind(most, &kinds[k])) &&
			    is_comparable(node, most, &kinds[k]))
				print_node_difference(node, most, &kinds[k], is_json, out);
		}
	}
	for (size_t i = 0; i < picture->count; i++)
		if (picture->nodes[i].is_shown)
			print_clock(&picture->nodes[i], is_json, out);
}
