// SPDX-License-Identifier: ISC
/* What a program is started with, and what its end means. */
#include "deliver/launch/command.h"
#include "deliver/pipe/status.h"
#include "test.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct os_process_account nobody_named;

/* The argument that TEMPLATE becomes, or NULL when it is refused. */
static const char *fill(struct arena *arena, const char *template, const char *recipient,
			const char *sender)
{
	const char *command[] = {"/bin/x", template};
	struct config_service service = {.command = command, .command_count = 2};
	struct pipe_envelope envelope = {
		{457, 0}, str_from(sender), str_from(recipient), &nobody_named};
	struct pipe_command filled;
	struct mail_verdict why;

	if (pipe_command_fill(arena, &service, &envelope, &filled, &why)) {
		assert_string_equal(filled.arguments[0], "/bin/x");
		assert_null(filled.arguments[2]);
		return filled.arguments[1];
	}
	assert_string_equal(why.status, "5.1.3");
	return NULL;
}

static void arguments_are_filled_in(void **state)
{
	static const struct {
		const char *template, *recipient, *filled;
	} cases[] = {
		{"-d", "ann@x.org", "-d"},
		{"", "ann@x.org", ""},
		{"%u@%d", "Ann+Tag@X.org", "ann@x.org"},
		{"%a", "Ann+Tag@X.org", "Ann+Tag@X.org"},
		{"%x", "ann+tag+more@x.org", "tag+more"},
		{"%x", "ann@x.org", ""},
		{"%x", "ann+@x.org", ""},
		{"%s", "ann@x.org", "s@y.org"},
		{"100%%u", "ann@x.org", "100%u"},
		{"%u", "\"a b;c$(d)`e`\"@x.org", "a b;c$(d)`e`"},
		{"/m/%d/%u/%x", "ann+tag@x.org", "/m/x.org/ann/tag"},
		/* never more than one name of a path */
		{"%u", "\"..\"@x.org", NULL},
		{"%u", "\"a/b\"@x.org", NULL},
		{"%u", ".ann@x.org", NULL},
		{"%x", "\"ann+../../etc\"@x.org", NULL},
		{"%x", "ann+.hidden@x.org", NULL},
		{"%d", "ann@../x", NULL},
		/* never an option that the configuration has not written */
		{"%u", "-rf@x.org", NULL},
		{"%a", "--help@x.org", NULL},
		{"%x%u", "-f@x.org", NULL},
		{"%x", "ann+-f@x.org", NULL},
		{"-%u", "-f@x.org", "--f"},
		{"-d%u", "-f@x.org", "-d-f"},
		{"--to=%a", "-f@x.org", "--to=-f@x.org"},
		/* never a control character */
		{"%a", "\"a\tb\"@x.org", NULL},
		{"x", "\"a\nb\"@x.org", NULL},
	};
	struct arena *arena = arena_new();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const char *filled = fill(arena, cases[i].template, cases[i].recipient, "s@y.org");

		if ((filled == NULL) != (cases[i].filled == NULL) ||
		    (filled != NULL && strcmp(filled, cases[i].filled) != 0))
			fail_msg("%s for %s: %s", cases[i].template, cases[i].recipient, filled);
	}
	assert_string_equal(fill(arena, "%s", "ann@x.org", ""), "");
	assert_null(fill(arena, "%s", "ann@x.org", "-s@y.org"));
	arena_free(arena);
}

static bool has(const char *const *list, const char *line)
{
	for (; *list != NULL; list++)
		if (strcmp(*list, line) == 0)
			return true;
	return false;
}

static void the_environment_is_ours_alone(void **state)
{
	static const struct os_process_account owner = {.name = "ann", .home = "/home/ann"};
	const char *command[] = {"/bin/x"};
	struct config_service service = {.command = command, .command_count = 1};
	struct pipe_envelope envelope = {{457, 255}, STR(""), STR("Ann+T-x@X.org"), &owner};
	struct arena *arena = arena_new();
	struct pipe_command filled;
	struct mail_verdict why;
	size_t count = 0;

	(void)state;
	assert_true(pipe_command_fill(arena, &service, &envelope, &filled, &why));
	while (filled.environment[count] != NULL)
		count++;
	assert_int_equal(count, 11);
	assert_true(has(filled.environment, "SENDER="));
	assert_true(has(filled.environment, "RECIPIENT=Ann+T-x@X.org"));
	assert_true(has(filled.environment, "LOCAL=ann+t-x"));
	assert_true(has(filled.environment, "EXTENSION=T-x"));
	assert_true(has(filled.environment, "DOMAIN=x.org"));
	assert_true(has(filled.environment, "QUEUE_ID=457-ff"));
	assert_true(has(filled.environment, "HOME=/home/ann"));
	assert_true(has(filled.environment, "USER=ann"));
	assert_true(has(filled.environment, "LOGNAME=ann"));
	arena_free(arena);
}

