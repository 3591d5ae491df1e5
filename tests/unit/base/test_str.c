// SPDX-License-Identifier: ISC
/* Text of up to three bytes, all of those at the edges of letters, digits and blanks, against what
 * C itself says. */
#include "base/attributes.h"
#include "base/str.h"
#include "test.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LENGTH_MAX = 3 };

/* Each byte that is an edge of a range, and one beyond. */
static const char EDGES[] = "@AFGZ[`afgz{/09: \t!\x1f\xc1\xe1";

/* The next text, in an order of its own, in exactly as much memory as it has bytes; false after the
 * last one. */
struct texts {
	size_t number;
	size_t length;
	size_t count; /* of this length */
	char *memory;
};

static bool next_text(struct texts *texts, struct str *text_out)
{
	size_t rest;

	free(texts->memory);
	texts->memory = NULL;
	if (texts->count == 0)
		texts->count = 1;
	if (texts->number == texts->count) {
		texts->number = 0;
		texts->length++;
		texts->count *= sizeof EDGES - 1;
	}
	if (texts->length > LENGTH_MAX)
		return false;
	texts->memory = malloc(texts->length);
	rest = texts->number++;
	for (size_t i = 0; i < texts->length; i++, rest /= sizeof EDGES - 1)
		texts->memory[i] = EDGES[rest % (sizeof EDGES - 1)];
	*text_out = str_slice(texts->memory, texts->length);
	return true;
}

static bool is_number(const char *text, int base)
{
	for (const char *c = text; *c != '\0'; c++)
		if (base == 10 ? !isdigit((unsigned char)*c) : !isxdigit((unsigned char)*c))
			return false;
	return *text != '\0';
}

static void check_number(struct str text, int base, bool (*read)(struct str, uint64_t *))
{
	char string[LENGTH_MAX + 1] = {0};
	uint64_t value = 77;

	memcpy(string, text.data, text.length);
	assert_int_equal(read(text, &value), is_number(string, base));
	assert_int_equal(value, is_number(string, base) ? strtoull(string, NULL, base) : 77);
}

/* TRIMMED is TEXT without bytes of SET at both ends. */
static void check_trimmed(struct str text, struct str trimmed, const char *set)
{
	size_t before = 0;
	size_t end = text.length;

	while (before < text.length && str_is_one_of(text.data[before], set))
		before++;
	while (end > before && str_is_one_of(text.data[end - 1], set))
		end--;
	assert_int_equal(trimmed.length, end - before);
	assert_ptr_equal(trimmed.data, text.data + before);
}

static void check_lower(struct str text)
{
	char copy[LENGTH_MAX + 2] = "ZZZZ";

	memcpy(copy, text.data, text.length);
	str_lower(copy, text.length);
	for (size_t i = 0; i < text.length; i++)
		assert_int_equal(copy[i], (char)tolower((unsigned char)text.data[i]));
	assert_int_equal(copy[text.length], 'Z'); /* nothing beyond it */
	assert_true(str_equal_nocase(text, str_slice(copy, text.length)));
}

static void short_texts_are_read_as_c_reads_them(void **state)
{
	struct texts texts = {0};
	struct str text;

	(void)state;
	while (next_text(&texts, &text)) {
		check_number(text, 10, str_to_u64);
		check_number(text, 16, str_to_u64_hex);
		check_trimmed(text, str_trim(text), " \t");
		check_trimmed(text, str_trim_folds(text), " \t\r\n");
		check_lower(text);
		for (size_t i = 0; i < sizeof EDGES - 1; i++) {
			const char *first =
				text.length > 0 ? memchr(text.data, EDGES[i], text.length) : NULL;
			const char *last =
				text.length > 0 ? memrchr(text.data, EDGES[i], text.length) : NULL;

			assert_int_equal(str_find(text, EDGES[i]),
					 first != NULL ? first - text.data : -1);
			assert_int_equal(str_find_last(text, EDGES[i]),
					 last != NULL ? last - text.data : -1);
		}
	}
}

static void check_pair(struct str a, struct str b)
{
	bool is_same = a.length == b.length && strncasecmp(a.data, b.data, a.length) == 0;
	bool ends = a.length >= b.length &&
		    strncasecmp(a.data + a.length - b.length, b.data, b.length) == 0;
	bool starts = a.length >= b.length && memcmp(a.data, b.data, b.length) == 0;

	assert_int_equal(str_equal_nocase(a, b), is_same);
	assert_int_equal(str_ends_with_nocase(a, b), ends);
	assert_int_equal(str_starts_with(a, b), starts);
	assert_int_equal(str_equal(a, b), starts && a.length == b.length);
}

