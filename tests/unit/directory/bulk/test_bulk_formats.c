// SPDX-License-Identifier: ISC
/* Lines of files against a second, plain reader that has the whole text: any text, read in any
 * pieces; lines at their bound and one byte longer; and reading that fails. */
#include "chance.h"
#include "directory/bulk/format/lines.h"
#include "test.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 20000, TEXT_MAX = 200 };

static struct {
	const char *text; /* the file; NULL: FILLER throughout, between BEFORE and AFTER */
	size_t length, position, piece;
	const char *before, *after;
	size_t fail_at; /* the how manieth call fails; 0: none */
	size_t calls;
} file;

/* Of a file that is not in memory. */
static void copy_long_file(char *data, size_t count)
{
	size_t after = file.length - strlen(file.after);

	memset(data, 'x', count);
	for (size_t i = file.position; i < strlen(file.before) && i < file.position + count; i++)
		data[i - file.position] = file.before[i];
	for (size_t i = after > file.position ? after : file.position; i < file.position + count;
	     i++)
		data[i - file.position] = file.after[i - after];
}

ssize_t __wrap_os_stream_read(int descriptor, void *data, size_t size);
ssize_t __wrap_os_stream_read(int descriptor, void *data, size_t size)
{
	size_t count = file.length - file.position;

	assert_int_equal(descriptor, 7);
	if (++file.calls == file.fail_at)
		return -EIO;
	if (count > size)
		count = size;
	if (count > file.piece)
		count = file.piece;
	if (file.text != NULL)
		memcpy(data, file.text + file.position, count);
	else
		copy_long_file(data, count);
	file.position += count;
	return (ssize_t)count;
}

/* --- the plain reader --- */

struct plain {
	struct str lines[TEXT_MAX + 1];
	size_t count;
	size_t next;
	char joined[TEXT_MAX + 1];
	unsigned line;
};

static void split_plainly(struct plain *plain, const char *text, size_t length)
{
	size_t from = 0;

	*plain = (struct plain){.count = 0};
	while (from < length) {
		size_t end = from, next;

		while (end < length && text[end] != '\n')
			end++;
		next = end < length ? end + 1 : end;
		if (end > from && text[end - 1] == '\r')
			end--;
		plain->lines[plain->count++] = str_slice(text + from, end - from);
		from = next;
	}
	if (plain->count > 0 && plain->lines[0].length >= 3 &&
	    memcmp(plain->lines[0].data, "\xef\xbb\xbf", 3) == 0)
		plain->lines[0] = str_skip(plain->lines[0], 3);
}

static bool is_ignored_plainly(struct str line)
{
	size_t i = 0;

	while (i < line.length && (line.data[i] == ' ' || line.data[i] == '\t'))
		i++;
	return i == line.length || line.data[i] == '#';
}

static bool next_plainly(struct plain *plain, bool is_logical, struct str *out)
{
	size_t length;

	while (is_logical && plain->next < plain->count &&
	       is_ignored_plainly(plain->lines[plain->next]))
		plain->next++;
	if (plain->next == plain->count)
		return false;
	length = plain->lines[plain->next].length;
	memcpy(plain->joined, plain->lines[plain->next].data, length);
	plain->line = (unsigned)++plain->next;
	while (is_logical && plain->next < plain->count) {
		struct str line = plain->lines[plain->next];
		bool is_open = length > 0 && plain->joined[length - 1] == '\\';

		if (is_open)
			length--;
		else if (!is_ignored_plainly(line) && line.data[0] != ' ' && line.data[0] != '\t')
			break;
		if (is_open || !is_ignored_plainly(line)) {
			memcpy(plain->joined + length, line.data, line.length);
			length += line.length;
		}
		plain->next++;
	}
	*out = str_slice(plain->joined, length);
	return true;
}

/* --- any text --- */

static size_t make_text(char *text)
{
	static const char *const parts[] = {"a",  "bc", " ",    "\t", "#",           "\\",
					    "\n", "\n", "\r\n", "\r", "\xef\xbb\xbf"};
	size_t length = 0;

	for (size_t count = chance(30); count > 0; count--) {
		const char *part = parts[chance(COUNT_OF(parts))];

		memcpy(text + length, part, strlen(part));
		length += strlen(part);
	}
	return length;
}

