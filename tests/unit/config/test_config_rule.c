// SPDX-License-Identifier: ISC
/* The sections rule. */
#include "config_outcome.h"

#define ONCE           HOST "service box { kind = mailbox path = \"/m/%d/%u\" }\n"
#define RULE(settings) ONCE "rule r { " settings " }\n"
#define MASKS          "at most 255 bytes, with * and ?; <> for no sender"

static const struct refusal cases[] = {
	{ONCE "rule A { }",
	 "t:3: rule A: a rule cannot be called this; allowed: 1 to 32 of a-z, 0-9, "
	 "'-', '_'\n"},
	{RULE("header = \": x\""), "t:3: rule r.header: not the name of a header field: found \": "
				   "x\"; allowed: NAME, \"NAME: MASK\" with a mask of 1 to 255 "
				   "bytes with * and ?\n"},
	{RULE("header = \"List-Id:\""), "t:3: rule r.header: not a mask: found \"List-Id:\"; "
					"allowed: NAME, \"NAME: MASK\" with a mask of 1 to 255 "
					"bytes with * and ?\n"},
	{RULE("sender = \"ann@\""), "t:3: rule r.sender: not a mask of addresses: found \"ann@\"; "
				    "allowed: LOCAL@DOMAIN or DOMAIN of " MASKS "\n"},
	{RULE("service = nobody"), "t:3: rule r.service: there is no such service; allowed: the "
				   "name of a service of kind mailbox or imap\n"},
	{RULE("detail = x\nfolder = \"a//b\" flags = { none, seen }"),
	 "t:4: rule r.folder: not a folder; allowed: names of at most 255 bytes of UTF-8, with / "
	 "between levels\n"
	 "t:4: rule r.flags: not a flag; allowed: seen, flagged, draft; or none alone\n"},
	{HOST "service box { kind = mailbox path = \"/m/%d/%u\" folder = \"v1.2\" sent_folder = "
	      "\"~s\" }\n",
	 "t:2: service box.folder: not a folder of a Maildir; allowed: names without \".\" and "
	 "without \"~\" at the beginning\n"
	 "t:2: service box.sent_folder: not a folder of a Maildir; allowed: names without \".\" "
	 "and "
	 "without \"~\" at the beginning\n"},
	{RULE("folder = \"%u\""), "t:3: rule r.folder: an unknown % sequence; allowed: %x\n"},
	{RULE("folder = \"a%%x\""), "t:3: rule r.folder: an unknown % sequence; allowed: %x\n"},
	{RULE("folder = \"a%\""), "t:3: rule r.folder: an unknown % sequence; allowed: %x\n"},
	{RULE("larger = 10 smaller = 11"), "t:3: rule r.smaller: no size is larger and smaller; "
					   "allowed: at least two bytes more than larger\n"},
	{RULE("") "rule b { larger = 1 }\n",
	 "t:4: rule b: never applies: rule r in line 3 comes first and has all of its messages; "
	 "allowed: the narrower rule first\n"},
	{RULE("detail = x") "rule r { detail = y }\n",
	 "t:4: rule r: given twice: first in line 3\n"},
};

static void test_wrong_ones(void **state)
{
	(void)state;
	check_refusals(cases, sizeof cases / sizeof *cases);
}

/* COUNT rules, each with the settings that FORMAT makes of its number. */
static void check_many(unsigned count, const char *format, const char *problem)
{
	struct buffer text = {0};
	struct buffer out;

	buffer_append_string(&text, ONCE);
	for (unsigned i = 1; i <= count; i++) {
		buffer_append_format(&text, "rule r%u { larger = %u header = { ", i, i);
		for (unsigned j = 0; j < 6; j++)
			buffer_append_format(&text, format, j > 0 ? ", " : "", i * 6 + j);
		buffer_append_string(&text, "} }\n");
	}
	out = outcome_of(buffer_view(&text));
	if (problem == NULL)
		assert_true(str_starts_with(buffer_view(&out), STR("hostname")));
	else
		assert_true(str_equal(buffer_view(&out), str_from(problem)));
	buffer_clear(&out);
	buffer_clear(&text);
}

static void test_all_together_have_a_bound(void **state)
{
	(void)state;
	check_many(83, "%s\"Subject: %u\"", NULL);
	check_many(84, "%s\"Subject: %u\"",
		   "t:86: rule r84: too many masks in all rules so far; allowed: at most 500\n");
	check_many(5, "%sX-%u", NULL);
	check_many(6, "%sX-%u",
		   "t:8: rule r6.header: too many names of fields in all rules so far; allowed: at "
		   "most 32 different ones\n");
}

static void test_a_right_one(void **state)
{
	struct config *config = config_of(
		RULE("service = box header = { \"List-Id: *<dev.example.org>\", X-Spam-Flag } "
		     "sender = \"<>\" recipient = \"*@mail.test\" detail = \"l*\" larger = 1K "
		     "smaller = 1M automatic = yes folder = \"Lists/%x\" flags = { none } sent = "
		     "no"));
	const struct config_rule *rule = config->rules;

	(void)state;
	assert_int_equal(config->rule_count, 1);
	assert_string_equal(rule->name, "r");
	assert_string_equal(rule->service, "box");
	assert_int_equal(rule->header_count, 2);
	assert_string_equal(rule->headers[0].name, "list-id");
	assert_string_equal(rule->headers[0].mask, "*<dev.example.org>");
	assert_string_equal(rule->headers[1].mask, "*");
	assert_int_equal(rule->larger, 1024);
	assert_int_equal(rule->automatic, CONFIG_RULE_AUTOMATIC);
	assert_string_equal(rule->folder, "Lists/%x");
	assert_false(rule->sent);
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong_ones),
		cmocka_unit_test(test_all_together_have_a_bound),
		cmocka_unit_test(test_a_right_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
