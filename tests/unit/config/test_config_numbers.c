// SPDX-License-Identifier: ISC
/* Numbers and words of every row of the table of settings: those at the bounds and beside them, in
 * each unit, and the value in memory. */
#include "type_text.h"
#include <inttypes.h>
#include <stdio.h>

struct plain_unit {
	char letter;
	uint64_t factor;
};

static const struct plain_unit plain_sizes[] = {
	{'T', 1099511627776}, {'G', 1073741824}, {'M', 1048576}, {'K', 1024}, {'\0', 1}};
static const struct plain_unit plain_times[] = {{'w', 604800}, {'d', 86400}, {'h', 3600},
						{'m', 60},     {'s', 1},     {'\0', 1}};
static const struct plain_unit plain_numbers[] = {{'\0', 1}};

static const struct plain_unit *plain_units_of(const struct config_type *type)
{
	if (type == &config_type_size)
		return plain_sizes;
	return type == &config_type_number ? plain_numbers : plain_times;
}

static void check_number(const struct config_setting *row, const struct config *config,
			 unsigned __int128 count, const struct plain_unit *unit)
{
	unsigned __int128 number = count * unit->factor;
	unsigned char place[TYPE_VALUE_SIZE_MAX] __attribute__((aligned(16)));
	const struct plain_unit *largest = plain_units_of(row->type);
	char text[60], expected[60];
	uint64_t stored = 0;

	if (count > UINT64_MAX) /* none of them is more than one digit above */
		return;
	snprintf(text, sizeof text, "%" PRIu64 "%.1s", (uint64_t)count, &unit->letter);
	while (largest->letter != '\0' && (number == 0 || number % largest->factor != 0))
		largest++;
	if (number < row->min)
		snprintf(expected, sizeof expected, "too small");
	else if (number > row->max)
		snprintf(expected, sizeof expected, "too large");
	else
		snprintf(expected, sizeof expected, "= %" PRIu64 "%.1s",
			 (uint64_t)(number / largest->factor), &largest->letter);
	assert_string_equal(outcome_of_value(row, config, str_from(text)), expected);
	if (expected[0] != '=')
		return;
	assert_null(parse_exactly(row, config, str_from(text), place).message);
	memcpy(&stored, place, row->type->size); /* little-endian, as this machine is */
	assert_true(stored == number * (row->type == &config_type_duration ? 1000000 : 1));
}

static void check_numbers(const struct config_setting *row, const struct config *config)
{
	static const char *const wrong[] = {"",   "s",  "K",   "1x",  "x1", "-1", "+1",
					    " 1", "1 ", "1.5", "1sK", "/",  ":"};
	struct config_setting wide = *row;

	for (const struct plain_unit *unit = plain_units_of(row->type);; unit++) {
		for (int by = -2; by <= 2; by++)
			for (size_t bound = 0; bound < 2; bound++) {
				__int128 count =
					(__int128)((bound ? row->max : row->min) / unit->factor) +
					by;

				if (count >= 0)
					check_number(row, config, (unsigned __int128)count, unit);
			}
		if (unit->letter == '\0')
			break;
	}
	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		assert_string_equal(outcome_of_value(row, config, str_from(wrong[i])),
				    "not a number");
	assert_string_equal(outcome_of_value(row, config, STR("18446744073709551616")),
			    "too large");
	if (row->type == &config_type_size)
		assert_string_equal(outcome_of_value(row, config, STR("16777216T")), "too large");
	if (row->type->size < sizeof(uint64_t) || row->type == &config_type_duration)
		return;
	wide.max = UINT64_MAX;
	assert_string_equal(outcome_of_value(&wide, config, STR("18446744073709551615")),
			    "= 18446744073709551615");
}

static void check_words(const struct config_setting *row, const struct config *config)
{
	for (const struct config_word *word = row->words; word->name != NULL; word++) {
		unsigned char place[TYPE_VALUE_SIZE_MAX] __attribute__((aligned(16)));
		char text[60];
		unsigned value;

		snprintf(text, sizeof text, "= %s", word->name);
		assert_string_equal(outcome_of_value(row, config, str_from(word->name)), text);
		assert_null(parse_exactly(row, config, str_from(word->name), place).message);
		memcpy(&value, place, sizeof value);
		assert_int_equal(value, word->value);
		assert_string_equal(outcome_of_value(row, config,
						     str_slice(word->name, strlen(word->name) - 1)),
				    "unknown word");
		snprintf(text, sizeof text, "%sx", word->name);
		assert_string_equal(outcome_of_value(row, config, str_from(text)), "unknown word");
	}
}

static void numbers_and_words_of_all_rows(void **state)
{
	struct config *config = config_of(HOST);
	size_t numbers = 0, words = 0;

	(void)state;
	for (unsigned section = 0; section < CONFIG_SECTION_COUNT; section++) {
		struct config_rows rows = {.section = (enum config_section)section};
		const struct config_setting *row;

		while ((row = config_rows_next(&rows)) != NULL) {
			if (row->type->units != NULL) {
				check_numbers(row, config);
				numbers++;
			} else if (row->words != NULL) {
				check_words(row, config);
				words++;
			}
		}
	}
	assert_true(numbers > 40 && words > 20);
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_and_words_of_all_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
