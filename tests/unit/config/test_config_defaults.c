// SPDX-License-Identifier: ISC
/* Every default that the manual prints is the one that is in effect. */
#include "base/text/quote.h"
#include "config_examples.h"
#include "os/process/process.h"
#include <string.h>

/* The default as the manual has it, in the form of a file. */
static void append_default(const struct config_setting *row, struct buffer *out)
{
	struct str rest = str_from(row->initial);
	struct str value;

	if (!row->type->is_list) {
		quote_append(out, rest);
		return;
	}
	buffer_append_string(out, "{ ");
	while (str_split(&rest, ',', &value)) {
		quote_append(out, value.data[0] == ' ' ? str_skip(value, 1) : value);
		buffer_append_string(out, rest.data != NULL ? ", " : "");
	}
	buffer_append_string(out, " }");
}

/* Whether EXAMPLE sets it: then there is nothing to compare. */
static bool is_set(const struct example *example, const struct config_setting *row)
{
	struct buffer name CLEANUP(buffer_clear) = {0};
	ptrdiff_t open = str_find_last(str_from(example->before), '{');
	const char *body = example->before + (open < 0 ? 0 : open);

	if (row->section == CONFIG_SECTION_ROOT)
		body = example->before;
	buffer_append_format(&name, " %s = ", row->name);
	buffer_append_byte(&name, '\0');
	return strstr(body, buffer_data(&name)) != NULL;
}

/* Whether the section of EXAMPLE has it, by what is printed of it when it is set. */
static bool has_setting(const struct example *example, const struct config_setting *row)
{
	struct config_problems problems;
	struct config *config = NULL;
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer value CLEANUP(buffer_clear) = {0};
	bool is_there;

	append_default(row, &value);
	is_there = config_parse("t", text_of(example, row->name, buffer_view(&value), &text),
				&config, &problems) == 0;
	config_problems_clear(&problems);
	config_free(config);
	return is_there;
}

static unsigned compare_default(const struct example *example, const struct config_setting *row)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer value CLEANUP(buffer_clear) = {0};
	struct buffer silent CLEANUP(buffer_clear) = {0};
	struct buffer said CLEANUP(buffer_clear) = {0};

	if (example->without != NULL)
		silent = outcome_of(str_from(example->without));
	else
		silent = outcome_of(text_of(example, NULL, STR(""), &text));
	append_default(row, &value);
	said = outcome_of(text_of(example, row->name, buffer_view(&value), &text));
	if (str_equal(buffer_view(&silent), buffer_view(&said)))
		return 0;
	print_error("%s\nis\n" STR_FORMAT "\nand would be\n" STR_FORMAT "\n", row->name,
		    STR_ARGUMENTS(buffer_view(&silent)), STR_ARGUMENTS(buffer_view(&said)));
	return 1;
}

/* The setting does not occur in what is printed: a list without values. */
static unsigned compare_empty(const struct example *example, const struct config_setting *row)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer name CLEANUP(buffer_clear) = {0};
	struct buffer silent CLEANUP(buffer_clear) = {0};
	unsigned failed;

	silent = outcome_of(text_of(example, NULL, STR(""), &text));
	buffer_append_byte(&silent, '\0');
	buffer_append_format(&name, "\n%s%s = ", row->section == CONFIG_SECTION_ROOT ? "" : "\t",
			     row->name);
	buffer_append_byte(&name, '\0');
	failed = strstr(buffer_data(&silent), buffer_data(&name)) != NULL;
	if (failed > 0)
		print_error("%s is not empty\n%s\n", row->name, buffer_data(&silent));
	return failed;
}

static unsigned compare_row(const struct config_setting *row)
{
	unsigned failed = 0;
	unsigned compared = 0;
	bool is_empty = row->type->is_list && *row->initial == '\0';

	for (size_t i = 0; i < COUNT_OF(examples); i++) {
		const struct example *example = &examples[i];

		if (example->section != row->section || is_set(example, row))
			continue;
		if (is_empty)
			failed += compare_empty(example, row);
		else if (has_setting(example, row))
			failed += compare_default(example, row);
		else
			continue;
		compared++;
	}
	if (compared == 0)
		print_error("%s.%s: compared with nothing\n",
			    config_section_info(row->section)->name, row->name);
	return failed + (compared == 0);
}

