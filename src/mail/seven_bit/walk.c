// SPDX-License-Identifier: ISC
/* Tracks the structure of a message, RFC 2046 section 5.1, and converts each line accordingly. */
#include "base/panic.h"
#include "mail/seven_bit/internal.h"
#include <string.h>

enum { LINE_MAX_BYTES = 998 }; /* RFC 5322 section 2.1.1 */

static enum seven_bit_action action_of(const struct mail_seven_bit *message)
{
	return (enum seven_bit_action)buffer_data(&message->plan)[message->part];
}

/* Plans ACTION for the region's part, and a new label for those that contain it. */
static void plan_part_action(struct mail_seven_bit *message, enum seven_bit_action action)
{
	char *actions = buffer_data(&message->plan);

	for (size_t i = 0; i < message->depth; i++)
		actions[message->levels[i].part] = SEVEN_BIT_RELABEL;
	actions[message->part] = (char)action;
	message->is_changed = true;
}

/* What may not pass as it is; CR and LF are not those of a line end. */
static bool is_byte_to_encode(const struct mail_seven_bit *message, char byte)
{
	if (message->keeps_bodies)
		return false;
	return (unsigned char)byte > 0x7f ||
	       (message->is_binary && (byte == '\0' || byte == '\r' || byte == '\n'));
}

/* TEXT without the CRLF that ends it if IT_ENDS. */
static struct str without_end(struct str line, bool ends)
{
	return str_slice(line.data, line.length - (ends ? 2 : 0));
}

static bool has_foreign_byte(const struct mail_seven_bit *message, struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if (is_byte_to_encode(message, text.data[i]))
			return true;
	return false;
}

static void put_converted_text(struct mail_seven_bit *message, struct str text)
{
	if (message->is_scanned)
		buffer_append_str(message->out, text);
}

static void begin_part(struct mail_seven_bit *message, bool is_message, bool is_in_digest)
{
	if (message->parts == SEVEN_BIT_PARTS_MAX) {
		message->region = SEVEN_BIT_IN_OPAQUE;
		return;
	}
	message->part = message->parts++;
	message->region = SEVEN_BIT_IN_HEADER;
	if (!message->is_scanned)
		buffer_append_byte(&message->plan, SEVEN_BIT_KEEP);
	seven_bit_header_begin(&message->header, is_message, is_in_digest);
}

void seven_bit_walk_begin(struct mail_seven_bit *message)
{
	message->depth = 0;
	message->parts = 0;
	begin_part(message, true, false);
}

static void enter_level(struct mail_seven_bit *message)
{
	const struct seven_bit_header *header = &message->header;
	struct seven_bit_level *level = &message->levels[message->depth];

	if (message->depth == SEVEN_BIT_DEPTH_MAX) {
		message->region = SEVEN_BIT_IN_OPAQUE;
		return;
	}
	message->depth++;
	level->part = message->part;
	level->is_digest = header->is_digest;
	level->boundary_length = 0;
	if (header->class == SEVEN_BIT_MESSAGE) {
		begin_part(message, true, false);
		return;
	}
	level->boundary_length = header->boundary_length;
	memcpy(level->boundary, header->boundary, header->boundary_length);
	message->region = SEVEN_BIT_IN_GAP;
}

static void enter_body(struct mail_seven_bit *message)
{
	switch (message->header.class) {
	case SEVEN_BIT_MULTIPART:
	case SEVEN_BIT_MESSAGE:
		enter_level(message);
		break;
	case SEVEN_BIT_SEALED:
		message->region = SEVEN_BIT_IN_SEALED;
		break;
	case SEVEN_BIT_OPAQUE:
		message->region = SEVEN_BIT_IN_OPAQUE;
		break;
	case SEVEN_BIT_TEXT:
	case SEVEN_BIT_DATA:
		message->region = SEVEN_BIT_IN_BODY;
		message->bytes = message->foreign_bytes = message->escapes = 0;
		message->line_bytes = 0;
		message->has_line_end = true;
		break;
	}
}

static const char *encoding_after(enum seven_bit_action action)
{
	if (action == SEVEN_BIT_RELABEL)
		return "7bit";
	return action == SEVEN_BIT_QUOTE || action == SEVEN_BIT_QUOTE_REST ? "quoted-printable"
									   : "base64";
}

