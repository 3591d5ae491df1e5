// SPDX-License-Identifier: ISC
/* How much a configuration may have of anything: at each bound it is right, and with one more it is
 * not, and says so. */
#include "config/internal.h"
#include "config/type/type.h"
#include "config_outcome.h"
#include "scratch.h"
#include "tls/identity.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* COUNT of something: what each of them is, between what is before and after. */
struct bound_case {
	size_t most;
	const char *before, *each, *after; /* of EACH: "%1$zu" is its number */
	const char *problem;
};

static const struct bound_case cases[] = {
	{CONFIG_RATES_PER_MAX, "", "rate r%1$zu { count = messages limit = %1$zu interval = 1m }\n",
	 "", "more than eight sections rate have the same; allowed: at most eight for each"},
	{CONFIG_DESTINATIONS_MAX, "", "destination \"d%1$zu.test\" { }\n", "",
	 "too many destinations; allowed: at most 1000"},
	{CONFIG_SOURCES_MAX, "", "source s%1$zu { addresses = 192.0.2.1 }\n", "",
	 "too many sources; allowed: at most 256"},
	{CONFIG_SOURCE_ADDRESSES_MAX, "source s { addresses = { 198.51.100.1", ", 192.0.2.%1$zu",
	 " } }\n", "too many addresses; allowed: at most 64"},
	{CONFIG_ADDRESSES_MAX, "listen smtp { address = { 192.0.2.1:1", ", 192.0.2.1:%1$zu",
	 " } }\n", "too many addresses; allowed: at most 256 in all listen sections"},
	{TLS_CERTIFICATES_MAX, "", "certificate c%1$zu { chain = /c names = c%1$zu.test }\n", "",
	 "too many certificates; allowed: at most 256"},
	{CONFIG_RULE_FIELDS_MAX, "record { }\n" BOX, "rule r%1$zu { header = X-%1$zu }\n", "",
	 "too many names of fields in all rules so far; allowed: at most 32 different ones"},
};

/* Of the case's kind, COUNT of them. The first is in BEFORE, if that is open. */
static struct buffer text_of_case(const struct bound_case *bound, size_t count)
{
	struct buffer text = {0};

	buffer_append_string(&text, HOST);
	buffer_append_string(&text, bound->before);
	for (size_t i = strchr(bound->before, '=') != NULL && strchr(bound->after, '}') != NULL ? 2
												: 1;
	     i <= count; i++) {
		char each[200];

		/* the format is of the table above */
		for (size_t from = 0, to = 0; from <= strlen(bound->each);) {
			if (strncmp(bound->each + from, "%1$zu", 5) == 0) {
				to += (size_t)snprintf(each + to, sizeof each - to, "%zu", i);
				from += 5;
			} else {
				each[to++] = bound->each[from++];
			}
		}
		buffer_append_string(&text, each);
	}
	buffer_append_string(&text, bound->after);
	return text;
}

static void as_many_as_there_may_be(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		for (size_t beyond = 0; beyond <= 1; beyond++) {
			struct buffer text = text_of_case(&cases[i], cases[i].most + beyond);
			struct buffer out = outcome_of(buffer_view(&text));
			bool is_refused = memmem(buffer_data(&out), out.length, cases[i].problem,
						 strlen(cases[i].problem)) != NULL;

			if (is_refused != (beyond > 0) ||
			    str_starts_with(buffer_view(&out), STR("hostname")) == is_refused)
				fail_msg("%s %zu: %.300s", cases[i].each, beyond,
					 buffer_data(&out));
			buffer_clear(&text);
			buffer_clear(&out);
		}
}

/* Eight of each kind, and there is no room for one of another kind. */
static void rates_of_all_kinds(void **state)
{
	static const char *const kinds[] = {"address", "class", "user", "sender_domain", "all"};

	(void)state;
	for (size_t beyond = 0; beyond <= 1; beyond++) {
		struct buffer text = {0};
		struct buffer out;

		buffer_append_string(&text, HOST);
		for (size_t i = 0; i < CONFIG_RATES_MAX + beyond; i++)
			buffer_append_format(&text,
					     "rate r%zu { count = messages per = %s limit = %zu "
					     "interval = 1m }\n",
					     i, kinds[i % COUNT_OF(kinds)], i + 1);
		out = outcome_of(buffer_view(&text));
		buffer_append_byte(&out, '\0');
		assert_int_equal(strstr(buffer_data(&out),
					"too many sections rate; allowed: at most 40") != NULL,
				 beyond > 0);
		assert_int_equal(str_starts_with(buffer_view(&out), STR("hostname")), beyond == 0);
		buffer_clear(&text);
		buffer_clear(&out);
	}
}

/* Rules of six masks and a last one that fits exactly, or has one too many. */
static void masks_of_all_rules(void **state)
{
	(void)state;
	for (size_t beyond = 0; beyond <= 1; beyond++) {
		size_t left = CONFIG_RULE_MASKS_MAX + beyond;
		struct buffer text = {0};
		struct buffer out;

		buffer_append_string(
			&text,
			HOST "record { }\nservice box { kind = mailbox path = \"/m/%d/%u\" }\n");
		for (size_t i = 0; left > 0; i++) {
			buffer_append_format(&text, "rule r%zu { larger = %zu header = { ", i,
					     i + 1);
			for (size_t k = 0; k < 6 && left > 0; k++, left--)
				buffer_append_format(&text, "%s\"Subject: %zu-%zu\"",
						     k > 0 ? ", " : "", i, k);
			buffer_append_string(&text, " } }\n");
		}
		out = outcome_of(buffer_view(&text));
		buffer_append_byte(&out, '\0');
		if ((strstr(buffer_data(&out),
			    "too many masks in all rules so far; allowed: at most 500") != NULL) !=
		    (beyond > 0))
			fail_msg("%zu: %.300s", beyond, buffer_data(&out));
		buffer_clear(&text);
		buffer_clear(&out);
	}
}

