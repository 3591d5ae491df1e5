// SPDX-License-Identifier: ISC
/* The directory's frames, as bytes. */
#include "base/panic.h"
#include "chance.h"
#include "directory/wire/frame.h"
#include "test.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void set(struct buffer *buffer, const char *text)
{
	buffer_reset(buffer);
	buffer_append_string(buffer, text);
}

static void what_is_written_is_these_bytes(void **state)
{
	struct directory_frame frame;
	struct buffer out = {0};

	(void)state;
	directory_frame_begin(&frame, &out, "get");
	directory_frame_add_number(&frame, 7);
	directory_frame_add(&frame, STR("route"));
	directory_frame_add(&frame, STR("ann@example.org"));
	directory_frame_end(&frame);
	directory_frame_begin(&frame, &out, "x");
	directory_frame_add_number(&frame, 0);
	directory_frame_add_number(&frame, UINT64_MAX);
	directory_frame_add(&frame, STR(""));
	directory_frame_add_result(&frame, "on", STR("domain d"));
	assert_int_equal(directory_frame_size(&frame), 4 + 4 + 24 + 3 + 15);
	directory_frame_end(&frame);
	assert_true(str_equal(buffer_view(&out),
			      STR("37:3:get,1:7,5:route,15:ann@example.org,,"
				  "50:1:x,1:0,20:18446744073709551615,0:,11:on domain d,,")));
	buffer_clear(&out);
}

static void frames_behind_consumed_bytes_are_whole(void **state)
{
	struct directory_frame frame;
	struct buffer out = {0};

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		directory_frame_begin(&frame, &out, "new");
		directory_frame_add_number(&frame, i);
		directory_frame_end(&frame);
		if (i % 3 == 1) {
			struct str content;
			size_t length;

			assert_int_equal(directory_frame_take(&out, &content, &length), 1);
			buffer_consume(&out, length);
		}
	}
	for (unsigned i = 333; i < 1000; i++) {
		struct str words[3];
		struct str content;
		size_t length;
		uint64_t number;

		assert_int_equal(directory_frame_take(&out, &content, &length), 1);
		assert_int_equal(directory_frame_words(content, words, 3), 2);
		assert_true(str_to_u64(words[1], &number));
		assert_int_equal(number, i);
		buffer_consume(&out, length);
	}
	assert_int_equal(out.length, 0);
	buffer_clear(&out);
}

static void a_frame_is_taken_when_it_is_whole(void **state)
{
	static const struct {
		const char *input;
		int result;
		const char *content;
	} cases[] = {
		{"", 0, NULL},
		{"1", 0, NULL},
		{"12:", 0, NULL},
		{"3:abc", 0, NULL},
		{"3:abc,", 1, "abc"},
		{"3:abc,rest", 1, "abc"},
		{"0:,", 1, ""},
		{"65536:", 0, NULL},
		{"3:abc;", -EINVAL, NULL},
		{":,", -EINVAL, NULL},
		{"03:abc,", -EINVAL, NULL},
		{"00:,", -EINVAL, NULL},
		{"-1:,", -EINVAL, NULL},
		{"a", -EINVAL, NULL},
		{" 1:a,", -EINVAL, NULL},
		{"3abc", -EINVAL, NULL},
		{"65537:", -EMSGSIZE, NULL},
		{"65537", -EMSGSIZE, NULL},
		{"100000", -EMSGSIZE, NULL},
		{"99999999999999999999999:", -EMSGSIZE, NULL},
		{"GET / HTTP/1.1\r\n", -EINVAL, NULL},
	};
	struct buffer input = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct str content = STR("untouched");
		size_t length = 0;

		set(&input, cases[i].input);
		assert_int_equal(directory_frame_take(&input, &content, &length), cases[i].result);
		assert_true(str_equal(
			content, str_from(cases[i].result == 1 ? cases[i].content : "untouched")));
		if (cases[i].result == 1)
			assert_int_equal(length, strlen(cases[i].content) + 3);
	}
	buffer_clear(&input);
}

static void words_are_read_or_refused(void **state)
{
	static const struct {
		const char *content;
		int count;
	} cases[] = {
		{"", 0},
		{"0:,", 1},
		{"1:a,2:bc,", 2},
		{"1:a,1:b,1:c,1:d,", 4},
		{"1:a,1:b,1:c,1:d,1:e,", -E2BIG},
		{"1:a", -EINVAL},
		{"1:a,2:b,", -EINVAL},
		{"1:a,x", -EINVAL},
		{"1:a,1", -EINVAL},
		{"1:a,9:b,", -EINVAL},
		{"1:ab", -EINVAL},
		{"1:a,99999:b,", -EINVAL},
		{"01:a,", -EINVAL},
		{"1:", -EINVAL},
	};
	struct str words[4];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(directory_frame_words(str_from(cases[i].content), words, 4),
				 cases[i].count);
}

