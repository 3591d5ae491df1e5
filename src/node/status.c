// SPDX-License-Identifier: ISC
#include "node/status.h"
#include "base/checksum.h"
#include "base/text/json.h"
#include "config/text.h"
#include "node/stream.h"
#include "os/clock.h"

struct versions {
	struct buffer *out;
	uint32_t all; /* the checksum of all of these */
};

static void add_section_version(void *context, const char *section, uint32_t checksum)
{
	struct versions *versions = context;

	versions->all = checksum_extend(versions->all, section, str_from(section).length);
	versions->all = checksum_extend(versions->all, &checksum, sizeof checksum);
	json_field(versions->out, *section != '\0' ? section : "settings");
	buffer_append_format(versions->out, "\"%08x\"", checksum);
}

static void write_configuration(const struct config *config, struct buffer *out)
{
	struct versions versions = {.out = out};

	json_field(out, "configuration");
	buffer_append_byte(out, '{');
	json_field(out, "sections");
	buffer_append_byte(out, '{');
	config_each_checksum(config, add_section_version, &versions);
	buffer_append_byte(out, '}');
	json_field(out, "version");
	buffer_append_format(out, "\"%08x\"}", versions.all);
}

static void write_directory(const struct directory_nodes *nodes, struct buffer *out)
{
	json_field(out, "directory");
	buffer_append_byte(out, '{');
	json_field_text(out, "identity", directory_nodes_identity(nodes));
	json_field_number(out, "version", directory_nodes_version(nodes));
	json_field(out, "answers");
	buffer_append_string(out, directory_nodes_is_up(nodes) ? "true}" : "false}");
}

static void write_record(const struct directory_node *node, struct buffer *out)
{
	static const char *const states[] = {
		[DIRECTORY_NODE_ACTIVE] = "active",
		[DIRECTORY_NODE_DRAINING] = "draining",
		[DIRECTORY_NODE_AWAY] = "away",
	};

	if (node == NULL)
		return;
	json_field(out, "record");
	buffer_append_byte(out, '{');
	json_field_text(out, "state", str_from(states[node->state]));
	json_field_number(out, "weight", node->weight);
	json_field(out, "groups");
	buffer_append_byte(out, '[');
	for (size_t i = 0; i < node->group_count; i++) {
		buffer_append_string(out, i > 0 ? "," : "");
		json_append_text(out, str_from(node->groups[i]));
	}
	buffer_append_string(out, "]}");
}

void node_status_write(const struct config *config, const struct directory_nodes *nodes,
		       struct str queue, const char *problem, struct buffer *out)
{
	enum { ROOM_FOR_PROBLEM = 256 };
	size_t before = out->length;

	buffer_append_byte(out, '{');
	json_field_text(out, "release", STR(VERSION));
	json_field_time(out, "time", os_clock_wall_us());
	write_configuration(config, out);
	write_directory(nodes, out);
	write_record(directory_nodes_find(nodes, str_from(config_node_name(config))), out);
	if (out->length - before + queue.length + ROOM_FOR_PROBLEM > NODE_STATUS_MAX) {
		queue = STR("");
		problem = "what is known of the queue is too long";
	}
	if (queue.length > 0) {
		json_field(out, "queue");
		buffer_append_str(out, queue);
	} else {
		json_field_text(out, "problem", str_from(problem));
	}
	buffer_append_byte(out, '}');
}