/* Ends the header of a part that changes. */
static void put_fields(struct mail_seven_bit *message)
{
	static const char version[] = "MIME-Version: 1.0\r\n";
	static const char type[] = "Content-Type: text/plain; charset=unknown-8bit\r\n";
	static const char name[] = "Content-Transfer-Encoding: ";
	const struct seven_bit_header *header = &message->header;
	enum seven_bit_action action = action_of(message);

	/* besides: empty lines after the headers of a part and of a message in it, and the end of
	 * its encoding */
	_Static_assert(sizeof version + sizeof type + sizeof name + sizeof "quoted-printable\r\n" +
				       2 * sizeof "\r\n" + sizeof "==\r\n" <=
			       MAIL_SEVEN_BIT_PART_ADDED,
		       "no part gets more");
	if (header->is_message && !header->has_version)
		buffer_append_string(message->out, version);
	if (!header->has_type && action != SEVEN_BIT_RELABEL)
		buffer_append_string(message->out, type);
	if (header->has_encoding || action != SEVEN_BIT_RELABEL) {
		buffer_append_string(message->out, name);
		buffer_append_string(message->out, encoding_after(action));
		buffer_append_string(message->out, "\r\n");
	}
}

/* A header may lack the empty line after it; a changed part gets one. */
static void end_converted_header(struct mail_seven_bit *message, struct str empty_line)
{
	seven_bit_field_end(message);
	seven_bit_header_end(&message->header);
	if (!message->is_scanned && message->header.is_wide && !message->keeps_bodies)
		buffer_data(&message->plan)[message->part] = SEVEN_BIT_RELABEL;
	if (message->is_scanned && action_of(message) != SEVEN_BIT_KEEP) {
		put_fields(message);
		empty_line = STR("\r\n");
	}
	put_converted_text(message, empty_line);
	enter_body(message);
}

static bool has_bare_byte(const struct mail_seven_bit *message, struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if ((unsigned char)text.data[i] <= 0x7f && is_byte_to_encode(message, text.data[i]))
			return true;
	return false;
}

static void walk_header(struct mail_seven_bit *message, struct str line, bool starts, bool ends)
{
	if (starts && str_equal(line, STR("\r\n"))) {
		end_converted_header(message, line);
	} else if (starts && !seven_bit_header_has(&message->header, line)) {
		end_converted_header(message, STR(""));
		seven_bit_walk(message, line, starts, ends);
	} else {
		/* 8-bit bytes stay there, but these would end its lines */
		message->has_opaque |= has_bare_byte(message, without_end(line, ends));
		seven_bit_header_line(&message->header, line, starts);
		if (message->header.field == SEVEN_BIT_FIELD_ENCODING && message->is_scanned &&
		    action_of(message) != SEVEN_BIT_KEEP)
			seven_bit_field_end(message);
		else
			seven_bit_field_take(message, line, starts);
	}
}

/* Whether its lines are part of what it says: those of base64 are not. */
static bool wants_lines(const struct mail_seven_bit *message)
{
	return message->is_binary && message->header.encoding != SEVEN_BIT_IS_BASE64;
}

/* A line that is too long for SMTP has bytes that may not pass. */
static void count_line(struct mail_seven_bit *message, size_t length, bool ends)
{
	message->line_bytes += length;
	if (wants_lines(message) && message->line_bytes > LINE_MAX_BYTES)
		message->foreign_bytes++;
	if (ends)
		message->line_bytes = 0;
	message->has_line_end = ends;
}

static void count_body(struct mail_seven_bit *message, struct str text)
{
	message->bytes += text.length;
	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];

		message->foreign_bytes += is_byte_to_encode(message, text.data[i]);
		message->escapes += (c < ' ' && c != '\t') || c > '~' || c == '=';
	}
}

static void walk_body(struct mail_seven_bit *message, struct str line, bool ends)
{
	struct str text = without_end(line, ends);

	if (message->is_scanned) {
		seven_bit_encode(&message->encoder, action_of(message), text, ends, message->out);
		return;
	}
	count_body(message, text);
	count_line(message, text.length, ends);
}

/* No reader shows this text: 8-bit bytes are replaced, so that no line becomes a boundary. */
static void walk_gap(struct mail_seven_bit *message, struct str line, bool starts, bool ends)
{
	struct str text = without_end(line, ends);
	bool has_foreign = has_foreign_byte(message, text);
	bool is_near_boundary = starts && str_starts_with(text, STR("--")) && has_foreign;

	if (!message->is_scanned) {
		if (has_foreign)
			plan_part_action(message, SEVEN_BIT_RELABEL);
		return;
	}
	for (size_t i = 0; i < text.length; i++) {
		bool is_kept =
			!is_byte_to_encode(message, text.data[i]) && (i > 0 || !is_near_boundary);

		buffer_append_byte(message->out, is_kept ? text.data[i] : '?');
	}
	put_converted_text(message, str_skip(line, text.length));
}

