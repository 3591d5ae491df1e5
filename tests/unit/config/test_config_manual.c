// SPDX-License-Identifier: ISC
/* The manual page of the settings, against a second, plain form of the table; and the example in
 * it, which must be a configuration. */
#include "base/text/mdoc.h"
#include "config/schema/schema.h"
#include "config_outcome.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS ".Sh SETTINGS\n"

/* Appends what the arguments are together, as running text. */
#define APPEND_TEXT(out, ...)                                    \
	do {                                                     \
		char *text_;                                     \
		assert_true(asprintf(&text_, __VA_ARGS__) >= 0); \
		mdoc_append_text(out, text_);                    \
		free(text_);                                     \
	} while (0)

static char *text_of_buffer(struct buffer *buffer)
{
	buffer_append_byte(buffer, '\0');
	return buffer_data(buffer);
}

static void append_plain_setting(const struct config_setting *row, struct buffer *out)
{
	struct buffer allowed CLEANUP(buffer_clear) = {0};
	struct buffer kinds CLEANUP(buffer_clear) = {0};
	const char *initial = row->computed != NULL ? row->computed : row->initial;

	buffer_append_format(out, ".It Ic %s No = Ar %s\n", row->name, row->type->name);
	if (row->kinds != 0) {
		config_setting_kinds(row, &kinds);
		APPEND_TEXT(out, "For %s.", text_of_buffer(&kinds));
	}
	mdoc_append_text(out, row->meaning);
	config_setting_allowed(row, &allowed);
	APPEND_TEXT(out, "%s: %s.", row->type->is_list ? "Each value" : "Value",
		    text_of_buffer(&allowed));
	if (initial == NULL)
		mdoc_append_text(out, "Must be set.");
	else
		APPEND_TEXT(out, "Default: %s.", *initial != '\0' ? initial : "empty");
	if (config_setting_is_fixed(row))
		mdoc_append_text(out, "Another value needs a restart.");
}

static void append_plain_section(enum config_section section, struct buffer *out)
{
	const struct config_section_info *info = config_section_info(section);
	struct config_rows rows = {.section = section};
	const struct config_setting *row;

	if (section == CONFIG_SECTION_ROOT)
		buffer_append_string(out, ".Ss Outside of every section\n");
	else if (*info->title != '\0')
		buffer_append_format(out, ".Ss %s %s { ... }\n", info->name, info->title);
	else
		buffer_append_format(out, ".Ss %s { ... }\n", info->name);
	mdoc_append_text(out, info->meaning);
	buffer_append_string(out, ".Bl -tag -width Ds\n");
	while ((row = config_rows_next(&rows)) != NULL)
		append_plain_setting(row, out);
	buffer_append_string(out, ".El\n");
}

static void the_manual_has_every_setting(void **state)
{
	struct buffer manual CLEANUP(buffer_clear) = {0};
	struct buffer plain CLEANUP(buffer_clear) = {0};
	const char *found;

	(void)state;
	config_print_manual(&manual);
	found = strstr(text_of_buffer(&manual), SETTINGS);
	assert_non_null(found);
	for (unsigned i = CONFIG_SECTION_ROOT; i < CONFIG_SECTION_COUNT; i++)
		append_plain_section((enum config_section)i, &plain);
	assert_string_equal(found + strlen(SETTINGS), text_of_buffer(&plain));
}

/* What a page of the manual has to begin with, in this order. */
static const char *const head[] = {
	".\\\" SPDX-License-Identifier: ISC\n",
	"\n.Dd ",
	"\n.Dt STAGEPOST.CONF 5\n",
	"\n.Os\n",
	"\n.Sh NAME\n",
	"\n.Nm stagepost.conf\n",
	"\n.Nd ",
	"\n.Sh DESCRIPTION\n",
};

static void the_manual_has_its_head(void **state)
{
	struct buffer manual CLEANUP(buffer_clear) = {0};
	const char *at;

	(void)state;
	config_print_manual(&manual);
	at = text_of_buffer(&manual);
	assert_int_equal(strncmp(at, head[0], strlen(head[0])), 0);
	for (size_t i = 0; i < COUNT_OF(head); i++) {
		at = strstr(at, head[i]);
		if (at == NULL)
			fail_msg("%s is missing, or elsewhere", head[i]);
	}
}

static void the_example_is_a_configuration(void **state)
{
	static const char begin[] = ".Bd -literal -offset indent\n";
	struct buffer manual CLEANUP(buffer_clear) = {0};
	struct config *config;
	char *example;
	char *end;

	(void)state;
	config_print_manual(&manual);
	example = strstr(text_of_buffer(&manual), begin);
	assert_non_null(example);
	example += strlen(begin);
	end = strstr(example, ".Ed\n");
	assert_non_null(end);
	*end = '\0';
	config = config_of(example);
	assert_int_equal(config->listen_count, 1);
	assert_int_equal(config->service_count, 1);
	assert_int_equal(config->domain_count, 1);
	config_free(config);
}

/* --- kinds and lists --- */

/* A row is for the kinds whose bit it has, of which each is named once. */
static void the_kinds_of_a_setting_are_named(void **state)
{
	size_t count = 0;

	(void)state;
	for (unsigned i = CONFIG_SECTION_ROOT; i < CONFIG_SECTION_COUNT; i++) {
		struct config_rows rows = {.section = (enum config_section)i};
		const char *kind = config_section_info((enum config_section)i)->kind;
		const struct config_setting *row;

		while ((row = config_rows_next(&rows)) != NULL) {
			struct buffer said CLEANUP(buffer_clear) = {0};
			struct buffer plain CLEANUP(buffer_clear) = {0};
			const struct config_word *word;

			if (row->kinds == 0)
				continue;
			buffer_append_format(&plain, "%s =", kind);
			word = config_setting_find((enum config_section)i, str_from(kind))->words;
			for (; word->name != NULL; word++)
				if ((row->kinds >> word->value & 1) != 0)
					buffer_append_format(&plain, " %s,", word->name);
			config_setting_kinds(row, &said);
			buffer_append_byte(&said, ',');
			assert_string_equal(text_of_buffer(&said), text_of_buffer(&plain));
			count++;
		}
	}
	assert_true(count > 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_manual_has_every_setting),
		cmocka_unit_test(the_manual_has_its_head),
		cmocka_unit_test(the_example_is_a_configuration),
		cmocka_unit_test(the_kinds_of_a_setting_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
