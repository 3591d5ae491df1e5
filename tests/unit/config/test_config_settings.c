// SPDX-License-Identifier: ISC
/*
 * Each setting of the table with values of its own, in a section of each kind that has it: what is
 * printed is what was written, means the same again, has its place and is explained.
 */
#include "base/text/quote.h"
#include "config_examples.h"
#include "printed_setting.h"
#include "type_text.h"
#include <stdio.h>
#include <string.h>

/* Values of all types; a setting is tried with those that it accepts. */
static const char *const values[] = {
	"yes",
	"no",
	"7",
	"63",
	"3h",
	"5M",
	"7G",
	"/x/y",
	"/x/%d/%u",
	"unix:/x/s",
	"127.0.0.9:26",
	"192.0.2.9",
	"192.0.2.0/24",
	"nine.example",
	"*.nine.example",
	"nine@nine.example",
	"nine",
	"s",
	"nine.example:s",
	"other.example:s",
	"nine.example:127.0.0.9",
	"nine=/x",
	"box",
	"*",
	"m",
	"address.key=mail",
	"127.0.0.9:7077",
	"seen",
	"plain",
	"-",
	"debug",
	"70000",
	"host:127.0.0.9:26",
	"subject: x",
	"https://nine.example/x",
	"ldaps://nine.example",
	"ECDHE-RSA-AES256-GCM-SHA384",
	("ab:cd:ef:01:23:45:67:89:ab:cd:ef:01:23:45:67:89:ab:cd:ef:01:23:45:67:89:ab:cd:ef:01:23:"
	 "45:"
	 "67:89"),
	"0123456789abcdef0123456789abcdef",
};

static struct config *usual; /* for types that look at one */
struct tried {
	const struct example *example;
	const struct config_setting *row;
	struct buffer text; /* EXAMPLE with the setting */
	struct buffer bare; /* without */
	struct config *config;
	unsigned line; /* of the setting */
};

static unsigned count_lines(const char *text)
{
	unsigned count = 0;

	for (; *text != '\0'; text++)
		count += *text == '\n';
	return count;
}

/* The name of EXAMPLE's section: "listen smtp", or "" for the root. */
static const char *section_of(const struct example *example)
{
	static char name[100];
	const char *line = strrchr(example->before, '\n');
	size_t length = 0;

	*name = '\0';
	if (example->section == CONFIG_SECTION_ROOT)
		return name;
	for (line = line != NULL ? line + 1 : example->before; *line != '{'; line++)
		if (*line != '"')
			name[length++] = *line;
	name[length - 1] = '\0';
	return name;
}

static const char *name_of_setting(const struct tried *tried)
{
	static char name[200];
	const char *section = section_of(tried->example);

	snprintf(name, sizeof name, "%s%s%s", section, *section != '\0' ? "." : "",
		 tried->row->name);
	return name;
}

static struct str find_of(const struct tried *tried, struct str printed)
{
	return find_printed(printed, section_of(tried->example), tried->row->name);
}

static void check_same(struct str found, struct str wanted, const char *what)
{
	if (!str_equal(found, wanted))
		fail_msg("%s is\n" STR_FORMAT "\nand should be\n" STR_FORMAT, what,
			 STR_ARGUMENTS(found), STR_ARGUMENTS(wanted));
}

/* The node's name is added to what was written, or its values are put in order. */
static bool is_completed(const struct config_setting *row)
{
	return row->type == &config_type_address || row->type == &config_type_local_parts;
}

/* Only what differs from the default is printed, where it is in the text. */
static void check_changed(const struct tried *tried, struct str whole, struct str value,
			  bool is_default)
{
	struct buffer changed CLEANUP(buffer_clear) = {0};
	struct buffer again CLEANUP(buffer_clear) = {0};
	struct buffer wanted CLEANUP(buffer_clear) = {0};
	struct str found;

	config_print_changed(tried->config, "file", buffer_view(&tried->text), &changed);
	found = find_of(tried, buffer_view(&changed));
	if (!is_default || tried->row->initial == NULL) {
		buffer_append_format(&wanted, "  # file:%u", tried->line);
		if (!is_completed(tried->row)) {
			check_same(str_slice(found.data, found.length - wanted.length), value,
				   name_of_setting(tried));
			found = str_skip(found, value.length);
		} else {
			found = str_skip(found, found.length - wanted.length);
		}
		check_same(found, buffer_view(&wanted), name_of_setting(tried));
	} else if (found.data != NULL) {
		fail_msg("%s has its default and is printed", name_of_setting(tried));
	}
	if (tried->row->type->is_secret)
		return;
	again = outcome_of(buffer_view(&changed));
	check_same(buffer_view(&again), whole, name_of_setting(tried));
}