static void pairs_of_short_texts_are_compared(void **state)
{
	struct texts first = {0};
	struct str a;

	(void)state;
	while (next_text(&first, &a) && a.length <= 2) {
		struct texts second = {0};
		struct str b;

		while (next_text(&second, &b) && b.length <= 2)
			check_pair(a, b);
		free(second.memory);
	}
	free(first.memory);
}

static void what_is_skipped_is_at_most_all(void **state)
{
	(void)state;
	for (size_t length = 0; length <= 8; length++) {
		for (size_t count = 0; count <= 9; count++) {
			struct str text = str_slice("abcdefgh", length);
			struct str rest = str_skip(text, count);

			assert_int_equal(rest.length, count < length ? length - count : 0);
			assert_ptr_equal(rest.data, text.data + (count < length ? count : length));
		}
	}
	assert_null(str_skip(str_slice(NULL, 0), 1).data);
}

/* Pieces joined again are the text. */
/* Each byte, alone and behind a byte that is of the class. */
static void classes_of_bytes_are_those_of_c(void **state)
{
	(void)state;
	for (unsigned byte = 0; byte < 256; byte++) {
		char data[] = {'0', (char)byte};
		struct str text = str_slice(data, 2);

		assert_int_equal(str_is_blank(data[1]), byte < 128 && isblank((int)byte) != 0);
		assert_int_equal(str_is_digit(data[1]), byte < 128 && isdigit((int)byte) != 0);
		assert_int_equal(str_is_one_of(data[1], "ab"), byte == 'a' || byte == 'b');
		assert_int_equal(str_is_ascii(text), byte < 128);
		assert_int_equal(str_has_control(text), byte < 128 && iscntrl((int)byte) != 0);
		assert_int_equal(str_is_digits(text), byte < 128 && isdigit((int)byte) != 0);
	}
	for (size_t length = 0; length <= 40; length++) { /* it is looked at in words */
		for (size_t at = 0; at < length; at++) {
			char data[40];

			memset(data, 'a', sizeof data);
			assert_true(str_is_ascii(str_slice(data, length)));
			data[at] = (char)0x80;
			assert_false(str_is_ascii(str_slice(data, length)));
			assert_true(str_is_ascii(str_slice(data, at)));
		}
	}
	assert_true(str_is_ascii(STR("")));
	assert_false(str_has_control(STR("")));
	assert_false(str_is_digits(STR("")));
}

static void pieces_are_the_text_again(void **state)
{
	struct texts texts = {0};
	struct str text;

	(void)state;
	while (next_text(&texts, &text)) {
		struct str rest = text;
		struct str piece;
		size_t position = 0;
		size_t count = 0;

		while (str_split(&rest, 'A', &piece)) {
			count++;
			assert_ptr_equal(piece.data, text.data + position);
			assert_int_equal(str_find(piece, 'A'), -1);
			position += piece.length;
			if (position < text.length)
				assert_int_equal(text.data[position], 'A');
			position++;
			assert_int_equal(rest.data == NULL, position > text.length);
			assert_int_equal(rest.length,
					 position > text.length ? 0 : text.length - position);
		}
		assert_int_equal(position, text.length + 1);
		assert_int_equal(str_count_pieces(text, 'A'), count);
	}
}

static void numbers_are_read_up_to_the_largest(void **state)
{
	uint64_t value = 5;

	(void)state;
	assert_true(str_to_u64_hex(STR("ffffFFFFffffFFFF"), &value));
	assert_true(value == UINT64_MAX);
	assert_false(str_to_u64_hex(STR("10000000000000000"), &value));
	assert_false(str_to_u64(STR("18446744073709551620"), &value));
	assert_true(value == UINT64_MAX);
	assert_true(str_to_u64(STR("00000000000000000000018446744073709551614"), &value));
	assert_true(value == UINT64_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_texts_are_read_as_c_reads_them),
		cmocka_unit_test(pairs_of_short_texts_are_compared),
		cmocka_unit_test(what_is_skipped_is_at_most_all),
		cmocka_unit_test(classes_of_bytes_are_those_of_c),
		cmocka_unit_test(pieces_are_the_text_again),
		cmocka_unit_test(numbers_are_read_up_to_the_largest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