static void logins_have_a_longest(void **state)
{
	static const struct {
		size_t user, password;
		bool is_refused;
	} rows[] = {{CONFIG_USER_MAX, CONFIG_PASSWORD_MAX, false},
		    {CONFIG_USER_MAX + 1, 1, true},
		    {1, CONFIG_PASSWORD_MAX + 1, true}};
	char x[CONFIG_PASSWORD_MAX + 2];

	(void)state;
	memset(x, 'x', sizeof x);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct buffer text = {0};
		struct buffer out;

		buffer_append_format(&text, HOST "fallback_relays = \"b.test;25|%.*s|%.*s\"\n",
				     (int)rows[i].user, x, (int)rows[i].password, x);
		out = outcome_of(buffer_view(&text));
		buffer_append_byte(&out, '\0');
		if ((strstr(buffer_data(&out), "a user or password that is too long") != NULL) !=
		    rows[i].is_refused)
			fail_msg("%zu: %.300s", i, buffer_data(&out));
		buffer_clear(&text);
		buffer_clear(&out);
	}
}

/* What is wrong is told so often, and no more. */
static void problems_have_an_end(void **state)
{
	(void)state;
	for (int by = -1; by <= 1; by++) {
		size_t count = CONFIG_PROBLEMS_MAX + (size_t)by;
		struct config_problems problems = {0};
		struct config *config = NULL;
		struct buffer text = {0};

		buffer_append_string(&text, HOST);
		for (size_t i = 0; i < count; i++)
			buffer_append_format(&text, "nonsense%zu = 1\n", i);
		assert_int_equal(config_parse("t", buffer_view(&text), &config, &problems),
				 -EINVAL);
		/* and a last one, that there may be more */
		assert_int_equal(problems.count, by < 0 ? count : CONFIG_PROBLEMS_MAX + 1);
		assert_int_equal(config_problems_are_full(&problems), by >= 0);
		config_problems_clear(&problems);
		buffer_clear(&text);
	}
}

static void append_comment_to(struct buffer *text, size_t length)
{
	while (text->length < length) {
		size_t left = length - text->length;

		for (size_t i = 1; i < left && i < 100; i++)
			buffer_append_byte(text, '#');
		buffer_append_byte(text, '\n');
	}
	assert_int_equal(text->length, length);
}

static void a_text_has_a_largest_size(void **state)
{
	(void)state;
	for (size_t beyond = 0; beyond <= 1; beyond++) {
		struct config_problems problems = {0};
		struct config *config = NULL;
		struct buffer text = {0};
		int error;

		buffer_append_string(&text, HOST);
		append_comment_to(&text, CONFIG_TEXT_MAX + beyond);
		error = config_parse("t", buffer_view(&text), &config, &problems);
		assert_int_equal(error == 0, beyond == 0);
		assert_int_equal(config != NULL, beyond == 0);
		config_problems_clear(&problems);
		config_free(config);
		buffer_clear(&text);
	}
}

static void as_many_files_as_may_be_included(void **state)
{
	char folder[] = "/tmp/stagepost-config-XXXXXX";
	char path[100];

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < CONFIG_FILES_MAX; i++) {
		struct config_problems problems = {0};
		struct config *config = NULL;
		struct buffer out = {0};
		FILE *file;

		snprintf(path, sizeof path, "%s/%zu.inc", folder, i);
		file = fopen(path, "w");
		assert_non_null(file);
		fclose(file);
		if (i + 2 < CONFIG_FILES_MAX)
			continue; /* the first file counts, too */
		snprintf(path, sizeof path, "%s/main.conf", folder);
		file = fopen(path, "w");
		assert_non_null(file);
		fprintf(file, HOST "include \"%s/*.inc\"\n", folder);
		fclose(file);
		(void)!load_config(path, &config, &problems);
		config_problems_print(&problems, path, &out);
		buffer_append_byte(&out, '\0');
		if (i + 2 == CONFIG_FILES_MAX)
			assert_string_equal(buffer_data(&out), "");
		else
			assert_non_null(strstr(buffer_data(&out), "too many files are included"));
		config_problems_clear(&problems);
		config_free(config);
		buffer_clear(&out);
	}
	assert_int_equal(scratch_remove(folder), 0);
}

/* A path of a socket has its NUL in sun_path. */
static void paths_of_sockets_have_a_longest(void **state)
{
	static const char end[] = "path too long for a socket";

	(void)state;
	for (size_t length = 106; length <= 109; length++) {
		char path[112] = "/";
		struct config_complaint complaint;

		memset(path + 1, 'p', length - 1);
		complaint = config_type_check_socket_path(str_slice(path, length));
		if (length <= 107)
			assert_null(complaint.message);
		else
			assert_string_equal(complaint.message, end);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_as_there_may_be),
		cmocka_unit_test(rates_of_all_kinds),
		cmocka_unit_test(masks_of_all_rules),
		cmocka_unit_test(logins_have_a_longest),
		cmocka_unit_test(paths_of_sockets_have_a_longest),
		cmocka_unit_test(problems_have_an_end),
		cmocka_unit_test(a_text_has_a_largest_size),
		cmocka_unit_test(as_many_files_as_may_be_included),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