static const char *status_of(int status, const char *output)
{
	static char text[MAIL_STATUS_SIZE + MAIL_TEXT_SIZE];
	struct mail_verdict verdict;

	pipe_status_verdict(status, str_from(output), "/bin/prog", &verdict);
	snprintf(text, sizeof text, "%s %s", verdict.status, verdict.text);
	return text;
}

static void a_program_may_name_what_it_waits_for(void **state)
{
	static const struct {
		int status; /* of its exit */
		const char *output;
		const char *trigger;
	} cases[] = {
		{75, "trigger=archive", "pipe.box.archive"},
		{75, "trigger=archive.moved-1_2 is being moved\n", "pipe.box.archive.moved-1_2"},
		{75, "4.2.1 trigger=archive\nlater", "pipe.box.archive"},
		{1, "  trigger=a ", "pipe.box.a"},
		{0, "trigger=a", ""},
		{67, "trigger=a", ""},
		{75, "5.2.1 trigger=a", ""},
		{75, "later: trigger=a", ""},
		{75, "trigger=", ""},
		{75, "trigger=a/b", ""},
		{75, "trigger=A", ""},
		{75, "trigger=a:25", ""},
		{75, "trigger=[a]", ""},
		{75, "trigger=aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff12345",
		 ""},
		{75, "trigger=aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff1234",
		 "pipe.box.aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff1234"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char trigger[PIPE_TRIGGER_SIZE];
		struct mail_verdict verdict;

		pipe_status_verdict(cases[i].status << 8, str_from(cases[i].output), "/bin/prog",
				    &verdict);
		pipe_status_trigger(&verdict, str_from(cases[i].output), "box", trigger);
		assert_string_equal(trigger, cases[i].trigger);
	}
}

static void every_exit_has_its_status(void **state)
{
	static const struct {
		int exit;
		const char *status;
	} cases[] = {
		{0, "2.0.0"},   {64, "5.3.0"},  {65, "5.6.0"},  {66, "5.3.0"},  {67, "5.1.1"},
		{68, "5.1.2"},  {69, "5.3.0"},  {70, "5.3.0"},  {71, "4.3.0"},  {72, "4.3.5"},
		{73, "5.2.0"},  {74, "4.3.0"},  {75, "4.3.0"},  {76, "5.5.0"},  {77, "5.7.0"},
		{78, "4.3.5"},  {100, "5.3.0"}, {126, "4.3.5"}, {127, "4.3.5"}, {1, "4.3.0"},
		{2, "4.3.0"},   {63, "4.3.0"},  {79, "4.3.0"},  {99, "4.3.0"},  {111, "4.3.0"},
		{255, "4.3.0"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char wanted[60];

		snprintf(wanted, sizeof wanted, "%s prog ended with status %d", cases[i].status,
			 cases[i].exit);
		assert_string_equal(status_of(cases[i].exit << 8, ""), wanted);
	}
	assert_string_equal(status_of(11, ""), "4.3.0 prog was ended by signal 11");
	assert_string_equal(status_of(9 | 0x80, ""), "4.3.0 prog was ended by signal 9");
	assert_string_equal(
		status_of(SIGSYS | 0x80, "half a word"),
		"4.3.0 prog was killed by a system call filter (signal 31): half a word");
}

static void the_output_is_told(void **state)
{
	(void)state;
	assert_string_equal(status_of(67 << 8, " no\r\n such\t\tbox\n"),
			    "5.1.1 prog ended with status 67: no such box");
	assert_string_equal(status_of(69 << 8, "5.2.2 over quota\n"),
			    "5.2.2 prog ended with status 69: over quota");
	assert_string_equal(status_of(75 << 8, "4.2.2\n"), "4.2.2 prog ended with status 75");
	assert_string_equal(status_of(75 << 8, "5.2.2 over quota\n"),
			    "4.3.0 prog ended with status 75: 5.2.2 over quota");
	assert_string_equal(status_of(0, "5.2.2 over quota\n"),
			    "2.0.0 prog ended with status 0: 5.2.2 over quota");
	assert_string_equal(status_of(1 << 8, "\x1b[2J\xff"),
			    "4.3.0 prog ended with status 1: ?[2J?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_filled_in),
		cmocka_unit_test(the_environment_is_ours_alone),
		cmocka_unit_test(every_exit_has_its_status),
		cmocka_unit_test(a_program_may_name_what_it_waits_for),
		cmocka_unit_test(the_output_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
