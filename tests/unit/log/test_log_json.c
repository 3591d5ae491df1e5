// SPDX-License-Identifier: ISC
/* Log lines in JSON as they are read: each escaped character, each byte after a backslash, each
 * beginning of a line, as many fields as there may be. */
#include "base/buffer.h"
#include "log/internal.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

static struct log_line line;

static bool parse(struct arena *arena, const char *text)
{
	memset(&line, 0x5a, sizeof line); /* of a line before */
	return log_line_parse_json(arena, str_from(text), &line);
}

/* From the table of RFC 3629 section 3. */
static void append_utf8(unsigned code, char out[4])
{
	static const struct {
		unsigned last, first_byte, bytes;
	} rows[] = {{0x7f, 0x00, 1}, {0x7ff, 0xc0, 2}, {0xffff, 0xe0, 3}};
	size_t row = code <= rows[0].last ? 0 : code <= rows[1].last ? 1 : 2;

	memset(out, 0, 4);
	for (unsigned i = rows[row].bytes; i-- > 1; code /= 64)
		out[i] = (char)(0x80 + code % 64);
	out[0] = (char)(rows[row].first_byte + code);
}

static void each_escaped_character(void **state)
{
	struct arena *arena = arena_new();

	(void)state;
	for (unsigned code = 1; code <= 0xffff; code++) {
		char text[60], expected[20], utf8[4];
		bool is_half = code >= 0xd800 && code <= 0xdfff;

		snprintf(text, sizeof text,
			 code % 2 == 0 ? "{\"k\":\"a\\u%04xb\"}" : "{\"k\":\"a\\u%04Xb\"}", code);
		assert_int_equal(parse(arena, text), !is_half);
		append_utf8(code, utf8);
		snprintf(expected, sizeof expected, "a%sb", utf8);
		if (!is_half && !str_equal(line.pairs[0].value, str_from(expected)))
			fail_msg("%x", code);
		arena_reset(arena);
	}
	arena_free(arena);
}

static void each_escaped_byte(void **state)
{
	struct arena *arena = arena_new();

	(void)state;
	for (int byte = 1; byte < 256; byte++) {
		char text[40], expected[] = {'x', (char)byte, 'y', '\0'};

		if (byte == 'u')
			continue;
		if (byte == 'n')
			expected[1] = '\n';
		snprintf(text, sizeof text, "{\"k\":\"x\\%cy\"}", byte);
		assert_true(parse(arena, text));
		assert_true(str_equal(line.pairs[0].value, str_from(expected)));
		assert_false(line.pairs[0].is_number);
		/* one that is not escaped stays as it is, but ends the text */
		snprintf(text, sizeof text, "{\"k\":\"x%cy\"}", byte);
		if (byte != '"' && byte != '\\') {
			expected[1] = (char)byte;
			assert_true(parse(arena, text));
			assert_true(str_equal(line.pairs[0].value, str_from(expected)));
		}
	}
	arena_free(arena);
}

static void each_beginning_is_malformed(void **state)
{
	static const char whole[] = "{\"time\":\"a\\u00e4\\\"\",\"number\":-12.5,\"s\":\"\"}";
	struct arena *arena = arena_new();

	(void)state;
	for (size_t length = 0; length < sizeof whole - 1; length++)
		assert_false(log_line_parse_json(arena, str_slice(whole, length), &line));
	assert_true(parse(arena, whole));
	assert_int_equal(line.count, 3);
	assert_true(str_equal(line.pairs[0].key, STR("time")));
	assert_true(str_equal(line.pairs[0].value, STR("a\xc3\xa4\"")));
	assert_true(str_equal(line.pairs[1].key, STR("number")));
	assert_true(str_equal(line.pairs[1].value, STR("-12.5")));
	assert_true(line.pairs[1].is_number && !line.pairs[0].is_number &&
		    !line.pairs[2].is_number);
	assert_int_equal(line.pairs[2].value.length, 0);
	arena_free(arena);
}

static void what_is_no_line(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"{}",
		"[\"k\":1]",
		"{k:1}",
		"{\"k\"1}",
		"{\"k\":}",
		"{\"k\":,\"l\":1}",
		"{\"k\":1,}",
		"{\"k\":1;",
		"{\"k\":\"\\u\"}",
		"{\"k\":\"\\u12\"}",
		"{\"k\":\"\\u12g4\"}",
		"{\"k\":\"\\u-123\"}",
	};
	struct arena *arena = arena_new();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (parse(arena, texts[i]))
			fail_msg("%s", texts[i]);
	arena_free(arena);
}

static void as_many_fields_as_may_be(void **state)
{
	struct arena *arena = arena_new();

	(void)state;
	for (unsigned count = 1; count <= LOG_LINE_FIELDS_MAX + 1; count++) {
		struct buffer text = {0};

		for (unsigned i = 0; i < count; i++)
			buffer_append_format(&text, "%c\"k%u\":%u", i == 0 ? '{' : ',', i, i);
		buffer_append_format(&text, "}%c", '\0');
		assert_int_equal(parse(arena, buffer_data(&text)), count <= LOG_LINE_FIELDS_MAX);
		if (count <= LOG_LINE_FIELDS_MAX)
			assert_int_equal(line.count, count);
		buffer_clear(&text);
	}
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_escaped_character),      cmocka_unit_test(each_escaped_byte),
		cmocka_unit_test(each_beginning_is_malformed), cmocka_unit_test(what_is_no_line),
		cmocka_unit_test(as_many_fields_as_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
