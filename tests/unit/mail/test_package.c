// SPDX-License-Identifier: ISC
/* The names of nodes and packages, which are names of files, too. */
#include "mail/package.h"
#include "test.h"
#include <string.h>

static void nodes_have_names_of_files(void **state)
{
	static const char *const good[] = {"a", "a1", "mx-1.example.net", "-", "...", "0"};
	static const char *const bad[] = {"",    ".",   "..",       "A1", "a/1",
					  "a_1", "a 1", "\303\244", "a\n"};
	char name[MAIL_NODE_MAX + 2];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++)
		assert_true(mail_node_is_valid(str_from(good[i])));
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_false(mail_node_is_valid(str_from(bad[i])));
	assert_false(mail_node_is_valid(STR("a\0b")));
	memset(name, 'a', sizeof name);
	assert_true(mail_node_is_valid(str_slice(name, MAIL_NODE_MAX)));
	assert_false(mail_node_is_valid(str_slice(name, MAIL_NODE_MAX + 1)));
}

static void a_package_has_one_name(void **state)
{
	static const char *const good[] = {"1-0", "457-63f1a2b3c4d5e", "457-63f1a2b3c4d5e.3",
					   "18446744073709551615-7fffffffffffffff.4294967295"};
	static const char *const bad[] = {
		"",        "0-1",      "1",    "1-",    "-1",      "1-2.",  "1-2.0",
		"1-2.03",  "01-2",     "1-02", "1-2.x", "1-2.3.4", "1-2/3", "1-2.4294967296",
		"run.1.2", "1-2.done", "1-FF"};
	char text[MAIL_PACKAGE_SIZE];
	struct mail_package package;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		assert_true(mail_package_parse(str_from(good[i]), &package));
		mail_package_format(package, text);
		assert_string_equal(text, good[i]);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		if (mail_package_parse(str_from(bad[i]), &package))
			fail_msg("%s", bad[i]);
	assert_true(mail_package_parse(STR("457-2.3"), &package));
	assert_int_equal(package.id.number, 457);
	assert_int_equal(package.id.born_us, 2);
	assert_int_equal(package.first, 3);
}

static void both_are_split(void **state)
{
	struct str node;
	struct str name;

	(void)state;
	assert_true(mail_package_split(STR("a1/457-2.3"), &node, &name));
	assert_true(str_equal(node, STR("a1")));
	assert_true(str_equal(name, STR("457-2.3")));
	assert_true(mail_package_split(STR("a1/457-2"), NULL, NULL));
	assert_false(mail_package_split(STR("a1"), NULL, NULL));
	assert_false(mail_package_split(STR("/457-2"), NULL, NULL));
	assert_false(mail_package_split(STR("a1/"), NULL, NULL));
	assert_false(mail_package_split(STR("a1/457-2/"), NULL, NULL));
	assert_false(mail_package_split(STR("../457-2"), NULL, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_have_names_of_files),
		cmocka_unit_test(a_package_has_one_name),
		cmocka_unit_test(both_are_split),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
