// SPDX-License-Identifier: ISC
#include "decode_text.h"

static void append_or_dash(struct buffer *out, struct str text)
{
	buffer_append_byte(out, ' ');
	buffer_append_str(out, text.length > 0 ? text : STR("-"));
}

static void append_part(struct buffer *out, const struct decode_part *part)
{
	buffer_append_string(out, "part");
	append_or_dash(out, part->number);
	append_or_dash(out, part->type);
	append_or_dash(out, part->charset);
	append_or_dash(out, part->disposition);
	buffer_append_format(out, " %llu", (unsigned long long)part->size);
	append_or_dash(out, part->filename);
	buffer_append_byte(out, '\n');
}

void decode_text_append(struct buffer *out, const struct decode_message *message)
{
	if (message->subject.length > 0)
		buffer_append_format(out, "subject " STR_FORMAT "\n",
				     STR_ARGUMENTS(message->subject));
	if (message->date_us != 0)
		buffer_append_format(out, "date %lld\n", (long long)(message->date_us / 1000000));
	for (size_t i = 0; i < message->participant_count; i++) {
		const struct decode_participant *participant = &message->participants[i];

		buffer_append_format(out, "%s <" STR_FORMAT "> " STR_FORMAT "\n",
				     decode_role_name(participant->role),
				     STR_ARGUMENTS(participant->address),
				     STR_ARGUMENTS(participant->name));
	}
	for (size_t i = 0; i < message->part_count; i++)
		append_part(out, &message->parts[i]);
	if (message->problem.length > 0)
		buffer_append_format(out, "problem " STR_FORMAT "\n",
				     STR_ARGUMENTS(message->problem));
}
