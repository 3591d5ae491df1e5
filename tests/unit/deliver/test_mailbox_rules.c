// SPDX-License-Identifier: ISC
/* Which rule decides about a copy, and masks. */
#include "base/text/mask.h"
#include "deliver/mailbox/rules.h"
#include "unit/config/config_outcome.h"

static void masks(void **state)
{
	static const struct {
		const char *mask, *text;
		bool matches;
	} cases[] = {
		{"*", "", true},
		{"?", "", false},
		{"", "a", false},
		{"a*b*c", "aXXbYYbZc", true},
		{"a*b*c", "aXXbYYbZ", false},
		{"*ab", "aab", true},
		{"*AB?", "xabAbz", true},
		{"**a**", "bab", true},
		{"?\xc3\xa9*", "r\xc3\xa9union", true},
		{"\xc3\x89*", "\xc3\xa9", false},
	};
	struct buffer hard = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(mask_matches(str_from(cases[i].mask), str_from(cases[i].text)),
				 cases[i].matches);
	for (size_t i = 0; i < 998; i++)
		buffer_append_byte(&hard, 'a');
	assert_false(mask_matches(STR("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b"), buffer_view(&hard)));
	buffer_clear(&hard);
}

static const char RULES[] =
	HOST "service box { kind = mailbox path = \"/m/%d/%u\" }\n"
	     "service far { kind = mailbox path = \"/f/%d/%u\" }\n"
	     "rule far { service = far sender = \"*@*\" }\n"
	     "rule field { header = { \"X-A: yes*\", X-B } recipient = \"ann@*\" }\n"
	     "rule subject { header = \"Subject: hello*\" }\n"
	     "rule null { sender = \"<>\" }\n"
	     "rule domain { sender = \"*.example.net\" }\n"
	     "rule whole { sender = \"bob@*.org\" detail = \"x?\" }\n"
	     "rule any { sender = \"tag@*\" detail = \"*\" }\n"
	     "rule size { larger = 10 smaller = 20 }\n"
	     "rule no { automatic = no detail = \"no\" }\n"
	     "rule yes { automatic = yes }\n";

static const struct {
	const char *sender, *a, *b, *subject, *user, *detail;
	uint64_t size;
	bool is_automatic;
	const char *rule;
} cases[] = {
	{"x@y", "YES, 9", NULL, "", "ann@d", "", 1, false, "field"},
	{"x@y", "YES, 9", NULL, "", "annie@d", "", 1, false, ""},
	{"x@y", "no", "", "", "ann@d", "", 1, false, "field"},
	{"x@y", "no", NULL, "Hello you", "ann@d", "", 1, false, "subject"},
	{"x@y", NULL, NULL, "Hell", "ann@d", "", 1, false, ""},
	{"", NULL, NULL, "", "ann@d", "", 1, false, "null"},
	{"", NULL, NULL, "", "ann@d", "", 15, true, "null"},
	{"x@A.Example.Net", NULL, NULL, "", "ann@d", "", 1, false, "domain"},
	{"x@example.net", NULL, NULL, "", "ann@d", "", 1, false, ""},
	{"bob@a.org", NULL, NULL, "", "ann@d", "x1", 1, false, "whole"},
	{"bob@a.org", NULL, NULL, "", "ann@d", "x", 1, false, ""},
	{"bob@a.org", NULL, NULL, "", "ann@d", "", 1, false, ""},
	{"tag@y", NULL, NULL, "", "ann@d", "q", 1, false, "any"},
	{"tag@y", NULL, NULL, "", "ann@d", "", 1, false, ""},
	{"x@y", NULL, NULL, "", "ann@d", "", 10, false, ""},
	{"x@y", NULL, NULL, "", "ann@d", "", 11, false, "size"},
	{"x@y", NULL, NULL, "", "ann@d", "", 19, false, "size"},
	{"x@y", NULL, NULL, "", "ann@d", "", 20, false, ""},
	{"x@y", NULL, NULL, "", "ann@d", "no", 1, false, "no"},
	{"x@y", NULL, NULL, "", "ann@d", "no", 1, true, "yes"},
	{"x@y", NULL, NULL, "", "ann@d", "", 1, true, "yes"},
};

static struct str text_of(const char *text)
{
	return text != NULL ? str_from(text) : (struct str){0};
}

static void check(const struct config *config, size_t number, struct arena *arena)
{
	struct decode_identity identity = {.is_automatic = cases[number].is_automatic};
	struct decode_message decoded = {.subject = str_from(cases[number].subject)};
	struct mailbox_rules_facts facts = {.identity = &identity,
					    .decoded = &decoded,
					    .sender = str_from(cases[number].sender),
					    .size = cases[number].size};
	const struct config_rule *rule;
	bool holds[CONFIG_RULES_MAX];

	mailbox_rules_fields(config, arena, &facts.fields);
	assert_int_equal(facts.fields.count, 3);
	facts.fields.fields[0].value = text_of(cases[number].a);
	facts.fields.fields[1].value = text_of(cases[number].b);
	facts.fields.fields[2].value = STR("=?utf-8?q?as_it_came?=");
	mailbox_rules_weigh(config, &config->services[0], &facts, holds);
	rule = mailbox_rules_choose(config, holds, str_from(cases[number].user),
				    str_from(cases[number].detail));
	if (strcmp(rule != NULL ? rule->name : "", cases[number].rule) != 0)
		fail_msg("case %zu: %s", number, rule != NULL ? rule->name : "none");
}

static void the_first_that_matches(void **state)
{
	struct config *config = config_of(RULES);
	struct arena *arena = arena_new();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		check(config, i, arena);
	arena_free(arena);
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(masks),
		cmocka_unit_test(the_first_that_matches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
