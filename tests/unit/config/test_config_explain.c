// SPDX-License-Identifier: ISC
#include "config_outcome.h"
#include <string.h>

#define TEXT                                            \
	HOST "maxsize = 52428800\nsplit = 7\n"          \
	     "relay_from = { 10.0.0.0/8 }\n"            \
	     "relay_from += 192.0.2.1\n"                \
	     "transport remote { concurrency = 100 }\n" \
	     "transport list {\n\tconcurrency = 5\n}\n" BOX "process smtpd { user = \"mail\" }\n"

static const char changed[] = "hostname = \"mx.example.org\"  # f:1\n"
			      "split = 7  # f:3\n"
			      "relay_from = { \"10.0.0.0/8\", \"192.0.2.1/32\" }  # f:4\n"
			      "\ntransport \"list\" {  # f:7\n"
			      "\tconcurrency = 5  # f:8\n"
			      "}\n"
			      "\nservice \"box\" {  # f:10\n"
			      "\tkind = maildir  # f:10\n"
			      "\tpath = \"/m/%d/%u\"  # f:10\n"
			      "}\n"
			      "\nprocess \"smtpd\" {  # f:11\n"
			      "\tuser = \"mail\"  # f:11\n"
			      "}\n";

static void what_is_changed_has_its_place(void **state)
{
	struct config *config = config_of(TEXT);
	struct buffer out = {0};

	(void)state;
	config_print_changed(config, "f", str_from(TEXT), &out);
	assert_true(str_equal(buffer_view(&out), str_from(changed)));
	config_free(config);
	buffer_clear(&out);
}

/* What is left out is the default. */
static void what_is_changed_means_the_same(void **state)
{
	struct config *config = config_of(TEXT);
	struct config *again = config_of(changed);
	struct buffer one = {0};
	struct buffer other = {0};

	(void)state;
	config_print(config, &one);
	config_print(again, &other);
	assert_true(str_equal(buffer_view(&one), buffer_view(&other)));
	config_free(config);
	config_free(again);
	buffer_clear(&one);
	buffer_clear(&other);
}

struct explained {
	const char *name;
	const char *value;
	const char *initial;
	unsigned line;
	bool needs_restart;
};

static const struct explained settings[] = {
	{"maxsize", "50M", "50M", 2, false},
	{"split", "7", "97", 3, false},
	{"queue", "\"/var/spool/stagepost\"", "/var/spool/stagepost", 0, true},
	{"relay_from", "{ \"10.0.0.0/8\", \"192.0.2.1/32\" }", "", 4, false},
	{"smtproutes", "{ }", "", 0, false},
	{"transport remote.concurrency", "100", "100", 6, false},
	{"transport box.concurrency", "100", "100", 0, false},
	{"service box.kind", "maildir", NULL, 10, false},
	{"process smtpd.user", "\"mail\"", "", 11, true},
};

static void a_setting_is_explained(void **state)
{
	struct config *config = config_of(TEXT);
	struct buffer why = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(settings); i++) {
		const struct explained *wanted = &settings[i];
		struct config_explanation found;

		if (!config_explain(config, str_from(TEXT), wanted->name, &found, &why))
			fail_msg("%s is none", wanted->name);
		print_message("%s\n", wanted->name);
		assert_true(str_equal(buffer_view(&found.value), str_from(wanted->value)));
		if (wanted->initial == NULL)
			assert_null(found.initial);
		else
			assert_string_equal(found.initial, wanted->initial);
		assert_int_equal(found.position.line, wanted->line);
		assert_int_equal(found.needs_restart, wanted->needs_restart);
		assert_true(found.allowed.length > 0 && strlen(found.meaning) > 0);
		config_explanation_clear(&found);
	}
	assert_int_equal(why.length, 0);
	config_free(config);
}

static const char *const unknown[][2] = {
	{"maxsiz", "maxsiz: unknown setting: did you mean \"maxsize\"?"},
	{"service box.pat", "service box.pat: unknown setting: did you mean \"path\"?"},
	{"service nowhere.path",
	 "service nowhere.path: there is no such section in the configuration"},
	{"directory.ttl", "directory.ttl: there is no such section in the configuration"},
	{"", ": unknown setting"},
};

static void what_is_none_is_said(void **state)
{
	struct config *config = config_of(TEXT);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(unknown); i++) {
		struct config_explanation found;
		struct buffer why = {0};

		assert_false(config_explain(config, str_from(TEXT), unknown[i][0], &found, &why));
		assert_true(str_equal(buffer_view(&why), str_from(unknown[i][1])));
		config_explanation_clear(&found);
		buffer_clear(&why);
	}
	config_free(config);
}

struct change {
	const char *text;
	const char *fixed;
};

static const struct change changes[] = {
	{HOST "split = 9\n", NULL},
	{HOST "queue = /q\n", "queue"},
	{HOST "run = /r\n", "run"},
	{HOST "user = someone\n", "user"},
	{HOST "smtpd_workers = 3\n", "smtpd_workers"},
	{HOST "process remote { user = mail }\n", "user of processes"},
	{HOST "directory { backend = sqlite path = /d }\n", "backend of the directory"},
};

static void what_needs_a_restart_is_known(void **state)
{
	struct config *old = config_of(HOST);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(changes); i++) {
		struct config *new = config_of(changes[i].text);
		const char *found = config_fixed_change(old, new);

		assert_int_equal(found == NULL, changes[i].fixed == NULL);
		if (found != NULL)
			assert_string_equal(found, changes[i].fixed);
		config_free(new);
	}
	config_free(old);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_changed_has_its_place),
		cmocka_unit_test(what_is_changed_means_the_same),
		cmocka_unit_test(a_setting_is_explained),
		cmocka_unit_test(what_is_none_is_said),
		cmocka_unit_test(what_needs_a_restart_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
