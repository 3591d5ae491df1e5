// SPDX-License-Identifier: ISC
#include "queue/inject/header.h"
#include "header/addresses.h"
#include <errno.h>
#include <string.h>

enum line_kind { LINE_FIELD, LINE_CONTINUATION, LINE_BODY, LINE_UNKNOWN };

static size_t name_length(struct str line)
{
	size_t length = 0;

	while (length < line.length && line.data[length] > ' ' && line.data[length] < 0x7f &&
	       line.data[length] != ':')
		length++;
	return length;
}

/* The kind of a line, which may be cut if IS_WHOLE is false. */
static enum line_kind kind_of_header_line(struct str line, bool is_whole)
{
	size_t name = name_length(line);
	size_t colon = name;

	if (line.length > 0 && str_is_blank(line.data[0]))
		return LINE_CONTINUATION;
	while (colon < line.length && str_is_blank(line.data[colon]))
		colon++;
	if (colon > HEADER_NAME_MAX)
		return LINE_BODY;
	if (colon < line.length)
		return line.data[colon] == ':' && name > 0 ? LINE_FIELD : LINE_BODY;
	return is_whole ? LINE_BODY : LINE_UNKNOWN;
}

/* The line at the start of TEXT with its LF; or all of TEXT. */
static struct str first_line_of_text(struct str text, bool *is_whole_out)
{
	ptrdiff_t end = str_find(text, '\n');

	*is_whole_out = end >= 0;
	return end >= 0 ? str_slice(text.data, (size_t)end + 1) : text;
}

/* The separator of a mailbox file, which some programs write first; procmail and formail quote
 * it. */
static bool is_mbox_separator_line(struct str line, enum line_kind kind)
{
	return kind != LINE_FIELD &&
	       (str_starts_with(line, STR("From ")) || str_starts_with(line, STR(">From ")));
}

/* Moves lines from header->body to header->text. True at the first line that is not part of the
 * header. */
static bool take_header_lines(struct inject_header *header)
{
	for (;;) {
		bool is_whole;
		struct str line = first_line_of_text(buffer_view(&header->body), &is_whole);
		enum line_kind kind = kind_of_header_line(line, is_whole);
		bool is_first = header->text.length == 0;
		bool is_dropped = is_first && is_mbox_separator_line(line, kind);

		if (!is_dropped && (kind == LINE_BODY || (is_first && kind == LINE_CONTINUATION)))
			return true;
		if (!is_whole)
			return false;
		if (!is_dropped)
			buffer_append_str(&header->text, line);
		buffer_consume(&header->body, line.length);
	}
}

/* If the body follows without an empty line, inserts one. */
static void separate_header_from_body(struct inject_header *header)
{
	struct buffer body = {0};

	if (str_starts_with(buffer_view(&header->body), STR("\r\n")))
		return;
	buffer_append(&body, "\r\n", 2);
	buffer_append_str(&body, buffer_view(&header->body));
	buffer_clear(&header->body);
	header->body = body;
}

int inject_header_read(struct inject_reader *reader, struct inject_header *header)
{
	int more = 1;

	while (!take_header_lines(header) && more > 0) {
		if (header->text.length + header->body.length > INJECT_HEADER_MAX)
			return -EFBIG;
		more = inject_reader_next(reader, &header->body);
	}
	if (more < 0)
		return more;
	separate_header_from_body(header);
	return 0;
}

void inject_header_clear(struct inject_header *header)
{
	buffer_clear(&header->text);
	buffer_clear(&header->body);
}

bool inject_header_next(struct str *rest, struct header_field *field_out)
{
	struct str text = *rest;
	struct str whole = str_slice(text.data, 0);
	bool is_whole = true;

	do {
		struct str line = first_line_of_text(str_skip(text, whole.length), &is_whole);

		whole.length += line.length;
	} while (whole.length < text.length && str_is_blank(text.data[whole.length]));
	if (whole.length == 0)
		return false;
	*rest = str_skip(text, whole.length);
	return header_field_parse(whole, field_out);
}

size_t inject_header_count(const struct inject_header *header, struct str name)
{
	struct str rest = buffer_view(&header->text);
	struct header_field field;
	size_t count = 0;

	while (inject_header_next(&rest, &field))
		count += str_equal_nocase(field.name, name);
	return count;
}

static bool has_recipients(const struct header_field *field, bool is_resent)
{
	static const struct str prefix = STR("resent-");
	struct str name = field->name;

	if (is_resent) {
		if (name.length < prefix.length ||
		    !str_equal_nocase(str_slice(name.data, prefix.length), prefix))
			return false;
		name = str_skip(name, prefix.length);
	}
	return str_equal_nocase(name, STR("to")) || str_equal_nocase(name, STR("cc")) ||
	       str_equal_nocase(name, STR("bcc"));
}

struct finding {
	inject_element_taker *take;
	void *context;
	struct str field;
};

static int take_element_of_field(void *context, const struct header_element *element)
{
	const struct finding *finding = context;

	return finding->take(finding->context, finding->field, element);
}

int inject_header_recipients(const struct inject_header *header,
			     const struct header_addresses_rules *rules, inject_element_taker *take,
			     void *context)
{
	struct str rest = buffer_view(&header->text);
	struct finding finding = {take, context, STR("")};
	struct header_field field;
	bool is_resent = false;
	bool was_seen = false;
	int error = 0;

	while (!is_resent && inject_header_next(&rest, &field))
		is_resent = has_recipients(&field, true);
	rest = buffer_view(&header->text);
	while (error == 0 && inject_header_next(&rest, &field)) {
		was_seen |= has_recipients(&field, is_resent);
		if (is_resent && was_seen && str_equal_nocase(field.name, STR("received")))
			break; /* what follows belongs to an earlier resending */
		if (!has_recipients(&field, is_resent))
			continue;
		finding.field = field.name;
		error = header_addresses_read(field.body, rules, take_element_of_field, &finding,
					      NULL, NULL);
	}
	return error;
}
