// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_header_edit.c - the header of a user's message while it passes.
 *
 * The first byte chooses what is done, the second the size of the pieces; the others are the
 * message, whose line ends are made CRLF. In pieces and whole it becomes the same. What it becomes
 * has CRLF lines, none longer than allowed if it was repaired; once completed it needs nothing
 * more; and once its authors were accepted they have only one reading.
 */
#include "base/panic.h"
#include "header/edit.h"
#include "header/field.h"
#include "header/lines.h"
#include "input.h"
#include <string.h>

enum { COMPLETES = 1, REPAIRS = 2, UTF8 = 4, AUTHORS = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
	struct buffer out;
	struct buffer authors;
	enum header_edit_fault fault;
};

static void clear(struct outcome *outcome)
{
	buffer_clear(&outcome->out);
	buffer_clear(&outcome->authors);
}

static struct outcome edit(unsigned flags, struct str text, size_t step)
{
	const struct header_edit_settings settings = {
		.completes = (flags & COMPLETES) != 0,
		.repairs = (flags & REPAIRS) != 0,
		.allows_utf8 = (flags & UTF8) != 0,
		.has_authors = (flags & AUTHORS) != 0,
		.domain = STR("d.test"),
		.hostname = STR("h.test"),
		.from = STR("lisa@d.test"),
		.id = {457, 1795163591482913},
	};
	/* breaks of lines, and the fields that are added */
	size_t most = text.length + text.length / 995 * 3 + HEADER_ADDED_MAX + 512;
	struct arena *arena = arena_new();
	struct header_edit *one = header_edit_new(&settings, arena);
	struct outcome outcome = {0};
	struct header_authors found;

	for (; text.length > 0; text = str_skip(text, step)) {
		struct str piece = str_slice(text.data, text.length < step ? text.length : step);

		header_edit_take(one, piece, &outcome.out);
	}
	header_edit_end(one, &outcome.out);
	if (outcome.out.length > most)
		panic("a message grows to %zu bytes", outcome.out.length);
	found = header_edit_authors(one);
	outcome.fault = found.fault;
	for (size_t i = 0; i < found.count; i++)
		buffer_append_format(&outcome.authors, STR_FORMAT " " STR_FORMAT "\n",
				     STR_ARGUMENTS(found.fields[i]),
				     STR_ARGUMENTS(found.addresses[i]));
	header_edit_free(one);
	arena_free(arena);
	return outcome;
}

static void make_lines(struct str text, struct buffer *out)
{
	struct str line;

	while (str_split(&text, '\n', &line)) {
		for (size_t i = 0; i < line.length; i++)
			if (line.data[i] != '\r' && line.data[i] != '\0')
				buffer_append_byte(out, line.data[i]);
		buffer_append(out, "\r\n", 2);
	}
}

static bool is_field(struct str line)
{
	struct header_field field;

	return line.length > 1 && header_field_parse(line, &field);
}

static bool is_folded(struct str line)
{
	return line.length > 0 && (line.data[0] == ' ' || line.data[0] == '\t');
}

/* The fields up to the first line that is none. */
static void check_header(struct str text, unsigned flags)
{
	size_t dates = 0;
	bool has_field = false;
	struct str line;

	while (str_split(&text, '\n', &line) &&
	       (is_field(line) || (has_field && is_folded(line)))) {
		struct header_field field;

		has_field = true;
		if (!header_field_parse(line, &field))
			continue;
		if ((flags & COMPLETES) && header_field_is_private(field.name))
			panic("a blind copy is left");
		dates += str_equal_nocase(field.name, STR("date"));
	}
	if ((flags & COMPLETES) && dates == 0)
		panic("no date was added");
}

static void check_lines(struct str text, unsigned flags)
{
	struct str line;

	check_line_ends(text);
	while ((flags & REPAIRS) && str_split(&text, '\n', &line))
		if (line.length > HEADER_LINE_MAX + 1)
			panic("a line of %zu bytes is left", line.length);
}

/* A line as a field, for a host without SMTPUTF8. */
static void check_ascii(struct str text)
{
	struct str rest = text;
	struct str line;

	while (str_split(&rest, '\n', &line)) {
		struct buffer out = {0};
		struct header_field field;

		if (!is_field(line) || rest.data == NULL)
			continue;
		(void)header_field_parse(str_slice(line.data, line.length + 1), &field);
		if (header_field_to_ascii(&field, &out))
			for (size_t i = 0; i < out.length; i++)
				if ((unsigned char)buffer_data(&out)[i] >= 0x80)
					panic("not ASCII");
		if (out.length > HEADER_ENCODED_GROWTH * line.length + HEADER_ENCODED_MORE)
			panic("a field of %zu bytes grows to %zu", line.length, out.length);
		check_line_ends(buffer_view(&out));
		buffer_clear(&out);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer text = {0};
	struct outcome whole;
	struct outcome pieces;

	if (size < 3)
		return 0;
	make_lines(str_slice((const char *)data + 2, size - 2), &text);
	whole = edit(data[0], buffer_view(&text), text.length);
	pieces = edit(data[0], buffer_view(&text), 1 + data[1]);
	check_equal(buffer_view(&whole.out), buffer_view(&pieces.out), "messages");
	check_equal(buffer_view(&whole.authors), buffer_view(&pieces.authors), "authors");
	if (whole.fault != pieces.fault)
		panic("another fault in pieces");
	check_ascii(buffer_view(&text));
	check_header(buffer_view(&whole.out), data[0]);
	check_lines(buffer_view(&whole.out), data[0]);
	clear(&pieces);
	pieces = edit(data[0] & COMPLETES, buffer_view(&whole.out), 1000);
	/* an encoded word in a list that was malformed may look like an address */
	if ((data[0] & COMPLETES) && !(data[0] & REPAIRS))
		check_equal(buffer_view(&whole.out), buffer_view(&pieces.out), "second edits");
	clear(&pieces);
	if ((data[0] & AUTHORS) && !(data[0] & REPAIRS) && whole.fault == HEADER_EDIT_GOOD &&
	    whole.out.length <= HEADER_FIELD_MAX) {
		pieces = edit(data[0], buffer_view(&whole.out), 1000);
		check_equal(buffer_view(&whole.out), buffer_view(&pieces.out), "accepted again");
		if (pieces.fault != HEADER_EDIT_GOOD)
			panic("accepted, and then not");
		clear(&pieces);
	}
	clear(&whole);
	buffer_clear(&text);
	return 0;
}
