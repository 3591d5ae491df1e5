// SPDX-License-Identifier: ISC
/* What "stagepost mailbox" prints of mail that strangers have sent. */
#include "command/mailbox/mailbox_command.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>

/* What is on standard output then; the caller frees it. */
static char *print(struct str lines)
{
	struct buffer out CLEANUP(buffer_clear) = {0};
	FILE *before = stdout;
	char *text = NULL;
	size_t length;

	buffer_append_str(&out, lines);
	stdout = open_memstream(&text, &length);
	assert_non_null(stdout);
	mailbox_command_print(&out);
	fclose(stdout);
	stdout = before;
	return text;
}

static void a_terminal_obeys_no_stranger(void **state)
{
	static const struct {
		struct str lines;
		const char *shown;
	} cases[] = {
		{STR(""), ""},
		{STR("one\nthe other \xc3\xa4\n"), "one\nthe other \xc3\xa4\n"},
		{STR("subject=\x1b[31m\n"), "subject=?[31m\n"},
		{STR("a\xc2\x9bm\r\a\x7f\n"), "a?m?\?\?\n"},
		{STR("x\xe2\x80\xae\xe2\x81\xa6y\xe2\x80\xa8\n"), "x?\?y?\n"},
		{STR("\xff\x9b\n"), "\xff?\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char *shown = print(cases[i].lines);

		assert_string_equal(shown, cases[i].shown);
		free(shown);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_terminal_obeys_no_stranger)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
