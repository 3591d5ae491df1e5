// SPDX-License-Identifier: ISC
/* What is written as JSON is read by another library as what it was. */
#include "base/attributes.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "test.h"
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 6 };

static json_t *read_back(const struct buffer *text)
{
	json_error_t error;
	json_t *value = json_loadb(buffer_data(text), text->length,
				   JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);

	if (value == NULL)
		fail_msg("%s: %.*s", error.text, (int)text->length, buffer_data(text));
	return value;
}

static void check_text(struct str text, struct str expected)
{
	struct buffer out = {0};
	json_t *value;
	json_t *string;

	buffer_append_byte(&out, '{');
	json_field_text(&out, "a", text);
	json_field_number(&out, "b", text.length);
	buffer_append_byte(&out, '}');
	for (size_t i = 0; i < out.length; i++) /* a terminal may show it */
		assert_false((unsigned char)buffer_data(&out)[i] < ' ' ||
			     buffer_data(&out)[i] == 0x7f);
	value = read_back(&out);
	string = json_object_get(value, "a");
	assert_true(str_equal(str_slice(json_string_value(string), json_string_length(string)),
			      expected));
	assert_int_equal(json_integer_value(json_object_get(value, "b")), text.length);
	assert_int_equal(json_object_size(value), 2);
	json_decref(value);
	buffer_clear(&out);
}

static void each_byte_is_read_back(void **state)
{
	const struct str unknown = STR("x\xef\xbf\xbdy");

	(void)state;
	for (unsigned byte = 0; byte < 256; byte++) {
		const char text[] = {'x', (char)byte, 'y'};
		struct str whole = str_slice(text, sizeof text);

		check_text(whole, byte < 0x80 ? whole : unknown);
		check_text(str_slice(text, 1), str_slice(text, 1));
	}
	check_text(STR(""), STR(""));
	check_text(STR("\n\"\\\n"), STR("\n\"\\\n"));
}

static size_t put_code_point(unsigned code, char out[4])
{
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

/* Those of the basic plane, also the ones that are escaped. What is cut off is replaced, byte for
 * byte. */
static void characters_are_read_back(void **state)
{
	(void)state;
	for (unsigned code = 0x80; code < 0x10000;
	     code += code < 0x3000 || code > 0xf800 ? 1 : 97) {
		char bytes[4];
		size_t length = put_code_point(code, bytes);

		if (code >= 0xd800 && code < 0xe000)
			continue;
		check_text(str_slice(bytes, length), str_slice(bytes, length));
		for (size_t cut = 1; cut < length; cut++)
			check_text(str_slice(bytes, cut),
				   str_slice("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 3 * cut));
	}
	check_text(STR("\xf0\x9f\x93\xa8"), STR("\xf0\x9f\x93\xa8"));
}

/* STORY: what is written after what, in an object or in an object within an array. */
static void write_story(struct buffer *out, size_t story)
{
	char name[8];

	for (int step = 0; step < STEPS; step++, story /= 4) {
		snprintf(name, sizeof name, "n%d", step);
		if (story % 4 == 0)
			json_field_text(out, name, STR("{"));
		else if (story % 4 == 1)
			json_field_number(out, name, (uint64_t)step);
		else {
			json_field(out, name);
			buffer_append_string(out, story % 4 == 2 ? "[{" : "{");
			json_field_text(out, "inside", STR("["));
			json_field_number(out, "more", 1);
			buffer_append_string(out, story % 4 == 2 ? "}]" : "}");
		}
	}
}

static void commas_are_where_they_belong_in_all_orders(void **state)
{
	(void)state;
	for (size_t story = 0; story < 1u << 2 * STEPS; story++) {
		struct buffer out = {0};
		json_t *value;

		buffer_append_byte(&out, '{');
		write_story(&out, story);
		buffer_append_byte(&out, '}');
		value = read_back(&out);
		assert_int_equal(json_object_size(value), STEPS);
		json_decref(value);
		buffer_clear(&out);
	}
}

/* A part of an object that is written for itself begins with its first name; also in an array,
 * where the object is elsewhere. */
static void a_part_begins_without_a_comma(void **state)
{
	struct buffer out = {0};

	(void)state;
	json_field_number(&out, "a", 1);
	assert_true(str_equal(buffer_view(&out), STR("\"a\":1")));
	buffer_reset(&out);
	buffer_append_byte(&out, '[');
	json_field(&out, "b");
	assert_true(str_equal(buffer_view(&out), STR("[\"b\":")));
	buffer_clear(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_byte_is_read_back),
		cmocka_unit_test(characters_are_read_back),
		cmocka_unit_test(commas_are_where_they_belong_in_all_orders),
		cmocka_unit_test(a_part_begins_without_a_comma),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
