// SPDX-License-Identifier: ISC
/*
 * Every setting, written wrong in every way that its type knows: the answer names the line and the
 * setting, and says what is allowed. The answers' words are those of test_config_values and
 * test_config_syntax; here no setting can be left out.
 */
#include "config/schema/schema.h"
#include "config_outcome.h"
#include <string.h>

/* What begins a section, so that "NAME = VALUE }" can follow. */
static const char *const section_begins[CONFIG_SECTION_COUNT] = {
	[CONFIG_SECTION_ROOT] = "",
	[CONFIG_SECTION_LISTEN] = "listen smtp {",
	[CONFIG_SECTION_SERVICE] = "service s {",
	[CONFIG_SECTION_DOMAIN] = "domain a.test {",
	[CONFIG_SECTION_TRANSPORT] = "transport remote {",
	[CONFIG_SECTION_PROCESS] = "process smtpd {",
	[CONFIG_SECTION_CERTIFICATE] = "certificate c {",
	[CONFIG_SECTION_TLS] = "tls a.test {",
	[CONFIG_SECTION_CLASS] = "class \"*\" {",
	[CONFIG_SECTION_RATE] = "rate r {",
	[CONFIG_SECTION_SOURCE] = "source s {",
	[CONFIG_SECTION_DESTINATION] = "destination a.test {",
	[CONFIG_SECTION_DIRECTORY] = "directory {",
	[CONFIG_SECTION_AUTH] = "auth {",
	[CONFIG_SECTION_RECORD] = "record {",
	[CONFIG_SECTION_RULE] = "rule r {",
	[CONFIG_SECTION_NODE] = "node {",
	[CONFIG_SECTION_STAGE] = "stage arrive {",
};

enum { MISTAKE_LINE = 3, VALUES_MAX = 20, VALUE_MAX = 4094 };

#define LONG_LABEL "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"
#define LONG_NAME  LONG_LABEL "." LONG_LABEL "." LONG_LABEL "." LONG_LABEL "." LONG_LABEL

/* Values that are wrong for each setting of a type, as people write them. Of a text any is right,
 * and a service is looked for among those of the file. */
static const struct wrong {
	const struct config_type *type;
	const char *values[VALUES_MAX]; /* NULL ends them */
} wrong[] = {
	{&config_type_number,
	 {"", "-1", "+1", "1.5", "1e3", "0x10", "ten", "1 0", "10K", "1,000",
	  "99999999999999999999"}},
	{&config_type_size,
	 {"", "-1", "1.5M", "10MB", "10MiB", "10 M", "10k", "all", "99999999999999999999T"}},
	{&config_type_seconds, {"", "-1", "1.5h", "10min", "10 m", "1h30m", "5S", "soon", "9999w"}},
	{&config_type_duration,
	 {"", "-1", "1.5h", "10min", "10 m", "1h30m", "5S", "soon", "9999w"}},
	{&config_type_boolean, {"", "1", "0", "Yes", "YES", "y", "enabled", "maybe"}},
	{&config_type_word, {"", "nonsense", "*"}},
	{&config_type_log_level, {"", "warn", "INFO", "4"}},
	{&config_type_host,
	 {"-a.test", "a..test", "a_b.test ", "192.0.2.1", "[192.0.2.1]", "user@a.test",
	  "https://a.test/", LONG_NAME}},
	{&config_type_path, {"", "relative", "./here", "~/there", "file:///etc/x", "$HOME/x"}},
	{&config_type_optional_path, {"relative", "./here", "~/there", "file:///etc/x", "none"}},
	{&config_type_mailbox_path, {"", "relative/%u", "~/Maildir", "/m/%h", "/m/%"}},
	{&config_type_delimiter, {".", "a", "+ ", "+-=_#/+"}},
	{&config_type_quota, {"10MB", "1.5G", "-1", "much", "10M 5", "1G,2,3"}},
	{&config_type_text, {NULL}},
	{&config_type_texts, {""}},
	{&config_type_key, {"x", "0123", "not hexadecimal and not as long as a key has to be"}},
	{&config_type_user, {"no body", "0", "a:b", "-a", LONG_LABEL}},
	{&config_type_group, {"no body", "0", "a:b", "-a", LONG_LABEL}},
	{&config_type_owner, {"no body", "%d", "0", "u%", LONG_LABEL}},
	{&config_type_local_part, {"", "a b", "a@a.test", ".a", "a..b"}},
	{&config_type_local_parts, {"", "a b", "a@a.test", "\\\"a\\\""}},
	{&config_type_address, {"@a.test", "a@", "a b@a.test", "<a@a.test>", "a@@a.test"}},
	{&config_type_address_masks, {"", "a b@c@d@"}},
	{&config_type_node_group,
	 {"Core", "a b", "a.b", "core,out", "abcdefghijklmnopqrstuvwxyz0123456"}},
	{&config_type_node_name, {"A1", "a b", ".", "..", "a/b", "a_b", LONG_LABEL}},
	{&config_type_server,
	 {"ns.a.test", "127.0.0.1:53", "127.0.0.1@", "127.0.0.1@0", "127.0.0.1@65536", "[::1]"}},
	{&config_type_service, {NULL}},
	{&config_type_endpoint,
	 {"", "25", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "::1:25", "localhost:25",
	  "[::1]", "unix:relative", "unix:"}},
	{&config_type_endpoints,
	 {"", "25", "*:25", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "::1:25", "localhost:25",
	  "[::1]", "unix:relative", "unix:"}},
	{&config_type_networks,
	 {"", "10.0.0.1/8", "10.0.0.0/33", "10.0.0", "a.test", "10.0.0.*", "10.0.0.1-10.0.0.9",
	  "[::1]", "::/129"}},
	{&config_type_addresses, {"", "a.test", "10.0.0.0/8", "0.0.0.0", "[::1]", "224.0.0.1"}},
	{&config_type_arguments, {"/bin/x %q", "/bin/x %"}},
	{&config_type_routes,
	 {"", "a.test", "a.test:b_c d", "a.test:b.test;0", "a.test:b.test;smtp",
	  "a.test:[b.test]"}},
	{&config_type_qmtproutes, {"", "a.test", "a.test:b_c d", "a.test:b.test;0"}},
	{&config_type_senderroutes, {"", "a@a.test", "a@a.test:b c", "a@:b.test", "a@a.test:b;0"}},
	{&config_type_relays, {"", "b c", "b.test;0", "b.test;smtp", "[b.test]"}},
	{&config_type_sender_sources, {"", "a@a.test", "a@:s", "a b:s"}},
	{&config_type_domain_sources, {"", "a.test", "a b:s"}},
	{&config_type_domains, {"", "a b", "a@a.test", ".a.test", "*.a.test"}},
	{&config_type_masks, {""}},
	{&config_type_names, {""}},
	{&config_type_header_tests, {"", "Sub ject: x", ": x"}},
	{&config_type_tls_matches, {"", "a b", "a@a.test", "*", "a.*.test"}},
	{&config_type_tls_names, {"", "a b", "a@a.test"}},
	{&config_type_fingerprints, {"", "0123", "SHA256:0123", "zz"}},
	{&config_type_ciphers, {"", "HIGH:!aNULL", "RC4-MD5", "TLS_AES_256_GCM_SHA384"}},
	{&config_type_reaches, {"", "10.0.0.0/8", "10.0.0.0/8:0", "::1:25", "a b:25"}},
	{&config_type_servers, {"", "a.test", "a.test:0", "a b:25", "::1:25"}},
	{&config_type_urls, {"", "a.test", "http://a.test/", "ldap:"}},
	{&config_type_mappings, {"", "x", "nothing=x", "state"}},
};

