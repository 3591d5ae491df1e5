// SPDX-License-Identifier: ISC
/* Fields and lines of headers at their bounds; any text whose lines are broken, against what must
 * come of it. */
#include "chance.h"
#include "header/edit.h"
#include "header/field.h"
#include "header/lines.h"
#include "header/loop.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 2000, TEXT_MAX = 8000 };

static void a_name_has_a_longest(void **state)
{
	char whole[HEADER_NAME_MAX + 20];

	(void)state;
	for (size_t length = HEADER_NAME_MAX - 1; length <= HEADER_NAME_MAX + 1; length++) {
		struct header_field field;
		bool is_field;

		memset(whole, 'x', length);
		memcpy(whole + length, ": y\r\n", 5);
		is_field = header_field_parse(str_slice(whole, length + 5), &field);
		assert_int_equal(is_field, length <= HEADER_NAME_MAX);
		if (!is_field)
			continue;
		assert_int_equal(field.name.length, length);
		assert_true(str_equal(field.body, STR(" y")));
		/* spaces behind it count */
		memset(whole + length - 5, ' ', 5);
		assert_true(header_field_parse(str_slice(whole, length + 5), &field));
		assert_int_equal(field.name.length, length - 5);
	}
}

static void what_is_bad_is_cut(void **state)
{
	(void)state;
	for (size_t length = HEADER_BAD_MAX - 1; length <= HEADER_BAD_MAX + 1; length++) {
		const struct header_edit_settings settings = {
			.has_authors = true, .domain = STR("a.test"), .hostname = STR("mx.test")};
		struct arena *arena = arena_new();
		struct header_edit *edit = header_edit_new(&settings, arena);
		struct buffer text = {0}, out = {0};
		struct header_authors authors;

		buffer_append_string(&text, "From: ");
		for (size_t i = 0; i < length; i++)
			buffer_append_byte(&text, i % 10 == 5 ? ' ' : 'x');
		buffer_append_string(&text, "\r\n\r\n");
		header_edit_take(edit, buffer_view(&text), &out);
		header_edit_end(edit, &out);
		authors = header_edit_authors(edit);
		assert_int_equal(authors.fault, HEADER_EDIT_BAD);
		assert_int_equal(authors.text.length,
				 length < HEADER_BAD_MAX ? length : HEADER_BAD_MAX);
		header_edit_free(edit);
		buffer_clear(&text);
		buffer_clear(&out);
		arena_free(arena);
	}
}

/* The first bytes say all, and whatever follows in a longer line makes it no mark. */
static void a_mark_needs_no_more_of_a_line(void **state)
{
	static const char line[] = "X-Stagepost-Loop: v1 8c2f1d0b77a4e953\r\n";
	char longer[100];
	uint64_t mark = 0;

	(void)state;
	assert_true(sizeof line - 2 <= HEADER_LOOP_LINE_MAX);
	assert_int_equal(header_loop_parse(str_slice(line, sizeof line - 2), &mark),
			 HEADER_LOOP_MARK);
	assert_true(mark == UINT64_C(0x8c2f1d0b77a4e953));
	snprintf(longer, sizeof longer, "%.*s%s", (int)(sizeof line - 3), line, "0000000000");
	assert_int_equal(header_loop_parse(str_slice(longer, HEADER_LOOP_LINE_MAX), &mark),
			 HEADER_LOOP_NONE);
	for (size_t length = 0; length < sizeof line - 3; length++)
		assert_int_equal(header_loop_parse(str_slice(line, length), &mark),
				 HEADER_LOOP_NONE);
}

/* --- lines --- */

static void break_text(const char *text, size_t length, size_t piece, struct buffer *out,
		       uint64_t *breaks_out)
{
	struct header_lines lines = {0};

	for (size_t done = 0; done < length; done += piece)
		header_lines_take(
			&lines,
			str_slice(text + done, length - done < piece ? length - done : piece), out);
	header_lines_end(&lines, out);
	*breaks_out = lines.breaks;
	header_lines_clear(&lines);
}

