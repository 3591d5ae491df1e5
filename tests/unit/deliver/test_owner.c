// SPDX-License-Identifier: ISC
/* As whom a program is not run: Debian's users "sync" and "nobody" have one group. */
#include "config/text.h"
#include "deliver/owner.h"
#include "test.h"
#include <string.h>

static const char TEXT[] =
	"hostname = \"mx.example.org\"\nuser = \"nobody\"\nrun = \"/tmp\"\n" /* root owns it, as the
										supervisor */
	"service group { kind = pipe command = \"/bin/true\" user = \"sync\" }\n"
	"service gone { kind = pipe command = \"/bin/true\" user = \"nobody-at-all\" }\n"
	"service other { kind = pipe command = \"/bin/true\" user = \"daemon\" }\n";

static bool is_found(const struct config *config, const char *service, struct mail_verdict *why)
{
	struct os_process_account owner;

	return owner_find(config, config_service_find(config, str_from(service)), STR("ann@a.test"),
			  &owner, why);
}

static void a_program_is_run_by_none_of_ours(void **state)
{
	struct config_problems problems = {0};
	struct config *config = NULL;
	struct mail_verdict why;

	(void)state;
	assert_int_equal(config_parse("t", STR(TEXT), &config, &problems), 0);
	assert_false(is_found(config, "group", &why));
	assert_false(is_found(config, "gone", &why));
	if (os_process_may_change_user()) {
		assert_string_equal(why.text, "There is no user nobody-at-all to deliver as");
		assert_string_equal(why.status, "4.3.5");
		assert_false(is_found(config, "group", &why));
		assert_string_equal(
			why.text, "No program is run as sync, whose group is that of our sockets");
		assert_true(is_found(config, "other", &why));
	}
	config_free(config);
	config_problems_clear(&problems);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_program_is_run_by_none_of_ours)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
