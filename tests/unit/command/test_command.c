// SPDX-License-Identifier: ISC
#include "base/buffer.h"
#include "command/command.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

struct values {
	struct command_options common;
	const char *older;
	const char *letter;
	bool all;
};

static const struct command_option rows[] = {
	COMMAND_OPTION_CONFIG,
	{"--older", "AGE", "only older", offsetof(struct values, older)},
	{"-s", "one|two", "a letter", offsetof(struct values, letter)},
	{"--all", NULL, "every one", offsetof(struct values, all)},
	{"-a", NULL, NULL, offsetof(struct values, all)},
	COMMAND_OPTION_JSON("print JSON"),
	COMMAND_OPTION_END,
};

static const struct command command = {
	"try", "[ID ...]", "Tries.", "", NULL, rows, NULL, NULL,
};

/* WORDS are split at spaces. "" for what is not given. */
static const struct line {
	const char *words;
	int status; /* -1: go on */
	const char *older;
	const char *letter;
	bool all;
	const char *arguments; /* in order, without spaces */
} lines[] = {
	{"try", -1, "", "", false, ""},
	{"try a b", -1, "", "", false, "ab"},
	{"try a --older 5d b --all", -1, "5d", "", true, "ab"},
	{"try --older=5d -a", -1, "5d", "", true, ""},
	{"try --older=", -1, "", "", false, ""},
	{"try -s one --older --all", -1, "--all", "one", false, ""},
	{"try -- --all -x", -1, "", "", false, "--all-x"},
	{"try - a", -1, "", "", false, "-a"},
	{"try --older", COMMAND_USAGE, "", "", false, ""},
	{"try a --older", COMMAND_USAGE, "", "", false, ""},
	{"try --all=yes", COMMAND_USAGE, "", "", false, ""},
	{"try -s=one", COMMAND_USAGE, "", "", false, ""},
	{"try --old 5d", COMMAND_USAGE, "", "", false, ""},
	{"try --olderx=5d", COMMAND_USAGE, "", "", false, ""},
	{"try -x", COMMAND_USAGE, "", "", false, ""},
	{"try --help -x", COMMAND_OK, "", "", false, ""},
};

static void check_line(const struct line *line)
{
	struct values values = {.older = "", .letter = ""};
	struct buffer arguments = {0};
	char words[100];
	char *argv[16] = {NULL};
	int argc = 0;
	int status = -1;

	snprintf(words, sizeof words, "%s", line->words);
	for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " "))
		argv[argc++] = word;
	assert_int_equal(command_parse(&command, argc, argv, &values.common, &status),
			 line->status == -1);
	if (line->status != -1) {
		assert_int_equal(status, line->status);
		return;
	}
	for (int i = values.common.first; i < argc; i++)
		buffer_append_string(&arguments, argv[i]);
	assert_string_equal(values.older, line->older);
	assert_string_equal(values.letter, line->letter);
	assert_int_equal(values.all, line->all);
	assert_true(str_equal(buffer_view(&arguments), str_from(line->arguments)));
	buffer_clear(&arguments);
}

static void test_parse(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(lines); i++)
		check_line(&lines[i]);
}

static void check_row(const struct command *one)
{
	size_t length = strlen(one->summary);

	assert_non_null(one->run);
	assert_true(length > 0 && one->summary[length - 1] == '.');
	assert_true(one->help[0] == '\0' || one->help[strlen(one->help) - 1] == '\n');
	assert_true(one->options != NULL || one->subcommands != NULL);
	assert_ptr_equal(command_find(str_from(one->name)), one);
	for (const struct command_option *option = one->options;
	     option != NULL && option->name != NULL; option++) {
		assert_int_equal(option->name[0], '-');
		assert_true(option->help != NULL || option > one->options);
		assert_true(option->help == NULL || option->help[strlen(option->help) - 1] != '.');
		for (const struct command_option *before = one->options; before < option; before++)
			assert_string_not_equal(before->name, option->name);
	}
}

static void test_table(void **state)
{
	size_t count = 0;

	(void)state;
	for (const struct command *one = commands; one->name != NULL; one++, count++) {
		check_row(one);
		for (const struct command *sub = one->subcommands; sub != NULL && sub->name != NULL;
		     sub++, count++) {
			check_row(sub);
			assert_int_equal(strncmp(sub->name, one->name, strlen(one->name)), 0);
		}
	}
	assert_true(count > 20);
	assert_null(command_find(STR("bogus")));
	assert_null(command_find(STR("queue bogus")));
}

static void assert_filled(const char *template, const char *expected)
{
	struct buffer out = {0};
	struct buffer why = {0};
	bool is_filled = command_fill_manual(str_from(template), &out, &why);

	assert_int_equal(is_filled, expected != NULL);
	if (expected != NULL)
		assert_true(str_equal(buffer_view(&out), str_from(expected)));
	else
		assert_true(str_equal(buffer_view(&why), str_from(template)));
	buffer_clear(&out);
	buffer_clear(&why);
}

static void test_manual(void **state)
{
	(void)state;
	assert_filled(".Sh NAME\n@\n\nmail@example.org@ here\n",
		      ".Sh NAME\n@\n\nmail@example.org@ here\n");
	assert_filled("@usage queue show@\n", ".Nm stagepost Cm queue show\n"
					      ".Op Fl c Ar \\&FILE\n.Op Fl -body\n"
					      ".Op Fl -json\n.Ar \\&ID\n");
	assert_filled("@usage trigger wait@\n",
		      ".Nm stagepost Cm trigger wait\n.Op Fl c Ar \\&FILE\n"
		      ".Ar \\&NAME\n.Op Ar \\&REASON ...\n");
	assert_filled("@summary stop@\n",
		      "Stops the running mail system, and waits until it has ended.\n");
	assert_filled("@options bogus@", NULL);
	assert_filled("@bogus queue list@", NULL);
	assert_filled("@usage@", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_manual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