static void each_default_is_in_effect(void **state)
{
	unsigned failed = 0;

	(void)state;
	for (unsigned i = CONFIG_SECTION_ROOT; i < CONFIG_SECTION_COUNT; i++) {
		struct config_rows rows = {.section = (enum config_section)i};
		const struct config_setting *row;

		while ((row = config_rows_next(&rows)) != NULL)
			if (row->initial != NULL)
				failed += compare_row(row);
	}
	assert_int_equal(failed, 0);
}

/* Defaults that the manual has in words: what is in the file, and what is printed then. */
static const struct computed {
	enum config_section section;
	const char *name;
	const char *text;
	const char *line; /* what must be printed; NULL: the setting is not printed */
} computed[] = {
	{CONFIG_SECTION_ROOT, "queue_reserve", HOST, "queue_reserve = 25M\n"},
	{CONFIG_SECTION_ROOT, "queue_reserve", HOST "maxsize = 100M", "queue_reserve = 50M\n"},
	{CONFIG_SECTION_ROOT, "queue_reserve", HOST "maxsize = 1M", "queue_reserve = 4M\n"},
	{CONFIG_SECTION_LISTEN, "stage", HOST "listen submission { address = unix:/s }",
	 "\tstage = submit\n"},
	{CONFIG_SECTION_LISTEN, "stage", HOST "listen smtp { address = unix:/s }",
	 "\tstage = arrive\n"},
	{CONFIG_SECTION_LISTEN, "stage",
	 HOST "listen qmqp { address = unix:/s clients = 127.0.0.1 }", "\tstage = arrive\n"},
	{CONFIG_SECTION_LISTEN, "tls", HOST "listen smtp { address = unix:/s }", "\ttls = none\n"},
	{CONFIG_SECTION_LISTEN, "tls",
	 HOST "listen smtp { address = unix:/s } certificate c { chain = /c }",
	 "\ttls = starttls\n"},
	{CONFIG_SECTION_LISTEN, "tls",
	 HOST "listen qmtp { address = unix:/s } certificate c { chain = /c }", "\ttls = none\n"},
	{CONFIG_SECTION_LISTEN, "tls_min_version", HOST "listen smtp { address = unix:/s }",
	 "\ttls_min_version = 1.2\n"},
	{CONFIG_SECTION_LISTEN, "tls_min_version",
	 HOST "tls_min_version = 1.3 listen smtp { address = unix:/s }",
	 "\ttls_min_version = 1.3\n"},
	{CONFIG_SECTION_TLS, "min_version", HOST "tls a.b { level = encrypt }",
	 "\tmin_version = 1.2\n"},
	{CONFIG_SECTION_TLS, "min_version",
	 HOST "tls_min_version = 1.3 tls a.b { level = encrypt }", "\tmin_version = 1.3\n"},
	{CONFIG_SECTION_LISTEN, "auth", HOST "listen submission { address = unix:/s }",
	 "\tauth = no\n"},
	{CONFIG_SECTION_LISTEN, "auth", HOST USERS, "\tauth = required\n"},
	{CONFIG_SECTION_LISTEN, "auth",
	 HOST SQL "listen submission { address = unix:/s } certificate c { chain = /c }",
	 "\tauth = required\n"},
	{CONFIG_SECTION_LISTEN, "auth",
	 HOST SQL "listen smtp { address = unix:/s } certificate c { chain = /c }",
	 "\tauth = no\n"},
	{CONFIG_SECTION_LISTEN, "auth_binding", HOST USERS, "\tauth_binding = no\n"},
	{CONFIG_SECTION_LISTEN, "auth_binding", HOST "listen smtp { address = unix:/s }",
	 "\tauth_binding = yes\n"},
	{CONFIG_SECTION_LISTEN, "submission", HOST "listen submission { address = unix:/s }",
	 "\tsubmission = yes\n"},
	{CONFIG_SECTION_LISTEN, "submission", HOST "listen smtp { address = unix:/s }",
	 "\tsubmission = no\n"},
	{CONFIG_SECTION_LISTEN, "repair", HOST "listen submission { address = unix:/s }",
	 "\trepair = yes\n"},
	{CONFIG_SECTION_LISTEN, "repair",
	 HOST "listen submission { address = unix:/s submission = no }", "\trepair = no\n"},
	{CONFIG_SECTION_SOURCE, "hostname", HOST "source s { addresses = 127.0.0.1 }",
	 "\thostname = \"mx.example.org\"\n"},
	{CONFIG_SECTION_AUTH, "mechanisms", HOST USERS, NULL},
};