static void words_of_any_bytes_come_back(void **state)
{
	static const char bytes[] = "a\0b,5:\n\xff";
	struct directory_frame frame;
	struct buffer out = {0};
	struct str content;
	struct str word;
	size_t length;

	(void)state;
	directory_frame_begin(&frame, &out, "put");
	directory_frame_add(&frame, str_slice(bytes, sizeof bytes - 1));
	directory_frame_end(&frame);
	assert_int_equal(directory_frame_take(&out, &content, &length), 1);
	assert_true(directory_frame_word(&content, &word));
	assert_true(directory_frame_word(&content, &word));
	assert_true(str_equal(word, str_slice(bytes, sizeof bytes - 1)));
	assert_false(directory_frame_word(&content, &word));
	assert_int_equal(content.length, 0);
	buffer_clear(&out);
}

static void the_largest_frame_can_be_written_and_read(void **state)
{
	char *large = memory_alloc_zero(1, DIRECTORY_FRAME_MAX);
	struct directory_frame frame;
	struct buffer out = {0};
	struct str content;
	size_t length;

	(void)state;
	directory_frame_begin(&frame, &out, "");
	directory_frame_add(&frame, str_slice(large, DIRECTORY_FRAME_MAX - 3 - 7));
	assert_int_equal(directory_frame_size(&frame), DIRECTORY_FRAME_MAX);
	directory_frame_end(&frame);
	assert_int_equal(directory_frame_take(&out, &content, &length), 1);
	assert_int_equal(content.length, DIRECTORY_FRAME_MAX);
	assert_int_equal(length, out.length);
	buffer_clear(&out);
	free(large);
}

static void results_come_back(void **state)
{
	static const struct {
		const char *text;
		const char *word;
		const char *rest;
		const char *key; /* NULL: it begins no record */
	} cases[] = {
		{"kind list", "kind", "list", NULL},
		{"kind ", "kind", "", NULL},
		{"kind", "kind", "", NULL},
		{"", "", "", NULL},
		{" x", "", "x", NULL},
		{"text two  words ", "text", "two  words ", NULL},
		{"= a@d", "=", "a@d", "a@d"},
		{"= \"a b\"@d", "=", "\"a b\"@d", "\"a b\"@d"},
		{"= ", "=", "", ""},
		{"=", "=", "", NULL},
		{"=a@d", "=a@d", "", NULL},
		{"== a@d", "==", "a@d", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct str text = str_from(cases[i].text);
		struct str key = STR("untouched");
		struct str word;
		struct str rest;

		directory_frame_split_result(text, &word, &rest);
		assert_true(str_equal(word, str_from(cases[i].word)));
		assert_true(str_equal(rest, str_from(cases[i].rest)));
		assert_int_equal(directory_frame_begins_record(text, &key), cases[i].key != NULL);
		assert_true(str_equal(key, cases[i].key != NULL ? str_from(cases[i].key)
								: STR("untouched")));
	}
}

/* Words have no spaces; what follows may be anything. */
static void results_of_any_bytes_come_back(void **state)
{
	char rest[40];

	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		const char *name = chance(2) == 0 ? DIRECTORY_RECORD_BEGINS : "text";
		struct str value = str_slice(rest, chance(sizeof rest));
		struct buffer out CLEANUP(buffer_clear) = {0};
		struct directory_frame frame;
		struct str words[2];
		struct str content;
		struct str word;
		size_t length;

		for (size_t j = 0; j < value.length; j++)
			rest[j] = (char)(chance(4) == 0 ? ' ' : chance(256));
		directory_frame_begin(&frame, &out, "val");
		directory_frame_add_result(&frame, name, value);
		directory_frame_end(&frame);
		assert_int_equal(directory_frame_take(&out, &content, &length), 1);
		assert_int_equal(directory_frame_words(content, words, 2), 2);
		directory_frame_split_result(words[1], &word, &content);
		assert_true(str_equal(word, str_from(name)) && str_equal(content, value));
		assert_int_equal(directory_frame_begins_record(words[1], &content),
				 *name == *DIRECTORY_RECORD_BEGINS);
		assert_true(str_equal(content, value));
	}
}

static void errors_have_names(void **state)
{
	(void)state;
	for (unsigned i = DIRECTORY_ERROR_LATER; i <= DIRECTORY_ERROR_STORAGE; i++)
		assert_int_equal(directory_error_find(str_from(directory_error_name(i))), i);
	assert_int_equal(directory_error_find(STR("")), DIRECTORY_ERROR_NONE);
	assert_int_equal(directory_error_find(STR("Later")), DIRECTORY_ERROR_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_these_bytes),
		cmocka_unit_test(frames_behind_consumed_bytes_are_whole),
		cmocka_unit_test(a_frame_is_taken_when_it_is_whole),
		cmocka_unit_test(words_are_read_or_refused),
		cmocka_unit_test(words_of_any_bytes_come_back),
		cmocka_unit_test(the_largest_frame_can_be_written_and_read),
		cmocka_unit_test(results_come_back),
		cmocka_unit_test(results_of_any_bytes_come_back),
		cmocka_unit_test(errors_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
