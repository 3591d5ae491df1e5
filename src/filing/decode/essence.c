// SPDX-License-Identifier: ISC
/* What the author of a content wrote (filing/decode/internal.h): a machine over its lines. */
#include "filing/decode/identity.h"
#include "filing/decode/internal.h"

enum { RETURNS_BLOCK = 256 };

/* Fields that are left out, and those that are handed up. */
static const struct field {
	struct str name;
	bool is_trace;
	bool is_told;
} essence_fields[] = {
	{STR("received"), true, false},       {STR("return-path"), true, false},
	{STR("x-original-to"), true, false},  {STR("delivered-to"), true, true},
	{STR("message-id"), false, true},     {STR("from"), false, true},
	{STR("auto-submitted"), false, true}, {STR("list-id"), false, true},
	{STR("precedence"), false, true},     {STR("x-stagepost-loop"), true, false},
};

enum line {
	LINE_UNDECIDED,
	LINE_CONTINUES, /* the field before */
	LINE_FIELD,
	LINE_MBOX, /* "From " */
	LINE_BODY, /* belongs to the body, or ends the header */
};

/* What line begins with START. */
static enum line kind_of_line(const struct decode_essence *essence, struct str start)
{
	size_t name = 0;
	size_t colon;

	if (start.data[0] == ' ' || start.data[0] == '\t')
		return essence->has_field ? LINE_CONTINUES : LINE_BODY;
	while (name < start.length && start.data[name] > ' ' && start.data[name] < 0x7f &&
	       start.data[name] != ':')
		name++;
	colon = name;
	while (colon < start.length && (start.data[colon] == ' ' || start.data[colon] == '\t'))
		colon++;
	if (colon > HEADER_NAME_MAX)
		return LINE_BODY;
	if (colon == start.length)
		return LINE_UNDECIDED;
	if (name > 0 && start.data[colon] == ':')
		return LINE_FIELD;
	return !essence->has_line && str_starts_with(start, STR("From ")) ? LINE_MBOX : LINE_BODY;
}

static const struct field *find_field(struct str name)
{
	for (size_t i = 0; i < COUNT_OF(essence_fields); i++)
		if (str_equal_nocase(name, essence_fields[i].name))
			return &essence_fields[i];
	return NULL;
}

/* Bytes of the header, of the field that was begun. */
static void pass_header(struct decode_essence *essence, struct str text)
{
	size_t room = essence->kept.length < DECODE_HEADER_MAX
			      ? DECODE_HEADER_MAX - essence->kept.length
			      : 0;

	if (essence->is_kept)
		buffer_append(&essence->kept, text.data, text.length < room ? text.length : room);
	if (essence->is_received)
		essence->handler->received(essence->context, text);
	if (essence->is_trace)
		return;
	essence->written += text.length;
	essence->handler->wrote(essence->context, text);
}

static void end_essence_field(struct decode_essence *essence)
{
	struct header_field field;
	struct buffer *kept = &essence->kept;

	if (essence->is_kept) {
		if (kept->length > 0 && buffer_data(kept)[kept->length - 1] == '\n')
			buffer_truncate(kept, kept->length - 1);
		buffer_append(kept, "\r\n", 2);
		if (header_field_parse(buffer_view(kept), &field))
			essence->handler->field(essence->context, &field);
	}
	buffer_reset(kept);
	essence->is_kept = false;
	essence->is_trace = false;
	essence->is_received = false;
	essence->has_field = false;
}

static void begin_essence_field(struct decode_essence *essence, struct str start)
{
	struct header_field parsed;
	const struct field *field;
	unsigned kind;

	end_essence_field(essence);
	essence->has_field = true;
	if (!header_field_parse(start, &parsed))
		return;
	essence->is_kept = essence->written < DECODE_HEADER_MAX &&
			   essence->handler->wants != NULL &&
			   essence->handler->wants(essence->context, parsed.name);
	field = find_field(parsed.name);
	if (field == NULL)
		return;
	kind = 1U << (field - essence_fields);
	essence->is_trace = field->is_trace;
	essence->is_received = str_equal_nocase(field->name, STR("received"));
	essence->is_kept |= field->is_told && (essence->seen & kind) == 0 &&
			    essence->written < DECODE_HEADER_MAX;
	essence->seen |= kind;
}

