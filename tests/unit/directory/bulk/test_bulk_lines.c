// SPDX-License-Identifier: ISC
/* Lines of a file that are as long as they may be, and one byte longer, alone and joined. */
#include "directory/bulk/format/lines.h"
#include "os/process/process.h"
#include "test.h"
#include <errno.h>
#include <unistd.h>

/* Gives out the lines of BEFORE, COUNT times 'x', and AFTER. */
static struct bulk_lines lines_of(const char *before, size_t count, const char *after)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct bulk_lines lines = {0};

	buffer_append_string(&text, before);
	for (char *place = buffer_reserve(&text, count); count > 0; count--) {
		*place++ = 'x';
		buffer_commit(&text, 1);
	}
	buffer_append_string(&text, after);
	lines.descriptor = os_process_share_text(buffer_view(&text));
	assert_true(lines.descriptor >= 0);
	assert_int_equal(lseek(lines.descriptor, 0, SEEK_SET), 0);
	return lines;
}

static void close_lines(struct bulk_lines *lines)
{
	bulk_lines_clear(lines);
	close(lines->descriptor);
}

/* With its end; what follows is found behind a long one, too. */
static void a_line_is_so_long(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		bool is_over = i % 2 == 1, is_logical = i / 2 == 1;
		struct bulk_lines lines =
			lines_of("one\n", BULK_LINE_MAX - 1 + is_over, "\nthree\n");
		int (*next)(struct bulk_lines *, struct str *) =
			is_logical ? bulk_lines_next_logical : bulk_lines_next;
		struct str line;

		assert_int_equal(next(&lines, &line), 1);
		assert_int_equal(next(&lines, &line), is_over ? -EMSGSIZE : 1);
		if (!is_over)
			assert_int_equal(line.length, BULK_LINE_MAX - 1);
		assert_int_equal(lines.line, 2);
		assert_int_equal(next(&lines, &line), 1);
		assert_true(str_equal(line, STR("three")));
		assert_int_equal(lines.line, 3);
		assert_int_equal(next(&lines, &line), 0);
		close_lines(&lines);
	}
}

/* The last one without its end. */
static void a_last_line_is_so_long(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct bulk_lines lines = lines_of("", BULK_LINE_MAX + i, "");
		struct str line;

		assert_int_equal(bulk_lines_next(&lines, &line), i == 1 ? -EMSGSIZE : 1);
		assert_int_equal(bulk_lines_next(&lines, &line), 0);
		close_lines(&lines);
	}
}

/* What is joined so far, and the next line with its end. */
static void a_joined_line_is_so_long(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		bool is_over = i == 1;
		struct bulk_lines lines =
			lines_of("", BULK_LINE_MAX - 4 + is_over, "\n ab\nlast\n");
		struct str line;

		assert_int_equal(bulk_lines_next_logical(&lines, &line), is_over ? -EMSGSIZE : 1);
		if (!is_over)
			assert_int_equal(line.length, BULK_LINE_MAX - 1);
		assert_int_equal(bulk_lines_next_logical(&lines, &line), 1);
		assert_true(str_equal(line, STR("last")));
		close_lines(&lines);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_so_long),
		cmocka_unit_test(a_last_line_is_so_long),
		cmocka_unit_test(a_joined_line_is_so_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
