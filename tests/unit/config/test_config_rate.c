// SPDX-License-Identifier: ISC
/* The sections rate. */
#include "config_outcome.h"

#define RATE(settings) HOST "rate r { " settings " }\n"

static const struct refusal cases[] = {
	{RATE("count = messages interval = 1m"), "t:2: rate r.limit: must be set; allowed: a "
						 "number of bytes, or of K, M, G or T, from 1 to "
						 "1T\n"},
	{RATE("count = letters limit = 1 interval = 1m"),
	 "t:2: rate r.count: unknown word: found \"letters\"; allowed: connections, messages, "
	 "recipients, bytes, refusals, failed_logins\n"},
	{RATE("count = failed_logins per = user limit = 1 interval = 1m"),
	 "t:2: rate r.per: who fails to log in has no user; allowed: address, class, all; for "
	 "users there is failure_limit of section auth\n"},
	{RATE("count = connections per = sender_domain limit = 1 interval = 1m"),
	 "t:2: rate r.per: is not known yet when a client connects; allowed: address, class, "
	 "all\n"},
	{HOST "rate A { count = messages limit = 1 interval = 1m }",
	 "t:2: rate A: not a name; allowed: 1 to 32 of a-z, 0-9, hyphen and underscore\n"},
	{RATE("count = messages limit = 1 interval = 1m") "rate r { count = bytes limit = 1 "
							  "interval = 1h }",
	 "t:3: rate r: is there twice; allowed: another name\n"},
	{RATE("count = messages limit = 1 interval = 1m class = \"10.0.0.0/8\""),
	 "t:2: rate r.class: there is no such section class; allowed: the mask of one, as "
	 "stagepost "
	 "config prints it\n"},
	{RATE("count = messages limit = 0 interval = 32d"),
	 "t:2: rate r.limit: too small: found \"0\"; allowed: a number of bytes, or of K, M, G or "
	 "T, from 1 to 1T\n"
	 "t:2: rate r.interval: too large: found \"32d\"; allowed: a number of seconds, or of m, "
	 "h, d or w, from 1s to 31d\n"},
};

static void test_wrong_ones(void **state)
{
	(void)state;
	check_refusals(cases, sizeof cases / sizeof *cases);
}

static void test_at_most_eight_of_a_kind(void **state)
{
	struct buffer text = {0};
	struct buffer out;

	(void)state;
	buffer_append_string(&text, HOST);
	for (unsigned i = 1; i <= 9; i++)
		buffer_append_format(
			&text, "rate r%u { count = messages limit = %u interval = 1m }\n", i, i);
	out = outcome_of(buffer_view(&text));
	assert_true(str_equal(buffer_view(&out),
			      STR("t:10: rate r9.per: more than eight sections rate have the same; "
				  "allowed: at most eight for each\n")));
	buffer_clear(&out);
	buffer_clear(&text);
}

static void test_a_right_one(void **state)
{
	struct config *config = config_of(
		HOST
		"rate spam-1 { count = bytes per = user limit = 2G interval = 1d answer = close "
		"full = refuse class = \"10.0.0.0/8\" }\nclass \"10.0.0.0/8\" { queue = 5 refuse = "
		"5 "
		"}\nclass \"*\" { queue = 9 refuse = 9 }");
	const struct config_rate *rate = config->rates;

	(void)state;
	assert_int_equal(config->rate_count, 1);
	assert_string_equal(rate->name, "spam-1");
	assert_int_equal(rate->count, CONFIG_RATE_BYTES);
	assert_int_equal(rate->per, CONFIG_RATE_PER_USER);
	assert_int_equal(rate->limit, UINT64_C(2) << 30);
	assert_int_equal(rate->interval_us, 86400 * INT64_C(1000000));
	assert_int_equal(rate->answer, CONFIG_RATE_CLOSE);
	assert_int_equal(rate->full, CONFIG_RATE_FULL_REFUSE);
	assert_string_equal(rate->class_mask, "10.0.0.0/8");
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong_ones),
		cmocka_unit_test(test_at_most_eight_of_a_kind),
		cmocka_unit_test(test_a_right_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
