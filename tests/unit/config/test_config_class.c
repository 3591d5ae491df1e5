// SPDX-License-Identifier: ISC
/* The sections class: what is allowed, in which order, and every problem by its line. */
#include "config_outcome.h"

#define LIMITS        "{ queue = 8 refuse = 3 }\n"
#define ALLOWED_MASKS "NAME, \"*.NAME\", ADDRESS, ADDRESS/PREFIX (IPv4 or IPv6), \"*\""

static const struct refusal mask_cases[] = {
	{HOST "class \"\" " LIMITS "class \"*\" " LIMITS,
	 "t:2: class : not a mask of hosts; allowed: " ALLOWED_MASKS "\n"},
	{HOST "class \"a*.b\" " LIMITS "class \"*\" " LIMITS,
	 "t:2: class a*.b: not a mask of hosts; allowed: " ALLOWED_MASKS "\n"},
	{HOST "class \"*.*\" " LIMITS "class \"*\" " LIMITS,
	 "t:2: class *.*: not a mask of hosts; allowed: " ALLOWED_MASKS "\n"},
	{HOST "class \"*.\" " LIMITS "class \"*\" " LIMITS,
	 "t:2: class *.: not a mask of hosts; allowed: " ALLOWED_MASKS "\n"},
	{HOST "class \".d.example\" " LIMITS "class \"*\" " LIMITS,
	 "t:2: class .d.example: not a mask of hosts; allowed: " ALLOWED_MASKS "\n"},
	{HOST "class \"d.example.\" " LIMITS "class \"*\" " LIMITS,
	 "t:2: class d.example.: not a mask of hosts; allowed: " ALLOWED_MASKS "\n"},
	{HOST "class \"10.1.0.1/16\" " LIMITS "class \"*\" " LIMITS,
	 "t:2: class 10.1.0.1/16: bits are set after the prefix; allowed: " ALLOWED_MASKS "\n"},
	{HOST "class \"10.1.0.0/33\" " LIMITS "class \"*\" " LIMITS,
	 "t:2: class 10.1.0.0/33: wrong prefix length; allowed: " ALLOWED_MASKS "\n"},
	{HOST "class \"10.1.0.0.0\" " LIMITS "class \"*\" " LIMITS,
	 "t:2: class 10.1.0.0.0: not a mask of hosts; allowed: " ALLOWED_MASKS "\n"},
	{HOST "class \"d.example/24\" " LIMITS "class \"*\" " LIMITS,
	 "t:2: class d.example/24: not an IP network; allowed: " ALLOWED_MASKS "\n"},
};

static const struct refusal limit_cases[] = {
	{HOST "class \"*\" { }", "t:2: class *.queue: must be set; allowed: a number from 1 to "
				 "1000000\n"
				 "t:2: class *.refuse: must be set; allowed: a number from 1 to "
				 "1000000\n"},
	{HOST "class \"*\" { queue = 0 refuse = -1 }",
	 "t:2: class *.queue: too small: found \"0\"; allowed: a number from 1 to 1000000\n"
	 "t:2: class *.refuse: not a number: found \"-1\"; allowed: a number from 1 to 1000000\n"},
	{HOST "class \"*\" { queue = 1 refuse = 1 count = some }",
	 "t:2: class *.count: unknown word: found \"some\"; allowed: active, all\n"},
	{HOST "load_queue = high\nload_refuse = 100001",
	 "t:2: load_queue: not a number: found \"high\"; allowed: a number from 0 to 100000\n"
	 "t:3: load_refuse: too large: found \"100001\"; allowed: a number from 0 to 100000\n"},
};

