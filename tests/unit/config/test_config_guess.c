// SPDX-License-Identifier: ISC
/* What a text says though it may be wrong anywhere, and what is hidden in it: the setting in each
 * form in which it can be written. */
#include "config_outcome.h"
#include <stdio.h>
#include <string.h>

/* --- the directory run --- */

static const struct {
	const char *text;
	const char *run; /* NULL: the default */
} guesses[] = {
	{"", NULL},
	{"run = /a", "/a"},
	{"run = \"/a b\"\n", "/a b"},
	{"  run = '/a'  # run = /b", "/a"},
	{"# run = /b\nrun = /a\n# run = /c", "/a"},
	{"run = /a\nrun = /b\n", "/b"},
	{"run = /a\nuser = \"unfinished\nrun", "/a"},
	{"run = /a\nrun = \"unfinished\n", "/a"},
	{"user = \"unfinished\nrun = /a\n}\n", "/a"},
	{"run /a\n", "/a"}, /* what is meant is plain */
	{"run = { /a }\n", NULL},
	{"runs = /a\n", NULL},
	{"listen smtp { run = /a }\n", NULL},
	{"run =\n/a\n", NULL},
	{"/* \nrun = /a\n*/", "/a"},
	{"run = ${HOME}\n", NULL},
	{"run\n", NULL},
};

static void the_last_line_that_can_be_read_counts(void **state)
{
	struct config *usual = config_of(HOST);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(guesses); i++) {
		struct arena *arena = arena_new();
		const char *found = config_guess_run(str_from(guesses[i].text), arena);

		print_message("%s\n", guesses[i].text);
		assert_string_equal(found, guesses[i].run != NULL ? guesses[i].run : usual->run);
		arena_free(arena);
	}
	config_free(usual);
}

/* --- passwords --- */

/* Each setting in which there may be one: alone and in a list, in each kind of quotes. */
static void passwords_are_hidden_wherever_they_are(void **state)
{
	static const struct {
		const char *setting, *value;
	} routes[] = {
		{"smtproutes", "a.test:r.test|ann"},
		{"senderroutes", "a.test:r.test|ann"},
		{"fallback_relays", "r.test|ann"},
	};
	static const char *const forms[] = {"%s = %c%s|secret%c\n", "%s = { %c%s|secret%c }\n",
					    "%s = { \"x.test:y.test\", %c%s|secret%c }\n",
					    "%s += %c%s|secret%c # a comment\n"};
	static const char quotes[] = {'"', '\''};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(routes) * COUNT_OF(forms) * COUNT_OF(quotes); i++) {
		const char *setting = routes[i % COUNT_OF(routes)].setting;
		const char *value = routes[i % COUNT_OF(routes)].value;
		const char *form = forms[i / COUNT_OF(routes) % COUNT_OF(forms)];
		char quote = quotes[i / COUNT_OF(routes) / COUNT_OF(forms)];
		struct buffer out CLEANUP(buffer_clear) = {0};
		struct buffer wanted CLEANUP(buffer_clear) = {0};
		char text[300], hidden[100];
		char *at;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(text, sizeof text, form, setting, quote, value, quote);
#pragma GCC diagnostic pop
		snprintf(hidden, sizeof hidden, "|%s", CONFIG_HIDDEN);
		at = strstr(text, "|secret");
		buffer_append(&wanted, text, (size_t)(at - text));
		buffer_append_string(&wanted, hidden);
		buffer_append_string(&wanted, at + strlen("|secret"));
		config_hide_secrets(str_from(text), false, &out);
		if (!str_equal(buffer_view(&out), buffer_view(&wanted)))
			fail_msg("%s becomes " STR_FORMAT, text, STR_ARGUMENTS(buffer_view(&out)));
	}
}

/* Values of others stay, also next to them. */
static void others_are_not_hidden(void **state)
{
	static const char text[] = HOST "qmtproutes = \"a.test:r.test\"\nuser = \"a|b|c\"\n"
					"smtproutes = { } user = x|y|z\n" BOX;
	struct buffer out CLEANUP(buffer_clear) = {0};

	(void)state;
	config_hide_secrets(STR(text), false, &out);
	assert_true(str_equal(buffer_view(&out), STR(text)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_line_that_can_be_read_counts),
		cmocka_unit_test(passwords_are_hidden_wherever_they_are),
		cmocka_unit_test(others_are_not_hidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