/* A line of the bound passes, with its CRLF, and one that is a byte longer does not. */
static void a_line_has_a_longest(void **state)
{
	static const char *const ends[] = {"\r\n", "", "\n"};
	char text[HEADER_LINE_MAX + 10];

	(void)state;
	for (size_t end = 0; end < COUNT_OF(ends); end++)
		for (size_t length = HEADER_LINE_MAX - 1; length <= HEADER_LINE_MAX + 1; length++) {
			size_t whole = length + strlen(ends[end]);
			bool is_short =
				length <= HEADER_LINE_MAX || end == 2; /* its LF is within */

			memset(text, 'x', length);
			memcpy(text + length, ends[end], strlen(ends[end]));
			for (size_t piece = 1; piece < whole + 500; piece += 499) {
				struct buffer out = {0};
				uint64_t breaks;

				break_text(text, whole, piece, &out, &breaks);
				assert_int_equal(breaks, !is_short);
				assert_int_equal(out.length, whole + (is_short ? 0 : 3));
				buffer_clear(&out);
			}
		}
}

static size_t make_text(char *text)
{
	static const char *const pieces[] = {
		"x", "xx", " ", "\t", ":", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "-"};
	size_t wanted = chance(TEXT_MAX - 10), length = 0;
	size_t few = 1 + chance(COUNT_OF(pieces)), lines = 1 + chance(2000);

	while (length < wanted) {
		const char *piece =
			chance(60) > 0 && few < 5 ? pieces[chance(2)] : pieces[chance(few)];

		if (chance(lines) == 0)
			piece = "\r\n";
		memcpy(text + length, piece, strlen(piece));
		length += strlen(piece);
	}
	return length;
}

static bool is_space(char byte)
{
	return byte == ' ' || byte == '\t';
}

/* Whether the line could have been broken at its last space, leaving more than spaces or a field's
 * name. */
static bool has_better_place(const char *line, size_t length)
{
	size_t first = 0, last = length - 1;

	while (first < length && is_space(line[first]))
		first++;
	while (last > first && !is_space(line[last]))
		last--;
	return last > first && line[last - 1] != ':' && line[last + 1] != ':';
}

/* OUT is TEXT, but for breaks: "\r\n" before a space, or "\r\n " elsewhere. */
static void check_breaks(struct str out, const char *text, size_t length, uint64_t breaks)
{
	size_t at = 0, line = 0;

	for (size_t i = 0; i < out.length; i++) {
		if (out.data[i] == '\r' && (at + 1 >= length || text[at] != '\r')) {
			assert_true(i + 2 < out.length && out.data[i + 1] == '\n');
			breaks--;
			assert_true(at > 0);
			i += 2;
			if (!is_space(text[at])) {
				assert_true(((unsigned char)text[at] & 0xc0) != 0x80);
				assert_int_equal(out.data[i], ' ');
				assert_false(has_better_place(out.data + line, i - 2 - line));
				line = i++;
			} else {
				line = i;
			}
		}
		assert_true(i < out.length && at < length && out.data[i] == text[at]);
		line = text[at] == '\n' ? i + 1 : line;
		assert_true(text[at] == '\r' || text[at] == '\n' ||
			    i + 1 <= line + HEADER_LINE_MAX);
		at++;
	}
	assert_int_equal(at, length);
	assert_int_equal(breaks, 0);
}

static void any_text_is_broken(void **state)
{
	static char text[TEXT_MAX + 10];

	(void)state;
	for (unsigned i = 0; i < TEXTS; i++) {
		size_t length = make_text(text);
		struct buffer whole = {0}, parts = {0};
		uint64_t breaks, again;

		break_text(text, length, TEXT_MAX, &whole, &breaks);
		check_breaks(buffer_view(&whole), text, length, breaks);
		break_text(text, length, 1 + chance(1200), &parts, &again);
		assert_true(str_equal(buffer_view(&whole), buffer_view(&parts)));
		assert_int_equal(breaks, again);
		buffer_clear(&whole);
		buffer_clear(&parts);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_has_a_longest),
		cmocka_unit_test(what_is_bad_is_cut),
		cmocka_unit_test(a_mark_needs_no_more_of_a_line),
		cmocka_unit_test(a_line_has_a_longest),
		cmocka_unit_test(any_text_is_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