/* The line that begins with START is of the kind LINE; IS_WHOLE: START ends with its LF. */
static void begin_essence_line(struct decode_essence *essence, enum line line, bool is_whole)
{
	struct str start = buffer_view(&essence->start);

	if (line == LINE_FIELD)
		begin_essence_field(essence, start);
	else if (line != LINE_CONTINUES)
		end_essence_field(essence);
	if (line == LINE_MBOX) {
		essence->place = is_whole ? DECODE_ESSENCE_UNDECIDED : DECODE_ESSENCE_SKIPPED;
		essence->has_line = true;
	} else if (line == LINE_BODY) {
		essence->place = DECODE_ESSENCE_BODY;
		essence->handler->wrote(essence->context, start);
	} else {
		essence->place = DECODE_ESSENCE_FIELD;
		pass_header(essence, start);
	}
	buffer_reset(&essence->start);
}

/* Whether it may belong to a field's name, or stand between that and its colon. */
static bool is_field_name_byte(char byte)
{
	return (byte > ' ' && byte < 0x7f && byte != ':') || byte == ' ' || byte == '\t';
}

/* Takes what TEXT has of the start of a line, up to the byte that decides what the line is. */
static size_t take_start(struct decode_essence *essence, struct str text)
{
	size_t taken = 1;
	enum line line;

	if (text.data[0] != ' ' && text.data[0] != '\t') {
		while (taken < text.length && is_field_name_byte(text.data[taken - 1]))
			taken++;
	}
	buffer_append(&essence->start, text.data, taken);
	line = kind_of_line(essence, buffer_view(&essence->start));
	if (line != LINE_UNDECIDED)
		begin_essence_line(essence, line, text.data[taken - 1] == '\n');
	return taken;
}

/* Takes what TEXT has of the header's line. */
static size_t take_essence_line(struct decode_essence *essence, struct str text)
{
	ptrdiff_t end = str_find(text, '\n');
	size_t length = end < 0 ? text.length : (size_t)end + 1;

	if (essence->place == DECODE_ESSENCE_FIELD)
		pass_header(essence, str_slice(text.data, length));
	if (end >= 0) {
		essence->place = DECODE_ESSENCE_UNDECIDED;
		essence->has_line = true;
	}
	return length;
}

/* TEXT: the lines end in LF. */
static void take_normal(struct decode_essence *essence, struct str text)
{
	while (text.length > 0) {
		size_t taken = text.length;

		if (essence->place == DECODE_ESSENCE_BODY)
			essence->handler->wrote(essence->context, text);
		else if (essence->place == DECODE_ESSENCE_UNDECIDED)
			taken = take_start(essence, text);
		else
			taken = take_essence_line(essence, text);
		essence->is_open = text.data[taken - 1] != '\n';
		text = str_skip(text, taken);
	}
}

/* The CRs that were held back are no part of a line's end. */
static void take_returns(struct decode_essence *essence)
{
	char block[RETURNS_BLOCK];

	memset(block, '\r', sizeof block);
	while (essence->returns > 0) {
		size_t count =
			essence->returns < sizeof block ? (size_t)essence->returns : sizeof block;

		take_normal(essence, str_slice(block, count));
		essence->returns -= count;
	}
}

void decode_essence_take(struct decode_essence *essence, struct str bytes)
{
	while (bytes.length > 0) {
		ptrdiff_t found = str_find(bytes, '\r');
		size_t length = found < 0 ? bytes.length : (size_t)found;

		if (length > 0) {
			if (bytes.data[0] == '\n')
				essence->returns = 0;
			take_returns(essence);
			take_normal(essence, str_slice(bytes.data, length));
		}
		if (found >= 0)
			essence->returns++;
		bytes = str_skip(bytes, found < 0 ? length : length + 1);
	}
}

void decode_essence_end(struct decode_essence *essence)
{
	if (essence->is_open || essence->returns > 0) {
		essence->returns = 0;
		take_normal(essence, STR("\n"));
	}
	end_essence_field(essence);
	buffer_clear(&essence->kept);
	buffer_clear(&essence->start);
}
