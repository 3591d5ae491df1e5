// SPDX-License-Identifier: ISC
#include "directory/lookup.h"
#include "mail/localpart.h"
#include "test.h"
#include <errno.h>
#include <string.h>

static struct config_service services[] = {{.name = "maildir"}, {.name = "other"}};
static const char *listed[] = {"info", "sales", "sales+urgent", "o'neil"};
static struct config_domain domains[] = {
	{.name = "example.org", .service = &services[0]},
	{.name = "listed.example",
	 .service = &services[1],
	 .addresses = listed,
	 .address_count = 4},
};
static const struct config config = {
	.hostname = "mx1.example.org", .domains = domains, .domain_count = COUNT_OF(domains)};

static void addresses_are_answered(void **state)
{
	static const struct {
		const char *address;
		enum directory_answer answer;
		const char *status;
		const char *service; /* of the one target */
		const char *target;
	} cases[] = {
		{"ann@example.org", DIRECTORY_FOUND, "2.1.5", "maildir", "ann@example.org"},
		{"Ann@EXAMPLE.org", DIRECTORY_FOUND, "2.1.5", "maildir", "Ann@EXAMPLE.org"},
		{"\"ann\"@example.org", DIRECTORY_FOUND, "2.1.5", "maildir", "\"ann\"@example.org"},
		{"info@listed.example", DIRECTORY_FOUND, "2.1.5", "other", "info@listed.example"},
		{"INFO@listed.example", DIRECTORY_FOUND, "2.1.5", "other", "INFO@listed.example"},
		{"info+tag@listed.example", DIRECTORY_FOUND, "2.1.5", "other",
		 "info+tag@listed.example"},
		{"sales+urgent@listed.example", DIRECTORY_FOUND, "2.1.5", "other",
		 "sales+urgent@listed.example"},
		{"inf@listed.example", DIRECTORY_REFUSED, "5.1.1", NULL, NULL},
		{"infos@listed.example", DIRECTORY_REFUSED, "5.1.1", NULL, NULL},
		{"+info@listed.example", DIRECTORY_REFUSED, "5.1.1", NULL, NULL},
		{"postmaster@listed.example", DIRECTORY_FOUND, "2.1.5", "other",
		 "postmaster@listed.example"},
		{"PostMaster@listed.example", DIRECTORY_FOUND, "2.1.5", "other",
		 "PostMaster@listed.example"},
		{"postmaster", DIRECTORY_FOUND, "2.1.5", "maildir", "postmaster@example.org"},
		{"postmaster@mx1.example.org", DIRECTORY_FOUND, "2.1.5", "maildir",
		 "postmaster@example.org"},
		{"ann@mx1.example.org", DIRECTORY_NOT_LOCAL, "2.1.5", NULL, NULL},
		{"ann@sub.example.org", DIRECTORY_NOT_LOCAL, "2.1.5", NULL, NULL},
		{"ann@[192.0.2.1]", DIRECTORY_NOT_LOCAL, "2.1.5", NULL, NULL},
		{"ann", DIRECTORY_REFUSED, "5.1.3", NULL, NULL},
		{"ann@", DIRECTORY_REFUSED, "5.1.3", NULL, NULL},
		{"@example.org", DIRECTORY_REFUSED, "5.1.3", NULL, NULL},
		{"", DIRECTORY_REFUSED, "5.1.3", NULL, NULL},
		{"../ann@example.org", DIRECTORY_REFUSED, "5.1.3", NULL, NULL},
		{"\"..\"@example.org", DIRECTORY_REFUSED, "5.1.3", NULL, NULL},
		{"\"a/b\"@example.org", DIRECTORY_REFUSED, "5.1.3", NULL, NULL},
		{"\"ann@example.org", DIRECTORY_REFUSED, "5.1.3", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct directory_result result;

		directory_lookup(&config, str_from(cases[i].address), &result);
		assert_int_equal(result.answer, cases[i].answer);
		assert_string_equal(result.verdict.status, cases[i].status);
		assert_int_equal(result.target_count, cases[i].target != NULL);
		assert_int_equal(result.version, 0);
		if (cases[i].target != NULL) {
			assert_int_equal(result.targets[0].kind, DIRECTORY_TARGET_LOCAL);
			assert_true(
				str_equal(result.targets[0].service, str_from(cases[i].service)));
			assert_true(
				str_equal(result.targets[0].address, str_from(cases[i].target)));
		}
		directory_result_clear(&result);
	}
}

static void relaying_is_for_clients_that_may(void **state)
{
	static const struct {
		const char *address;
		bool may_relay;
		const char *status;
	} cases[] = {
		{"ann@example.org", false, "2.1.5"},    {"ann@example.com", false, "5.7.1"},
		{"ann@example.com", true, "2.1.5"},     {"ann@[192.0.2.1]", false, "5.7.1"},
		{"gone@listed.example", true, "5.1.1"}, {"ann", true, "5.1.3"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mail_verdict verdict;

		directory_check_recipient(&config, cases[i].may_relay, str_from(cases[i].address),
					  &verdict);
		assert_string_equal(verdict.status, cases[i].status);
		assert_int_equal(verdict.class, mail_verdict_class_of(cases[i].status));
	}
}

static void without_domains_there_is_no_postmaster(void **state)
{
	static const struct config empty = {.hostname = "mx1.example.org"};
	struct mail_verdict verdict;

	(void)state;
	directory_check_recipient(&empty, true, STR("postmaster"), &verdict);
	assert_string_equal(verdict.status, "5.1.1");
}

static void local_parts_are_understood(void **state)
{
	static const struct {
		const char *local;
		const char *whole; /* NULL: refused */
		const char *user;
	} cases[] = {
		{"Ann", "ann", "ann"},
		{"ann+Tag+x", "ann+tag+x", "ann"},
		{"+ann", "+ann", "+ann"},
		{"\"a b\"", "a b", "a b"},
		{"\"a\\\"b\"", "a\"b", "a\"b"},
		{"\"\"", NULL, NULL},
		{"\"a", NULL, NULL},
		{"\"a\\", NULL, NULL},
		{"\"a\"b", NULL, NULL},
		{"", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mail_localpart local;
		int result = mail_localpart_parse(str_from(cases[i].local), &local);

		assert_int_equal(result, cases[i].whole != NULL ? 0 : -EINVAL);
		if (result < 0)
			continue;
		assert_true(str_equal(mail_localpart_whole(&local), str_from(cases[i].whole)));
		assert_true(str_equal(mail_localpart_user(&local), str_from(cases[i].user)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_answered),
		cmocka_unit_test(relaying_is_for_clients_that_may),
		cmocka_unit_test(without_domains_there_is_no_postmaster),
		cmocka_unit_test(local_parts_are_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
