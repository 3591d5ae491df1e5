// SPDX-License-Identifier: ISC
#include "filing/decode/wire.h"
#include "filing/decode/internal_text.h"
#include "ipc/pack.h"
#include "mail/address.h"

/* The end of the year 9999. */
static const int64_t DATE_MAX_US = INT64_C(253402300800) * 1000000;

/* --- out --- */

static void append_part_to_wire(struct buffer *out, const struct decode_part *part)
{
	pack_str(out, part->number);
	pack_str(out, part->type);
	pack_str(out, part->charset);
	pack_str(out, part->disposition);
	pack_str(out, part->filename);
	pack_u64(out, part->size);
	pack_str(out, str_slice((const char *)part->digest, sizeof part->digest));
}

void decode_wire_append(struct buffer *out, const struct decode_message *message)
{
	pack_str(out, message->subject);
	pack_u64(out, (uint64_t)message->date_us);
	pack_u32(out, (uint32_t)message->participant_count);
	for (size_t i = 0; i < message->participant_count; i++) {
		const struct decode_participant *participant = &message->participants[i];
		pack_u32(out, participant->role);
		pack_str(out, participant->address);
		pack_str(out, participant->name);
	}
	pack_u32(out, (uint32_t)message->part_count);
	for (size_t i = 0; i < message->part_count; i++)
		append_part_to_wire(out, &message->parts[i]);
	pack_str(out, message->problem);
}

/* --- in --- */

struct reader {
	struct unpack unpack;
	struct arena *arena;
};

static struct str read_text_from_wire(struct reader *reader, size_t length_max)
{
	struct str text = unpack_str(&reader->unpack);

	if (!decode_text_is_clean(text, length_max)) {
		reader->unpack.failed = true;
		return STR("");
	}
	return arena_copy_str(reader->arena, text);
}

/* A number of things, at most COUNT_MAX. */
static size_t read_count(struct reader *reader, uint32_t count_max)
{
	uint32_t count = unpack_u32(&reader->unpack);

	if (count > count_max)
		reader->unpack.failed = true;
	return reader->unpack.failed ? 0 : count;
}

static bool is_lower(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] >= 'A' && text.data[i] <= 'Z')
			return false;
	return true;
}

static void read_participant(struct reader *reader, struct decode_participant *participant)
{
	uint32_t role = unpack_u32(&reader->unpack);
	struct mail_address parsed;

	participant->role = role < DECODE_ROLES ? (enum decode_role)role : DECODE_FROM;
	participant->address = read_text_from_wire(reader, MAIL_ADDRESS_MAX);
	participant->name = read_text_from_wire(reader, DECODE_TEXT_MAX);
	if (role >= DECODE_ROLES ||
	    mail_address_parse(participant->address, MAIL_ADDRESS_UTF8, &parsed) < 0 ||
	    !is_lower(parsed.domain))
		reader->unpack.failed = true;
}

static bool is_part_number(struct str number)
{
	for (size_t i = 0; i < number.length; i++)
		if (memchr("0123456789.TEX", number.data[i], 14) == NULL)
			return false;
	return number.length > 0;
}

static void read_part_from_wire(struct reader *reader, struct decode_part *part)
{
	struct str digest;

	part->number = read_text_from_wire(reader, DECODE_WORD_MAX);
	part->type = read_text_from_wire(reader, DECODE_WORD_MAX);
	part->charset = read_text_from_wire(reader, DECODE_WORD_MAX);
	part->disposition = read_text_from_wire(reader, DECODE_WORD_MAX);
	part->filename = read_text_from_wire(reader, DECODE_TEXT_MAX);
	part->size = unpack_u64(&reader->unpack);
	digest = unpack_str(&reader->unpack);
	if (digest.length == sizeof part->digest)
		memcpy(part->digest, digest.data, sizeof part->digest);
	if (digest.length != sizeof part->digest || !is_part_number(part->number) ||
	    !is_lower(part->type) || !is_lower(part->charset) || !is_lower(part->disposition) ||
	    part->size > INT64_MAX)
		reader->unpack.failed = true;
}

bool decode_wire_read(struct str bytes, struct arena *arena, struct decode_message *message_out)
{
	struct reader reader = {.unpack = {bytes, false}, .arena = arena};
	struct decode_message message = {.subject = read_text_from_wire(&reader, DECODE_TEXT_MAX)};

	message.date_us = (int64_t)unpack_u64(&reader.unpack);
	if (message.date_us < -DATE_MAX_US || message.date_us > DATE_MAX_US)
		reader.unpack.failed = true;
	message.participant_count = read_count(&reader, DECODE_PARTICIPANT_MAX);
	message.participants =
		arena_alloc(reader.arena, message.participant_count * sizeof *message.participants);
	for (size_t i = 0; i < message.participant_count && !reader.unpack.failed; i++)
		read_participant(&reader, &message.participants[i]);
	message.part_count = read_count(&reader, DECODE_PART_MAX);
	message.parts = arena_alloc(reader.arena, message.part_count * sizeof *message.parts);
	for (size_t i = 0; i < message.part_count && !reader.unpack.failed; i++)
		read_part_from_wire(&reader, &message.parts[i]);
	message.problem = read_text_from_wire(&reader, DECODE_PROBLEM_MAX);
	if (!unpack_is_whole(&reader.unpack))
		return false;
	*message_out = message;
	return true;
}
