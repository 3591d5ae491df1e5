// SPDX-License-Identifier: ISC
#include "directory/lookup/lookup.h"
#include "mail/localpart.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct config_service services[] = {{.name = "maildir"}, {.name = "other"}};
static const char *listed[] = {"info", "sales", "sales+urgent", "o'neil", "\xc3\xa4\xc3\xb6"};
static struct config_domain domains[] = {
	{.name = "example.org", .service = &services[0]},
	{.name = "listed.example",
	 .service = &services[1],
	 .addresses = listed,
	 .address_count = COUNT_OF(listed)},
	{.name = "xn--bcher-kva.example", .service = &services[0]},
};
static const struct config_domain *domain_index[] = {&domains[0], &domains[1],
						     &domains[2]}; /* by name */
static const struct config config = {.hostname = "mx1.example.org",
				     .recipient_delimiter = "+",
				     .domains = domains,
				     .domain_count = COUNT_OF(domains),
				     .domain_index = domain_index,
				     .services = services,
				     .service_count = COUNT_OF(services)};

static struct directory_result last; /* of the last question; its texts are gone */
static struct directory_target target;
static char texts[2][512];

static void found(void *context, const struct directory_result *answer)
{
	bool *was_called = context;

	assert_false(*was_called);
	*was_called = true;
	last = *answer;
	if (answer->target_count == 0)
		return;
	target = answer->targets[0];
	snprintf(texts[0], sizeof texts[0], STR_FORMAT, STR_ARGUMENTS(target.service));
	snprintf(texts[1], sizeof texts[1], STR_FORMAT, STR_ARGUMENTS(target.address));
}

/* The configuration answers at once. */
static void look_up(const struct config *from, const char *address)
{
	struct os_loop *loop = os_loop_new();
	struct directory *directory = directory_new(loop, from, "/nowhere");
	struct directory_request request = {0};
	bool was_called = false;

	directory_lookup(directory, str_from(address), found, &was_called, &request);
	assert_true(was_called);
	directory_request_cancel(&request);
	directory_free(directory);
	os_loop_free(loop);
}

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
		{"ann@xn--bcher-kva.example", DIRECTORY_FOUND, "2.1.5", "maildir",
		 "ann@xn--bcher-kva.example"},
		{"ann@b\xc3\xbc"
		 "cher.example",
		 DIRECTORY_FOUND, "2.1.5", "maildir", "ann@xn--bcher-kva.example"},
		{"ann@B\xc3\x9c"
		 "cher.EXAMPLE",
		 DIRECTORY_FOUND, "2.1.5", "maildir", "ann@xn--bcher-kva.example"},
		{"ann@bu\xcc\x88"
		 "cher.example",
		 DIRECTORY_FOUND, "2.1.5", "maildir", "ann@xn--bcher-kva.example"},
		{"\xc3\x84\xc3\x96+x@listed.example", DIRECTORY_FOUND, "2.1.5", "other",
		 "\xc3\xa4\xc3\xb6+x@listed.example"},
		{"\xc3\xa4@listed.example", DIRECTORY_REFUSED, "5.1.1", NULL, NULL},
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
		look_up(&config, cases[i].address);
		assert_int_equal(last.answer, cases[i].answer);
		assert_string_equal(last.verdict.status, cases[i].status);
		assert_int_equal(last.target_count, cases[i].answer != DIRECTORY_NOT_LOCAL);
		assert_int_equal(last.version, 0);
		if (cases[i].target == NULL)
			continue;
		assert_int_equal(target.kind, DIRECTORY_TARGET_LOCAL);
		assert_string_equal(texts[0], cases[i].service);
		assert_string_equal(texts[1], cases[i].target);
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

		look_up(&config, cases[i].address);
		assert_null(directory_judge_recipient(&last, cases[i].may_relay, &verdict));
		assert_string_equal(verdict.status, cases[i].status);
		assert_int_equal(verdict.class, mail_verdict_class_of(cases[i].status));
	}
}