static void check_explained(const struct tried *tried, const struct config *config, struct str text,
			    struct str value, unsigned line)
{
	struct config_explanation found;
	struct buffer why CLEANUP(buffer_clear) = {0};
	struct buffer allowed CLEANUP(buffer_clear) = {0};
	const struct config_setting *row = tried->row;
	const char *initial = row->computed != NULL ? row->computed : row->initial;

	config_setting_allowed(row, &allowed);
	if (!config_explain(config, text, name_of_setting(tried), &found, &why))
		fail_msg("%s: " STR_FORMAT, name_of_setting(tried),
			 STR_ARGUMENTS(buffer_view(&why)));
	if (value.data == NULL)
		value = row->type->is_list ? STR("{ }") : STR("");
	check_same(buffer_view(&found.value), value, name_of_setting(tried));
	check_same(buffer_view(&found.allowed), buffer_view(&allowed), name_of_setting(tried));
	assert_string_equal(found.name, name_of_setting(tried));
	assert_ptr_equal(found.initial, initial);
	assert_ptr_equal(found.meaning, row->meaning);
	assert_int_equal(found.needs_restart, config_setting_is_fixed(row));
	assert_int_equal(found.position.line, line);
	config_explanation_clear(&found);
}

/* Everybody may read all but what may be a password, of which it is said that there is one. */
static void check_public(const struct tried *tried, struct str value)
{
	struct buffer public CLEANUP(buffer_clear) = {0};
	struct str found;

	config_print_public(tried->config, &public);
	found = find_of(tried, buffer_view(&public));
	if (!tried->row->is_secret)
		check_same(found, value, name_of_setting(tried));
	else if (tried->row->type->is_list)
		check_same(found,
			   memmem(value.data, value.length, ", ", 2) != NULL
				   ? STR("{ \"" CONFIG_HIDDEN "\", \"" CONFIG_HIDDEN "\" }")
				   : STR("{ \"" CONFIG_HIDDEN "\" }"),
			   name_of_setting(tried));
	else
		check_same(found, STR("\"" CONFIG_HIDDEN "\""), name_of_setting(tried));
}

/* The line of a setting, also where the text has come from another file. */
static void check_position(const struct tried *tried)
{
	struct buffer marked CLEANUP(buffer_clear) = {0};
	struct config_position position =
		config_setting_position(buffer_view(&tried->text), name_of_setting(tried));

	assert_int_equal(position.line, tried->line);
	assert_int_equal(position.file.length, 0);
	buffer_append_string(&marked, "#\f41 other.conf\n");
	buffer_append_str(&marked, buffer_view(&tried->text));
	position = config_setting_position(buffer_view(&marked), name_of_setting(tried));
	assert_int_equal(position.line, tried->line + 40);
	check_same(position.file, STR("other.conf"), name_of_setting(tried));
}

/* What is explained where the setting is left out, and may be. */
static void check_left_out(const struct tried *tried, struct str before)
{
	unsigned above = tried->example->section == CONFIG_SECTION_ROOT ? 0 : tried->line - 1;
	struct str bare = buffer_view(&tried->bare);
	struct config_problems problems;
	struct config *config = NULL;

	if (config_parse("t", bare, &config, &problems) == 0) {
		check_explained(tried, config, bare, before, 0);
		assert_int_equal(config_setting_position(bare, name_of_setting(tried)).line, above);
	}
	config_problems_clear(&problems);
	config_free(config);
}

/* False: the value is the default, so that it says little. */
static bool check_setting(const struct tried *tried)
{
	struct buffer whole CLEANUP(buffer_clear) = {0};
	struct buffer again CLEANUP(buffer_clear) = {0};
	struct buffer silent CLEANUP(buffer_clear) = outcome_of(buffer_view(&tried->bare));
	struct str before = find_of(tried, buffer_view(&silent));
	struct str value;
	bool is_default;

	config_print(tried->config, &whole);
	value = find_of(tried, buffer_view(&whole));
	if (value.data == NULL)
		fail_msg("%s is not printed", name_of_setting(tried));
	is_default = before.data != NULL && str_equal(before, value);
	if (!tried->row->type->is_secret) {
		again = outcome_of(buffer_view(&whole));
		check_same(buffer_view(&again), buffer_view(&whole), name_of_setting(tried));
	}
	check_changed(tried, buffer_view(&whole), value, is_default);
	check_explained(tried, tried->config, buffer_view(&tried->text), value, tried->line);
	check_public(tried, value);
	check_position(tried);
	check_left_out(tried, before);
	return !is_default;
}

