// SPDX-License-Identifier: ISC
/* JSON is read as another library reads it: texts by hand, and all texts of a few pieces. */
#include "base/text/json_read.h"
#include "test.h"
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static json_t *load(struct str text)
{
	json_error_t error;

	return json_loadb(text.data, text.length, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
}

static void compare(struct str value, const json_t *expected);

static void compare_object(struct str value, json_t *expected)
{
	struct json_walk walk = json_walk_begin(value);
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct str name;
	struct str member;

	while (json_walk_next(&walk, &name, &member)) {
		buffer_reset(&text);
		assert_true(json_text(name, &text));
		buffer_append_byte(&text, '\0');
		assert_non_null(json_object_get(expected, buffer_data(&text)));
		compare(json_member(value, buffer_data(&text)),
			json_object_get(expected, buffer_data(&text)));
	}
	assert_int_equal(json_member(value, "no such member").length, 0);
}

static void compare_array(struct str value, const json_t *expected)
{
	struct json_walk walk = json_walk_begin(value);
	struct str name;
	struct str item;
	size_t count = 0;

	while (json_walk_next(&walk, &name, &item)) {
		assert_int_equal(name.length, 0);
		compare(item, json_array_get(expected, count++));
	}
	assert_int_equal(count, json_array_size(expected));
}

static void compare(struct str value, const json_t *expected)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	uint64_t number;

	assert_true(json_is_valid(value));
	assert_int_equal(json_text(value, &text), json_is_string(expected));
	if (json_is_string(expected))
		assert_true(str_equal(buffer_view(&text),
				      str_slice(json_string_value(expected),
						json_string_length(expected))));
	if (json_is_integer(expected) && json_integer_value(expected) >= 0 && value.data[0] != '-') {
		assert_true(json_number(value, &number));
		assert_int_equal(number, json_integer_value(expected));
	} else {
		assert_false(json_number(value, &number));
	}
	if (json_is_object(expected))
		compare_object(value, (json_t *)(uintptr_t)expected);
	else if (json_is_array(expected))
		compare_array(value, expected);
	else
		assert_int_equal(json_member(value, "a").length, 0);
}

/* The other library wants UTF-8 and pairs of surrogates, too; it reads names that come twice as the
 * last, which is not compared. */
static void check(const char *text)
{
	json_t *expected = load(str_from(text));

	if (json_is_valid(str_from(text)) != (expected != NULL))
		fail_msg("%s", text);
	if (expected != NULL)
		compare(str_trim(str_from(text)), expected);
	json_decref(expected);
}

static void texts_are_read_as_by_another_library(void **state)
{
	static const char *const texts[] = {
		"{}", "[]", " { } ", "[ ]", "\"\"", "0", "-0", "12", "01", "1.5", "1.", "-", "1e5",
		"1e", "1E+5", "true", "nul", "null", "tru", "{\"a\":1}", "{\"a\":1,}", "[1,]", "[,1]",
		"{\"a\" : { \"b\" : [ 1 , \"x\" , null ] } , \"c\" : [] }", "{a:1}", "{\"a\"}",
		"\"\\u00e9\\ud83d\\ude00\\n\\\"\\\\\\/\\b\\f\\r\\t\"", "\"\\ud83d\"", "\"\\ude00\"",
		"\"\\ud83d\\u0041\"", "\"\\u12\"", "\"\\x\"", "\"\x01\"", "\"\xc3\xa9\"", "\"\xff\"",
		"\"\xed\xa0\x80\"", "[1][2]", "[1] x", "", " ", "{\"\\u0061\":2}", "[[[[1]]],2]",
		"\"\\u07ff\\u0800\\uffff\"", "[1 2]", "{\"a\":1 \"b\":2}", "[\"a\"}", "{\"a\":1]",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		check(texts[i]);
}

static void each_text_of_pieces(void **state)
{
	static const char *const pieces[] = {"{", "}", "[", "]", ",", ":", "\"a\"", "1", " ", "null"};
	enum { LENGTH = 6 };
	unsigned of[LENGTH];
	unsigned long count = 1;

	(void)state;
	for (unsigned i = 0; i < LENGTH; i++)
		count *= COUNT_OF(pieces);
	for (unsigned long number = 0; number < count; number++) {
		char text[64] = "";
		unsigned long rest = number;

		for (unsigned i = 0; i < LENGTH; i++, rest /= COUNT_OF(pieces))
			of[i] = (unsigned)(rest % COUNT_OF(pieces));
		for (unsigned i = 0; i < LENGTH; i++)
			strcat(text, pieces[of[i]]);
		if (strncmp(text, "{\"a\":1,\"a\"", 10) != 0)
			check(text);
	}
}

static void depth_has_a_bound(void **state)
{
	char text[2 * (JSON_DEPTH_MAX + 1) + 1];

	(void)state;
	for (size_t depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		text[2 * depth] = '\0';
		assert_int_equal(json_is_valid(str_from(text)), depth == JSON_DEPTH_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_read_as_by_another_library),
		cmocka_unit_test(each_text_of_pieces),
		cmocka_unit_test(depth_has_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