static const struct wrong *wrong_of(const struct config_type *type)
{
	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		if (wrong[i].type == type)
			return &wrong[i];
	fail_msg("type \"%s\" has no wrong values here", type->name);
	return NULL;
}

/* Whether a line of OUT says at MISTAKE_LINE what is wrong with the setting called NAME, with
 * WORDS after that. */
static bool is_answered(struct str out, const char *name, const char *words)
{
	struct buffer begin CLEANUP(buffer_clear) = {0};
	struct str line;

	buffer_append_format(&begin, "t:%d: ", MISTAKE_LINE);
	while (str_split(&out, '\n', &line)) {
		struct buffer text CLEANUP(buffer_clear) = {0};
		const char *setting;

		if (!str_starts_with(line, buffer_view(&begin)))
			continue;
		buffer_append_str(&text, str_skip(line, begin.length));
		buffer_append_byte(&text, '\0');
		setting = strstr(buffer_data(&text), name);
		if (setting != NULL && strncmp(setting + strlen(name), ": ", 2) == 0 &&
		    strstr(setting, words) != NULL)
			return true;
	}
	return false;
}

/* Whether a section of ROW's with STATEMENT in its line is refused with WORDS about NAME. */
static unsigned try_statement(const struct config_setting *row, struct str statement,
			      const char *name, const char *words)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer out CLEANUP(buffer_clear) = {0};

	buffer_append_format(&text, "%s%s\n" STR_FORMAT "\n%s",
			     row->section == CONFIG_SECTION_ROOT ? "\n" : HOST,
			     section_begins[row->section], STR_ARGUMENTS(statement),
			     row->section == CONFIG_SECTION_ROOT ? "" : "}\n");
	out = outcome_of(buffer_view(&text));
	if (is_answered(buffer_view(&out), name, words))
		return 0;
	buffer_append_byte(&text, '\0');
	buffer_append_byte(&out, '\0');
	print_error("--- of\n%.300s\n--- is said\n%.600s\n--- and not \"%s\"\n", buffer_data(&text),
		    buffer_data(&out), words);
	return 1;
}

static unsigned try_value(const struct config_setting *row, const char *value, const char *words)
{
	struct buffer statement CLEANUP(buffer_clear) = {0};

	buffer_append_format(&statement, "%s = \"%s\"", row->name, value);
	return try_statement(row, buffer_view(&statement), row->name, words);
}

typedef unsigned try_row(const struct config_setting *row);

