// SPDX-License-Identifier: ISC
/* The sections destination. */
#include "base/attributes.h"
#include "config_outcome.h"

#define ALLOWED "allowed: NAME, \".NAME\", \"mx:NAME\", \"mx:*.NAME\", \"*\"\n"

static const struct refusal cases[] = {
	{HOST "destination \"a b\" { }",
	 "t:2: destination a b: not a mask of destinations; " ALLOWED},
	{HOST "destination \"*.example.org\" { }",
	 "t:2: destination *.example.org: not a mask of destinations; " ALLOWED},
	{HOST "destination \"mx:192.0.2.0/24\" { }",
	 "t:2: destination mx:192.0.2.0/24: not a mask of destinations; " ALLOWED},
	{HOST "destination \"mx:\" { }",
	 "t:2: destination mx:: not a mask of destinations; " ALLOWED},
	{HOST "destination \"*\" { }\ndestination \"example.org\" { }",
	 "t:3: destination example.org: never applies: destination \"*\" comes first and has "
	 "all mail; allowed: \"*\" as the last destination\n"},
	{HOST "destination \"mx:*.X.example\" { }\ndestination \"mx:*.x.EXAMPLE\" { }",
	 "t:3: destination mx:*.x.EXAMPLE: is there twice; allowed: another mask\n"},
	{HOST "destination \"*\" { per = sender }",
	 "t:2: destination *.per: unknown word: found \"sender\"; allowed: domain, host, "
	 "owner\n"},
	{HOST "destination \"*\" { delay = 2m }",
	 "t:2: destination *.delay: too large: found \"2m\"; allowed: a number of seconds, or "
	 "of m, h, d or w, from 0 to 1m\n"},
};

static void test_wrong_ones(void **state)
{
	(void)state;
	check_refusals(cases, sizeof cases / sizeof *cases);
}

static void test_right_ones(void **state)
{
	static const struct {
		const char *mask;
		const char *canonical;
		enum config_destination_kind kind;
		const char *name;
	} masks[] = {
		{"Example.ORG", "example.org", CONFIG_DESTINATION_DOMAIN, "example.org"},
		{".Example.org", ".example.org", CONFIG_DESTINATION_BELOW, "example.org"},
		{"mx:MX.google.com", "mx:mx.google.com", CONFIG_DESTINATION_HOST, "mx.google.com"},
		{"mx:*.google.com", "mx:*.google.com", CONFIG_DESTINATION_HOSTS, "google.com"},
		{"mx:192.0.2.1", "mx:192.0.2.1", CONFIG_DESTINATION_HOST, "192.0.2.1"},
		{"*", "*", CONFIG_DESTINATION_ALL, ""},
	};
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct config *config;

	(void)state;
	buffer_append_string(&text, HOST);
	for (size_t i = 0; i < COUNT_OF(masks); i++)
		buffer_append_format(&text, "destination \"%s\" { messages = %zu }\n",
				     masks[i].mask, i);
	buffer_append_byte(&text, '\0');
	config = config_of(buffer_data(&text));
	assert_int_equal(config->destination_count, COUNT_OF(masks));
	for (size_t i = 0; i < COUNT_OF(masks); i++) {
		const struct config_destination *destination = &config->destinations[i];

		assert_string_equal(destination->mask, masks[i].canonical);
		assert_string_equal(destination->name, masks[i].name);
		assert_int_equal(destination->kind, masks[i].kind);
		assert_int_equal(destination->messages, i);
		assert_int_equal(destination->per, CONFIG_DESTINATION_PER_DOMAIN);
		assert_int_equal(destination->interval_us, INT64_C(60000000));
		assert_int_equal(destination->concurrency + destination->sessions, 0);
		assert_int_equal(destination->delay_us, 0);
	}
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong_ones),
		cmocka_unit_test(test_right_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
