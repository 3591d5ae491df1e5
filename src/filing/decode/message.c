// SPDX-License-Identifier: ISC
#include "filing/decode/message.h"

const char *decode_role_name(enum decode_role role)
{
	static const char *const names[DECODE_ROLES] = {
		[DECODE_FROM] = "from", [DECODE_SENDER] = "sender", [DECODE_REPLY_TO] = "reply_to",
		[DECODE_TO] = "to",     [DECODE_CC] = "cc",         [DECODE_BCC] = "bcc",
	};

	return names[role];
}

static void copy_participants(const struct decode_message *message, struct arena *arena,
			      struct decode_message *out)
{
	out->participants =
		arena_alloc(arena, message->participant_count * sizeof *out->participants);
	for (size_t i = 0; i < message->participant_count; i++) {
		const struct decode_participant *from = &message->participants[i];

		out->participants[i] = (struct decode_participant){
			.role = from->role,
			.address = arena_copy_str(arena, from->address),
			.name = arena_copy_str(arena, from->name),
		};
	}
}

static void copy_parts(const struct decode_message *message, struct arena *arena,
		       struct decode_message *out)
{
	out->parts = arena_alloc(arena, message->part_count * sizeof *out->parts);
	for (size_t i = 0; i < message->part_count; i++) {
		const struct decode_part *from = &message->parts[i];
		struct decode_part *to = &out->parts[i];

		*to = *from;
		to->number = arena_copy_str(arena, from->number);
		to->type = arena_copy_str(arena, from->type);
		to->charset = arena_copy_str(arena, from->charset);
		to->disposition = arena_copy_str(arena, from->disposition);
		to->filename = arena_copy_str(arena, from->filename);
	}
}

void decode_message_copy(const struct decode_message *message, struct arena *arena,
			 struct decode_message *out)
{
	*out = *message;
	out->subject = arena_copy_str(arena, message->subject);
	out->problem = arena_copy_str(arena, message->problem);
	copy_participants(message, arena, out);
	copy_parts(message, arena, out);
}
