// SPDX-License-Identifier: ISC
/* Each short text that might be a field, or an encoded word, against a second, plain reading of it;
 * in memory that ends where it does. */
#include "header/field.h"
#include "header/name.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

/* Calls CHECK with BEGIN, each text of up to LONGEST bytes of BYTES, and END. */
static void each_text(const char *begin, const char *bytes, size_t longest, const char *end,
		      void (*check)(struct str text))
{
	size_t kinds = strlen(bytes), before = strlen(begin), after = strlen(end);
	size_t size = before + longest + after;
	char *memory = malloc(size);

	assert_non_null(memory);
	for (size_t length = 0; length <= longest; length++) {
		char *text = memory + longest - length;
		size_t count = 1;

		memcpy(text, begin, before);
		memcpy(memory + size - after, end, after);
		for (size_t i = 0; i < length; i++)
			count *= kinds;
		for (size_t number = 0; number < count; number++) {
			size_t rest = number;

			for (char *c = text + before; c < memory + size - after; c++) {
				*c = bytes[rest % kinds];
				rest /= kinds;
			}
			check(str_slice(text, before + length + after));
		}
	}
	free(memory);
}

/* --- fields: RFC 5322 section 2.2, and 4.5 of spaces before the colon --- */

static void check_field(struct str text)
{
	struct header_field field = {0};
	size_t name = 0, colon;
	bool is_field;

	while (name < text.length && strchr("ab\x7e!", text.data[name]) != NULL)
		name++;
	colon = name;
	while (colon < text.length && strchr(" \t", text.data[colon]) != NULL)
		colon++;
	is_field = name > 0 && colon < text.length && text.data[colon] == ':';
	if (header_field_parse(text, &field) != is_field)
		fail_msg("\"" STR_FORMAT "\"", STR_ARGUMENTS(text));
	if (!is_field)
		return;
	assert_ptr_equal(field.whole.data, text.data);
	assert_int_equal(field.whole.length, text.length);
	assert_int_equal(field.name.length, name);
	assert_ptr_equal(field.body.data, text.data + colon + 1);
	assert_int_equal(field.body.length, text.length - colon - 1 - 2);
}

static void each_field(void **state)
{
	(void)state;
	each_text("", "a!~ \t:\x7f\xc3", 6, "\r\n", check_field);
}

/* --- encoded words: RFC 2047 section 2 --- */

static bool has_any(struct str text, const char *bytes)
{
	for (size_t i = 0; i < text.length; i++)
		if (strchr(bytes, text.data[i]) != NULL)
			return true;
	return false;
}

static void check_word(struct str word)
{
	struct str parts[8];
	size_t count = 0, from = 2;
	bool is_word;

	for (size_t i = 2; i <= word.length - 2 && count < 8; i++)
		if (i == word.length - 2 || word.data[i] == '?') {
			parts[count++] = str_slice(word.data + from, i - from);
			from = i + 1;
		}
	is_word = count == 3 && parts[0].length > 0 && !has_any(parts[0], "( ") &&
		  parts[1].length == 1 && has_any(parts[1], "bqBQ") && parts[2].length > 0 &&
		  !has_any(parts[2], " ") && (has_any(parts[1], "qQ") || !has_any(parts[2], "("));
	if (header_name_is_encoded_word(word) != is_word)
		fail_msg("\"" STR_FORMAT "\"", STR_ARGUMENTS(word));
}

static void each_encoded_word(void **state)
{
	(void)state;
	each_text("=?", "bQx?( ", 7, "?=", check_word);
	each_text("=?x?B?", "bQx?( ", 3, "?=", check_word);
}

static void what_is_no_encoded_word(void **state)
{
	static const char *const words[] = {"",
					    "=?",
					    "=?=",
					    "=?x?q?y?",
					    "x?q?y?=",
					    "=?x?q?y?==",
					    "=?x?q?\xc3\xa9?=",
					    "=?x?q?y\x7f?="};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (header_name_is_encoded_word(str_from(words[i])))
			fail_msg("%s", words[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_field),
		cmocka_unit_test(each_encoded_word),
		cmocka_unit_test(what_is_no_encoded_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