static void try_all_rows(try_row *try_one)
{
	unsigned failed = 0;
	unsigned count = 0;

	for (unsigned i = CONFIG_SECTION_ROOT; i < CONFIG_SECTION_COUNT; i++) {
		struct config_rows rows = {.section = (enum config_section)i};
		const struct config_setting *row;

		for (; (row = config_rows_next(&rows)) != NULL; count++)
			failed += try_one(row);
	}
	assert_true(count > 200);
	assert_int_equal(failed, 0);
}

static bool may_be_empty(const struct config_setting *row)
{
	return row->initial != NULL && *row->initial == '\0' && !row->type->is_list;
}

static unsigned try_wrong_values(const struct config_setting *row)
{
	const struct wrong *values = wrong_of(row->type);
	unsigned failed = 0;

	for (size_t i = 0; values->values[i] != NULL; i++)
		if (*values->values[i] != '\0' || !may_be_empty(row))
			failed += try_value(row, values->values[i], "; allowed: ");
	return failed + try_value(row, "a\tb", ": a control character");
}

static unsigned try_range(const struct config_setting *row)
{
	struct buffer value CLEANUP(buffer_clear) = {0};
	unsigned failed = 0;

	if (row->type->units == NULL)
		return 0;
	if (row->min > 0) {
		buffer_append_number(&value, row->min - 1);
		buffer_append_byte(&value, '\0');
		failed += try_value(row, buffer_data(&value), ": too small: ");
	}
	buffer_reset(&value);
	buffer_append_number(&value, row->max + 1);
	buffer_append_byte(&value, '\0');
	return failed + try_value(row, buffer_data(&value), ": too large: ");
}

/* Longer than its row allows; what is longer than any value may be has no setting in its answer. */
static unsigned try_length(const struct config_setting *row)
{
	struct buffer value CLEANUP(buffer_clear) = {0};
	uint64_t max = row->max > 0 ? row->max : row->type->max;

	if (row->type->units != NULL || max == 0 || max >= VALUE_MAX)
		return 0;
	buffer_append_byte(&value, '/');
	while (value.length <= max)
		buffer_append_byte(&value, 'x');
	buffer_append_byte(&value, '\0');
	return try_value(row, buffer_data(&value), ": too long: ");
}

static unsigned try_repeated(const struct config_setting *row)
{
	struct buffer statement CLEANUP(buffer_clear) = {0};

	buffer_append_format(&statement, "%s = a %s = b", row->name, row->name);
	return try_statement(row, buffer_view(&statement), row->name,
			     ": given twice: first in line 3");
}

/* As one value, without one, without '=' and without the end of a quoted text. */
static unsigned try_forms(const struct config_setting *row)
{
	static const struct {
		const char *form;
		const char *words;
		bool is_for_lists;
	} forms[] = {
		{"%s = { a, b }", ": takes one value, not a list; allowed: ", false},
		{"%s = { a b }", "allowed: , or }", true},
		{"%s = { a, , b }", "allowed: a value or }", true},
		{"%s = a, b", "allowed: { VALUE, ... }", true},
		{"%s a", ": an '=' is missing; allowed: = VALUE", true},
		{"%s = =", "; allowed: a value or { VALUE, ... }", true},
	};
	unsigned failed = 0;

	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		struct buffer statement CLEANUP(buffer_clear) = {0};
		const char *rest = forms[i].form + 2;

		if (row->type->is_list && !forms[i].is_for_lists)
			continue;
		buffer_append_format(&statement, "%s%s", row->name, rest);
		failed += try_statement(row, buffer_view(&statement), row->name, forms[i].words);
	}
	return failed;
}

/* With a letter too many: who wrote it is told the name. */
static unsigned try_misspelled(const struct config_setting *row)
{
	struct buffer statement CLEANUP(buffer_clear) = {0};
	struct buffer name CLEANUP(buffer_clear) = {0};

	buffer_append_format(&name, "%sx", row->name);
	buffer_append_byte(&name, '\0');
	buffer_append_format(&statement, "%s = a", buffer_data(&name));
	return try_statement(row, buffer_view(&statement), buffer_data(&name),
			     ": unknown setting: did you mean \"");
}

static void wrong_values(void **state)
{
	(void)state;
	try_all_rows(try_wrong_values);
}

static void numbers_out_of_range(void **state)
{
	(void)state;
	try_all_rows(try_range);
}

static void texts_that_are_too_long(void **state)
{
	(void)state;
	try_all_rows(try_length);
}

static void settings_given_twice(void **state)
{
	(void)state;
	try_all_rows(try_repeated);
}

static void settings_in_a_wrong_form(void **state)
{
	(void)state;
	try_all_rows(try_forms);
}

static void misspelled_settings(void **state)
{
	(void)state;
	try_all_rows(try_misspelled);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_values),
		cmocka_unit_test(numbers_out_of_range),
		cmocka_unit_test(texts_that_are_too_long),
		cmocka_unit_test(settings_given_twice),
		cmocka_unit_test(settings_in_a_wrong_form),
		cmocka_unit_test(misspelled_settings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