static void without_domains_there_is_no_postmaster(void **state)
{
	static const struct config empty = {.hostname = "mx1.example.org",
					    .recipient_delimiter = "+"};
	struct config other = config;

	(void)state;
	/* a domain that is not configured is none of ours: without a directory nobody has it */
	look_up(&(struct config){.hostname = "mx1.example.org",
				 .recipient_delimiter = "+",
				 .default_domain = "d.test"},
		"postmaster");
	assert_string_equal(last.verdict.status, "5.1.1");
	look_up(&empty, "postmaster");
	assert_string_equal(last.verdict.status, "5.1.1");
	other.default_domain = "d.test";
	look_up(&other, "postmaster");
	assert_string_equal(texts[1], "postmaster@example.org");
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
		{"\xc3\x84\xc3\x96+T", "\xc3\xa4\xc3\xb6+t", "\xc3\xa4\xc3\xb6"},
		{"A\xcc\x88", "\xc3\xa4", "\xc3\xa4"},
		{"\xff"
		 "A",
		 "\xff"
		 "a",
		 "\xff"
		 "a"},
		{"\"a b\"", "a b", "a b"},
		{"\"a\\\"b\"", "a\"b", "a\"b"},
		/* an escaped + begins no extension */
		{"\"Ann\\+x\"", "ann+x", "ann+x"},
		{"\"ann\\+x+y\\+z\"", "ann+x+y+z", "ann+x"},
		{"\"\\+a+b\"", "+a+b", "+a"},
		{"\"ann+x\"", "ann+x", "ann"},
		{"\"A\xcc\x88\\+b+c\"", "\xc3\xa4+b+c", "\xc3\xa4+b"},
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

static void quotes_are_there_where_they_are_needed(void **state)
{
	static const struct {
		const char *local;
		const char *bare;
		const char *address;
	} cases[] = {
		{"ann", "ann", "ann@a.test"},
		{"\"ann\"", "ann", "ann@a.test"},
		{"\"a b\"", "a b", "\"a b\"@a.test"},
		{"\"a@b\"", "a@b", "\"a@b\"@a.test"},
		{"\"a\\\"\\\\b\"", "a\"\\b", "\"a\\\"\\\\b\"@a.test"},
		{"\"a..b\"", "a..b", "\"a..b\"@a.test"},
		{"j\xc3\xb6rg", "j\xc3\xb6rg", "j\xc3\xb6rg@a.test"},
		{"[1]", "[1]", "\"[1]\"@a.test"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer bare = {0};
		struct buffer address = {0};

		mail_local_unquote(str_from(cases[i].local), &bare);
		assert_true(str_equal(buffer_view(&bare), str_from(cases[i].bare)));
		mail_address_write(buffer_view(&bare), STR("a.test"), &address);
		assert_true(str_equal(buffer_view(&address), str_from(cases[i].address)));
		buffer_clear(&bare);
		buffer_clear(&address);
	}
}

static void what_is_inside_is_not_told(void **state)
{
	static const char *const statuses[] = {"4.3.5", "4.4.6"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(statuses); i++) {
		struct directory_result result = {.answer = DIRECTORY_UNKNOWN};
		struct mail_verdict verdict;

		mail_verdict_set(&result.verdict, statuses[i], "Service dovecot: a -> b -> a");
		assert_ptr_equal(directory_judge_recipient(&result, true, &verdict),
				 result.verdict.text);
		assert_string_equal(verdict.status, statuses[i]);
		assert_null(strstr(verdict.text, "dovecot"));
	}
}

/* --- users of this machine --- */

enum { LEADS_MAX = 3 };

/* Of a service, and an address in mail. */
static void lead(struct directory_result *result, struct str service, struct str address)
{
	struct directory_target *next = &result->targets[result->target_count++];

	assert_true(result->target_count <= LEADS_MAX);
	*next = (struct directory_target){.kind = service.length > 0 ? DIRECTORY_TARGET_LOCAL
								     : DIRECTORY_TARGET_REMOTE,
					  .service = service,
					  .address = address};
}

/* Names that a machine without these users makes nobody's: each with a comma in the place of its
 * NUL. Services "own" deliver as the user whose mailbox it is. */
static void mailboxes_of_users_are_known(void **state)
{
	static struct config_service kinds[] = {{.name = "own", .user = "%u"},
						{.name = "maildir", .user = ""},
						{.name = "one", .user = "ann"}};
	static const struct config kinds_config = {.services = kinds,
						   .service_count = COUNT_OF(kinds)};
	static const struct {
		const char *address;
		const char *leads[LEADS_MAX][2]; /* service, "": a remote one; address */
		const char *names;               /* NULL: it may not be refused */
	} cases[] = {
		{"ann@a.test", {{"own", "ann@a.test"}}, "ann,"},
		{"ann+x@a.test", {{"own", "Ann+x@a.test"}}, "ann,"},
		{"all@a.test", {{"own", "ann@a.test"}, {"own", "bob@b.test"}}, "ann,bob,"},
		{"all@a.test", {{"own", "ann@a.test"}, {"", "bob@b.test"}}, NULL},
		{"ann@a.test", {{"maildir", "ann@a.test"}}, NULL},
		{"ann@a.test", {{"one", "ann@a.test"}}, NULL},
		{"ann@a.test", {{"gone", "ann@a.test"}}, NULL},
		{"info@a.test", {{"own", "ann@a.test"}, {"own", "postmaster@a.test"}}, NULL},
		{"postmaster@a.test", {{"own", "ann@a.test"}}, NULL},
		{"Postmaster+x@a.test", {{"own", "Postmaster+x@a.test"}}, NULL},
		{"postmaster", {{"own", "ann@a.test"}}, NULL},
		/* names that no user can have */
		{"a/b@a.test", {{"own", "\"a/b\"@a.test"}}, ""},
		{"all@a.test", {{"own", "\"..\"@a.test"}, {"own", "bob@b.test"}}, "bob,"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct directory_target targets[LEADS_MAX];
		struct directory_result result = {.answer = DIRECTORY_FOUND, .targets = targets};
		struct buffer names CLEANUP(buffer_clear) = {0};

		for (size_t k = 0; k < LEADS_MAX && cases[i].leads[k][0] != NULL; k++)
			lead(&result, str_from(cases[i].leads[k][0]),
			     str_from(cases[i].leads[k][1]));
		assert_int_equal(directory_result_owners(&result, &kinds_config,
							 str_from(cases[i].address), &names),
				 cases[i].names != NULL);
		for (size_t k = 0; k < names.length; k++)
			if (buffer_data(&names)[k] == '\0')
				buffer_data(&names)[k] = ',';
		if (cases[i].names != NULL)
			assert_true(str_equal(buffer_view(&names), str_from(cases[i].names)));
	}
}

/* An answer that names nobody: nobody is looked for. */
static void only_who_exists_is_looked_for(void **state)
{
	static const enum directory_answer answers[] = {DIRECTORY_NOT_LOCAL, DIRECTORY_REFUSED,
							DIRECTORY_UNKNOWN};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(answers); i++) {
		const struct directory_result result = {.answer = answers[i]};
		struct buffer names = {0};

		assert_false(directory_result_owners(&result, &config, STR("ann@a.test"), &names));
		assert_int_equal(names.length, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_inside_is_not_told),
		cmocka_unit_test(addresses_are_answered),
		cmocka_unit_test(relaying_is_for_clients_that_may),
		cmocka_unit_test(without_domains_there_is_no_postmaster),
		cmocka_unit_test(local_parts_are_understood),
		cmocka_unit_test(quotes_are_there_where_they_are_needed),
		cmocka_unit_test(mailboxes_of_users_are_known),
		cmocka_unit_test(only_who_exists_is_looked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
