// SPDX-License-Identifier: ISC
#include "command/queue/damage.h"
#include "base/text/json.h"
#include <inttypes.h>
#include <stdio.h>

static const char *what_it_is(enum queue_part part)
{
	static const char *const names[] = {
		[QUEUE_PART_DATA] = "the data",
		[QUEUE_PART_ENVELOPE] = "the envelope",
		[QUEUE_PART_RECORD] = "the record",
		[QUEUE_PART_TRAILER] = "the last line, which says where the envelope begins,",
		[QUEUE_PART_ID] = "the envelope of another message or place",
	};

	return names[part];
}

void command_damage_print(struct buffer *out, const char *path,
			  const struct queue_difference *difference)
{
	buffer_append_format(out, "%s: %s", path, what_it_is(difference->part));
	if (difference->line > 0)
		buffer_append_format(out, "%s line %u,",
				     difference->part == QUEUE_PART_RECORD ? " in" : ", damaged at",
				     difference->line);
	buffer_append_format(out, " %" PRIu64 " bytes from byte %" PRIu64, difference->length,
			     difference->at);
	if (difference->has_expected)
		buffer_append_format(out, ", checksum %08" PRIx32 " expected",
				     difference->expected);
	if (difference->has_expected && difference->has_found)
		buffer_append_format(out, ", %08" PRIx32 " found", difference->found);
	else if (difference->has_expected)
		buffer_append_string(out, ", too few bytes found");
}

static void add_checksum_json(struct buffer *out, const char *name, bool is_known,
			      uint32_t checksum)
{
	char text[sizeof "00000000"];

	if (!is_known)
		return;
	snprintf(text, sizeof text, "%08" PRIx32, checksum);
	json_field_text(out, name, str_from(text));
}

void command_damage_print_json(struct buffer *out, const char *path,
			       const struct queue_difference *difference)
{
	buffer_append_byte(out, '{');
	json_field_text(out, "path", str_from(path));
	json_field_text(out, "part", str_from(queue_part_name(difference->part)));
	if (difference->line > 0)
		json_field_number(out, "line", difference->line);
	json_field_number(out, "at", difference->at);
	json_field_number(out, "length", difference->length);
	add_checksum_json(out, "expected", difference->has_expected, difference->expected);
	add_checksum_json(out, "found", difference->has_found, difference->found);
	buffer_append_byte(out, '}');
}