static const struct refusal order_cases[] = {
	{HOST "class \"*.d.example\" " LIMITS,
	 "t:2: class *.d.example: no class \"*\" follows, which has all other hosts; allowed: "
	 "class \"*\" as the last class\n"},
	{HOST "class \"*\" " LIMITS "class \"d.example\" " LIMITS,
	 "t:3: class d.example: never applies: class \"*\" in line 2 comes first and has all of "
	 "its hosts; allowed: \"*\" as the last class\n"},
	{HOST "class \"*\" " LIMITS "class \"*\" " LIMITS,
	 "t:3: class *: given twice: first in line 2\n"},
	{HOST "class \"D.example\" " LIMITS "class \"d.example\" " LIMITS "class \"*\" " LIMITS,
	 "t:3: class d.example: given twice: first in line 2\n"},
	{HOST "class \"192.0.2.7\" " LIMITS "class \"192.0.2.7/32\" " LIMITS "class \"*\" " LIMITS,
	 "t:3: class 192.0.2.7/32: given twice: first in line 2\n"},
	{HOST "class \"*.d.example\" " LIMITS "class \"mx.d.example\" " LIMITS
	      "class \"*.e.d.example\" " LIMITS "class \"d.example\" " LIMITS "class \"*\" " LIMITS,
	 "t:3: class mx.d.example: never applies: class \"*.d.example\" in line 2 comes first and "
	 "has all of its hosts; allowed: the narrower class first\n"
	 "t:4: class *.e.d.example: never applies: class \"*.d.example\" in line 2 comes first and "
	 "has all of its hosts; allowed: the narrower class first\n"
	 "t:5: class d.example: never applies: class \"*.d.example\" in line 2 comes first and has "
	 "all of its hosts; allowed: the narrower class first\n"},
	{HOST "class \"10.0.0.0/8\" " LIMITS "class \"10.1.0.0/16\" " LIMITS "class \"*\" " LIMITS,
	 "t:3: class 10.1.0.0/16: never applies: class \"10.0.0.0/8\" in line 2 comes first and "
	 "has all of its hosts; allowed: the narrower class first\n"},
	{HOST "client_names = no\nclass \"192.0.2.7\" " LIMITS "class \"d.example\" " LIMITS
	      "class \"*\" " LIMITS,
	 "t:4: class d.example: a class by name needs the names of clients; allowed: client_names "
	 "= yes\n"},
};

static void masks_are_of_few_forms(void **state)
{
	(void)state;
	check_refusals(mask_cases, COUNT_OF(mask_cases));
}

static void limits_have_their_range(void **state)
{
	(void)state;
	check_refusals(limit_cases, COUNT_OF(limit_cases));
}

static void the_order_leaves_no_class_without_hosts(void **state)
{
	(void)state;
	check_refusals(order_cases, COUNT_OF(order_cases));
}

static void too_many_classes_are_refused(void **state)
{
	struct buffer text = {0};
	struct buffer out;

	(void)state;
	buffer_append_string(&text, HOST);
	for (unsigned i = 0; i < CONFIG_CLASSES_MAX; i++)
		buffer_append_format(&text, "class \"192.0.2.%u\" " LIMITS, i);
	buffer_append_string(&text, "class \"*\" " LIMITS);
	out = outcome_of(buffer_view(&text));
	assert_true(str_equal(buffer_view(&out),
			      STR("t:130: class *: too many classes; allowed: at most 128\n")));
	buffer_clear(&text);
	buffer_clear(&out);
}

/* Networks are printed in canonical form, "::/0" covers no IPv4 network, and a name no address. */
static void right_classes_are_kept_in_their_order(void **state)
{
	static const char printed[] =
		"\nclass \"mx.d.example\" {\n"
		"	queue = 8\n	refuse = 3\n	count = active\n	source = \"\"\n}\n"
		"\nclass \"*.d.example\" {\n"
		"	queue = 8\n	refuse = 3\n	count = active\n	source = \"\"\n}\n"
		"\nclass \"::/0\" {\n"
		"	queue = 8\n	refuse = 3\n	count = active\n	source = \"\"\n}\n"
		"\nclass \"10.1.0.0/16\" {\n"
		"	queue = 8\n	refuse = 3\n	count = active\n	source = \"\"\n}\n"
		"\nclass \"10.0.0.0/8\" {\n"
		"	queue = 8\n	refuse = 3\n	count = active\n	source = \"\"\n}\n"
		"\nclass \"*\" {\n"
		"	queue = 16\n	refuse = 15\n	count = all\n	source = \"\"\n}\n";
	struct buffer out =
		outcome_of(STR(HOST "class \"MX.d.example\" " LIMITS "class \"*.d.example\" " LIMITS
				    "class \"0::/0\" " LIMITS "class \"10.1.0.0/16\" " LIMITS
				    "class \"10.0.0.0/8\" " LIMITS
				    "class \"*\" { queue = 16 refuse = 15 count = all }\n"));
	struct buffer again;

	(void)state;
	buffer_append_byte(&out, '\0');
	assert_non_null(strstr(buffer_data(&out), printed));
	again = outcome_of(str_from(buffer_data(&out)));
	assert_true(str_equal(buffer_view(&again), str_from(buffer_data(&out))));
	buffer_clear(&again);
	buffer_clear(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(masks_are_of_few_forms),
		cmocka_unit_test(limits_have_their_range),
		cmocka_unit_test(the_order_leaves_no_class_without_hosts),
		cmocka_unit_test(too_many_classes_are_refused),
		cmocka_unit_test(right_classes_are_kept_in_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