/* Whether the setting accepts VALUE in EXAMPLE; the caller clears TRIED in either case. */
static bool try_value(struct tried *tried, struct str value)
{
	struct config_problems problems;
	bool is_right =
		config_parse("t", text_of(tried->example, tried->row->name, value, &tried->text),
			     &tried->config, &problems) == 0;

	config_problems_clear(&problems);
	return is_right;
}

static bool check_value(const struct example *example, const struct config_setting *row,
			struct str value)
{
	struct tried tried = {.example = example, .row = row};
	bool is_checked = false;

	tried.line = count_lines(example->before) + 2;
	(void)text_of(example, NULL, STR(""), &tried.bare);
	if (try_value(&tried, value))
		is_checked = check_setting(&tried);
	config_free(tried.config);
	buffer_clear(&tried.text);
	buffer_clear(&tried.bare);
	return is_checked;
}

enum { ENOUGH = 2 }; /* values of a setting, and examples */

/* Whether its type takes VALUE: then it is worth to look at a whole configuration. */
static bool is_of_type(const struct config_setting *row, const char *value)
{
	unsigned char place[TYPE_VALUE_SIZE_MAX] __attribute__((aligned(16)));

	return parse_exactly(row, usual, str_from(value), place).message == NULL;
}

/* The words that it takes, each of VALUES, and two of them in a list. */
static size_t check_row_in(const struct example *example, const struct config_setting *row)
{
	const char *accepted[ENOUGH];
	size_t count = 0;

	for (const struct config_word *word = row->words; word != NULL && word->name != NULL;
	     word++)
		count += check_value(example, row, str_from(word->name));
	for (size_t i = 0; i < COUNT_OF(values) && count < ENOUGH && row->words == NULL; i++) {
		char quoted[200];

		snprintf(quoted, sizeof quoted, "\"%s\"", values[i]);
		if (is_of_type(row, values[i]) && check_value(example, row, str_from(quoted)))
			accepted[count++] = values[i];
	}
	if (row->type->is_list && count == ENOUGH && row->words == NULL) {
		char list[400];

		snprintf(list, sizeof list, "{ \"%s\", \"%s\" }", accepted[0], accepted[1]);
		(void)check_value(example, row, str_from(list));
	}
	return count;
}

/* Where EXAMPLE sets it already, or NULL. */
static char *find_given(const struct example *example, const struct config_setting *row)
{
	char name[100];
	char *body = strrchr(example->before, '{');

	snprintf(name, sizeof name, " %s = ", row->name);
	return example->section == CONFIG_SECTION_ROOT ? NULL : strstr(body, name);
}

/* EXAMPLE without what it sets, in BEFORE. */
static struct example without_given(const struct example *example, const char *given, char *before)
{
	struct example without = *example;
	size_t length = (size_t)(given - example->before);
	const char *rest = strchr(strchr(given, '=') + 2, ' ');

	memcpy(before, example->before, length);
	strcpy(before + length, rest);
	without.before = before;
	without.without = NULL;
	return without;
}

static size_t check_row(const struct config_setting *row)
{
	size_t count = 0;
	size_t tried = 0;

	for (size_t i = 0; i < COUNT_OF(examples) && tried < ENOUGH; i++) {
		struct example example = examples[i];
		const char *given;
		size_t in_this;
		char before[400];

		if (example.section != row->section)
			continue;
		given = find_given(&example, row);
		if (given != NULL)
			example = without_given(&example, given, before);
		in_this = check_row_in(&example, row);
		tried += in_this > 0;
		count += in_this;
	}
	return count;
}

/* Each example has one already. */
static bool is_host_name(const struct config_setting *row)
{
	return row->section == CONFIG_SECTION_ROOT && strcmp(row->name, "hostname") == 0;
}

static void each_setting_says_what_was_written(void **state)
{
	size_t failed = 0;

	(void)state;
	usual = config_of(HOST BOX);
	for (unsigned i = CONFIG_SECTION_ROOT; i < CONFIG_SECTION_COUNT; i++) {
		struct config_rows rows = {.section = (enum config_section)i};
		const struct config_setting *row;

		while ((row = config_rows_next(&rows)) != NULL)
			if (check_row(row) == 0 && !is_host_name(row)) {
				print_error("%s.%s is tried with nothing\n",
					    config_section_info(row->section)->name, row->name);
				failed++;
			}
	}
	config_free(usual);
	assert_int_equal(failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_setting_says_what_was_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