static bool is_printed(struct str text, const char *name, const char *line)
{
	struct buffer out CLEANUP(buffer_clear) = outcome_of(text);
	struct buffer begin CLEANUP(buffer_clear) = {0};

	buffer_append_byte(&out, '\0');
	buffer_append_format(&begin, "\t%s = ", name);
	buffer_append_byte(&begin, '\0');
	return strstr(buffer_data(&out), line != NULL ? line : buffer_data(&begin)) != NULL;
}

static void a_default_in_words_is_in_effect(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(computed); i++) {
		const struct computed *c = &computed[i];

		if (is_printed(str_from(c->text), c->name, c->line) != (c->line != NULL))
			fail_msg("%s of %s", c->name, c->text);
	}
}

/* The machine's name is not known before; it is looked at in the test of the host name. */
static bool is_computed_here(const struct config_setting *row)
{
	if (row->section == CONFIG_SECTION_ROOT && strcmp(row->name, "hostname") == 0)
		return true;
	for (size_t i = 0; i < COUNT_OF(computed); i++)
		if (computed[i].section == row->section && strcmp(computed[i].name, row->name) == 0)
			return true;
	return false;
}

static void no_default_in_words_is_forgotten(void **state)
{
	(void)state;
	for (unsigned i = CONFIG_SECTION_ROOT; i < CONFIG_SECTION_COUNT; i++) {
		struct config_rows rows = {.section = (enum config_section)i};
		const struct config_setting *row;

		while ((row = config_rows_next(&rows)) != NULL)
			if (row->computed != NULL && !is_computed_here(row))
				fail_msg("%s.%s: %s", config_section_info(row->section)->name,
					 row->name, row->computed);
	}
}

static void the_host_name_is_the_machines(void **state)
{
	char name[256] = "";
	struct buffer out CLEANUP(buffer_clear) = outcome_of(STR(""));
	struct buffer wanted CLEANUP(buffer_clear) = {0};
	bool has_domain = os_host_name(name, sizeof name) == 0 && strchr(name, '.') != NULL;

	(void)state;
	str_lower(name, strlen(name));
	if (has_domain)
		buffer_append_format(&wanted, "hostname = \"%s\"\n", name);
	else
		buffer_append_string(&wanted, "t: hostname: must be set");
	assert_true(str_starts_with(buffer_view(&out), buffer_view(&wanted)));
}

/* Where there is a default, a list can also be empty. */
static void a_default_list_can_be_emptied(void **state)
{
	struct buffer out CLEANUP(buffer_clear) =
		outcome_of(STR(HOST USERS "proxy_from = { }\nauth { failure_exempt = { } }"));
	struct buffer again CLEANUP(buffer_clear) = outcome_of(buffer_view(&out));
	struct buffer added CLEANUP(buffer_clear) = outcome_of(
		STR(HOST "proxy_from = { }\nproxy_from += 10.0.0.1\nproxy_from += { 10.0.0.2 }"));

	(void)state;
	assert_true(str_equal(buffer_view(&out), buffer_view(&again)));
	buffer_append_byte(&out, '\0');
	buffer_append_byte(&added, '\0');
	assert_non_null(strstr(buffer_data(&out), "\nproxy_from = { }\n"));
	assert_non_null(strstr(buffer_data(&out), "\tfailure_exempt = { }\n"));
	assert_non_null(strstr(buffer_data(&added), "\nproxy_from = { \"10.0.0.1/32\", "
						    "\"10.0.0.2/32\" }\n"));
}

static const struct refusal refused[] = {
	{HOST "relay_from = { }\n", "t:2: relay_from: an empty list: leave the setting out\n"},
	{HOST "proxy_from = { 10.0.0.1 }\nproxy_from = { }\n",
	 "t:3: proxy_from: given twice: first in line 2\n"},
	{HOST "split = { }\n", "t:2: split: an empty list: leave the setting out\n"},
};

static void other_empty_lists_are_refused(void **state)
{
	(void)state;
	check_refusals(refused, COUNT_OF(refused));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_default_is_in_effect),
		cmocka_unit_test(a_default_in_words_is_in_effect),
		cmocka_unit_test(no_default_in_words_is_forgotten),
		cmocka_unit_test(the_host_name_is_the_machines),
		cmocka_unit_test(a_default_list_can_be_emptied),
		cmocka_unit_test(other_empty_lists_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