static void check_text(const char *text, size_t length, bool is_logical)
{
	struct bulk_lines lines = {.descriptor = 7};
	struct plain plain;
	struct str expected, found;

	file.text = text;
	file.length = length;
	file.position = file.calls = file.fail_at = 0;
	file.piece = 1 + chance(9);
	split_plainly(&plain, text, length);
	while (next_plainly(&plain, is_logical, &expected)) {
		assert_int_equal(is_logical ? bulk_lines_next_logical(&lines, &found)
					    : bulk_lines_next(&lines, &found),
				 1);
		if (!str_equal(found, expected))
			fail_msg("\"%.*s\": \"" STR_FORMAT "\" and not \"" STR_FORMAT "\"",
				 (int)length, text, STR_ARGUMENTS(found), STR_ARGUMENTS(expected));
		assert_int_equal(lines.line, plain.line);
		assert_int_equal(lines.number, plain.next);
	}
	for (size_t again = 0; again < 2; again++)
		assert_int_equal(is_logical ? bulk_lines_next_logical(&lines, &found)
					    : bulk_lines_next(&lines, &found),
				 0);
	bulk_lines_clear(&lines);
}

static void any_text_in_any_pieces(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++)
		check_text(text, make_text(text), turn % 2 == 0);
}

/* Each call fails once: that is told, and is no end. */
static void reading_that_fails_is_told(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	for (unsigned turn = 0; turn < TURNS / 4; turn++) {
		struct bulk_lines lines = {.descriptor = 7};
		bool is_logical = turn % 2 == 0;
		struct str found;
		int result;

		file.text = text;
		file.length = make_text(text);
		file.position = file.calls = 0;
		file.piece = 1 + chance(9);
		file.fail_at = 1 + chance(file.length / file.piece + 1);
		do
			result = is_logical ? bulk_lines_next_logical(&lines, &found)
					    : bulk_lines_next(&lines, &found);
		while (result > 0);
		assert_int_equal(result, -EIO);
		bulk_lines_clear(&lines);
	}
}

/* --- bounds --- */

/* Between two parts so many bytes that LENGTH are in the file. */
static void open_long_file(const char *before, const char *after, size_t length)
{
	memset(&file, 0, sizeof file);
	file.before = before;
	file.after = after;
	file.length = length;
	file.piece = SIZE_MAX;
}

static void lines_have_a_longest(void **state)
{
	static const struct {
		const char *before, *after;
		size_t more; /* bytes that are not of the line */
		bool is_logical;
		bool has_next; /* "next" */
		size_t joined; /* bytes that are not in what is joined */
	} rows[] = {
		{"", "\nnext\n", 5, false, true, 1},
		{"", "", 0, false, false, 0},
		{"", "\nnext\n", 5, true, true, 1},
		{"a\n ", "\nnext\n", 6, true, true, 1},  /* "a", and the other line with its end */
		{"a\\\n", "\nnext\n", 7, true, true, 1}, /* likewise, and the backslash counts */
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (size_t beyond = 0; beyond <= 1; beyond++) {
			struct bulk_lines lines = {.descriptor = 7};
			struct str found = STR("");
			int result;

			open_long_file(rows[i].before, rows[i].after,
				       BULK_LINE_MAX + rows[i].more + beyond);
			result = rows[i].is_logical ? bulk_lines_next_logical(&lines, &found)
						    : bulk_lines_next(&lines, &found);
			if (result != (beyond > 0 ? -EMSGSIZE : 1))
				fail_msg("row %zu: %d", i, result);
			if (beyond == 0)
				assert_int_equal(found.length, BULK_LINE_MAX - rows[i].joined);
			result = bulk_lines_next_logical(&lines, &found);
			assert_int_equal(result, rows[i].has_next);
			if (result > 0)
				assert_true(str_equal(found, STR("next")));
			bulk_lines_clear(&lines);
		}
}

/* An error amid what is skipped is no end of it. */
static void what_is_skipped_may_fail(void **state)
{
	struct bulk_lines lines = {.descriptor = 7};
	struct str found;

	(void)state;
	open_long_file("", "\nnext\n", 2 * BULK_LINE_MAX);
	file.fail_at = BULK_LINE_MAX / (64 * 1024) + 5;
	assert_int_equal(bulk_lines_next(&lines, &found), -EIO);
	bulk_lines_clear(&lines);
	open_long_file("", "", 2 * BULK_LINE_MAX);
	lines = (struct bulk_lines){.descriptor = 7};
	assert_int_equal(bulk_lines_next(&lines, &found), -EMSGSIZE);
	assert_int_equal(bulk_lines_next(&lines, &found), 0);
	bulk_lines_clear(&lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_text_in_any_pieces),
		cmocka_unit_test(reading_that_fails_is_told),
		cmocka_unit_test(lines_have_a_longest),
		cmocka_unit_test(what_is_skipped_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