/* base64 takes four bytes for three; quoted-printable three for each escaped one. */
static enum seven_bit_action choose_action(const struct mail_seven_bit *message)
{
	if (message->header.encoding == SEVEN_BIT_IS_QUOTED)
		return SEVEN_BIT_QUOTE_REST;
	if (message->header.encoding == SEVEN_BIT_IS_BASE64)
		return SEVEN_BIT_REMOVE_NOISE;
	if (message->header.class == SEVEN_BIT_TEXT || message->escapes < message->bytes / 6)
		return SEVEN_BIT_QUOTE;
	return SEVEN_BIT_BASE64;
}

/* The last line of a binary body without an end gets none by being sent as a line, either. */
static void put_soft_end(struct mail_seven_bit *message)
{
	enum seven_bit_action action = action_of(message);
	bool is_quoted = action == SEVEN_BIT_QUOTE || action == SEVEN_BIT_QUOTE_REST;

	if (message->is_binary && is_quoted && message->encoder.column > 0)
		buffer_append_string(message->out, "=\r\n");
}

static void end_body(struct mail_seven_bit *message, bool is_delimited)
{
	if (message->region != SEVEN_BIT_IN_BODY)
		return;
	if (message->is_scanned)
		put_soft_end(message);
	if (message->is_scanned)
		seven_bit_encode_end(&message->encoder, action_of(message), is_delimited,
				     message->out);
	else if (message->foreign_bytes > 0 ||
		 (wants_lines(message) && !is_delimited && !message->has_line_end))
		plan_part_action(message, choose_action(message));
}

/* A header may end without a body. */
static void end_region(struct mail_seven_bit *message, bool is_delimited)
{
	if (message->region == SEVEN_BIT_IN_HEADER)
		seven_bit_field_end(message);
	end_body(message, is_delimited);
}

/* Whether LINE is "--BOUNDARY" or, CLOSING, "--BOUNDARY--". */
static bool is_boundary(const struct seven_bit_level *level, struct str line, bool *closing_out)
{
	struct str rest = str_skip(line, 2);

	if (level->boundary_length == 0 ||
	    !str_starts_with(rest, str_slice(level->boundary, level->boundary_length)))
		return false;
	rest = str_skip(rest, level->boundary_length);
	*closing_out = str_starts_with(rest, STR("--"));
	if (*closing_out)
		rest = str_skip(rest, 2);
	if (rest.length > 1 && memcmp(rest.data + rest.length - 2, "\r\n", 2) == 0)
		rest.length -= 2;
	return str_trim(rest).length == 0;
}

/* Handles a boundary line, which ends all parts within its part. */
static bool walk_boundary(struct mail_seven_bit *message, struct str line)
{
	bool is_closing = false;
	size_t i = message->depth;

	if (line.length + 1 >= SEVEN_BIT_LINE_SIZE || !str_starts_with(line, STR("--")))
		return false;
	while (i > 0 && !is_boundary(&message->levels[i - 1], line, &is_closing))
		i--;
	if (i == 0)
		return false;
	end_region(message, true);
	put_converted_text(message, line);
	message->depth = is_closing ? i - 1 : i;
	message->part = message->levels[i - 1].part;
	if (is_closing)
		message->region = SEVEN_BIT_IN_GAP;
	else
		begin_part(message, false, message->levels[i - 1].is_digest);
	return true;
}

void seven_bit_walk(struct mail_seven_bit *message, struct str line, bool starts, bool ends)
{
	if (starts && walk_boundary(message, line))
		return;
	switch (message->region) {
	case SEVEN_BIT_IN_HEADER:
		walk_header(message, line, starts, ends);
		break;
	case SEVEN_BIT_IN_BODY:
		walk_body(message, line, ends);
		break;
	case SEVEN_BIT_IN_GAP:
		walk_gap(message, line, starts, ends);
		break;
	case SEVEN_BIT_IN_SEALED:
		message->has_sealed |= has_foreign_byte(message, without_end(line, ends));
		put_converted_text(message, line);
		break;
	case SEVEN_BIT_IN_OPAQUE:
		message->has_opaque |= has_foreign_byte(message, without_end(line, ends));
		put_converted_text(message, line);
		break;
	}
}

void seven_bit_walk_end(struct mail_seven_bit *message)
{
	end_region(message, false);
}
