// SPDX-License-Identifier: ISC
#include "base/arena.h"
#include "base/buffer.h"
#include "base/checksum.h"
#include "base/hash.h"
#include "base/heap.h"
#include "base/text/base64.h"
#include "base/text/mdoc.h"
#include "base/text/quote.h"
#include "base/timestamp.h"
#include "test.h"
#include <string.h>
#include <time.h>

/* RFC 4648 section 10, and every byte. */
static void base64_is_what_it_stands_for(void **state)
{
	static const struct {
		const char *bytes;
		const char *text;
	} cases[] = {{"", ""},
		     {"f", "Zg=="},
		     {"fo", "Zm8="},
		     {"foo", "Zm9v"},
		     {"foob", "Zm9vYg=="},
		     {"fooba", "Zm9vYmE="},
		     {"foobar", "Zm9vYmFy"}};
	struct buffer all = {0};
	struct buffer text = {0};
	struct buffer back = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		buffer_reset(&text);
		buffer_reset(&back);
		base64_append(&text, str_from(cases[i].bytes));
		assert_true(str_equal(buffer_view(&text), str_from(cases[i].text)));
		assert_true(base64_decode(buffer_view(&text), &back));
		assert_true(str_equal(buffer_view(&back), str_from(cases[i].bytes)));
	}
	buffer_reset(&text);
	buffer_reset(&back);
	for (unsigned i = 0; i < 256; i++)
		buffer_append_byte(&all, (char)i);
	base64_append(&text, buffer_view(&all));
	assert_true(base64_decode(buffer_view(&text), &back));
	assert_true(str_equal(buffer_view(&back), buffer_view(&all)));
	buffer_clear(&all);
	buffer_clear(&text);
	buffer_clear(&back);
}

static void what_is_not_base64_is_refused(void **state)
{
	static const char *const wrong[] = {
		"Zg",   "Zg=",  "Zg===", "Zh==",   "Zm9=", "Zm8",      "=",
		"====", "Z===", "Zm 8",  "Zm8=\n", "Zm-_", "Zg==Zg==", "Zm\3778"};
	struct buffer out = {0};

	(void)state;
	buffer_append_string(&out, "x");
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		assert_false(base64_decode(str_from(wrong[i]), &out));
		assert_true(str_equal(buffer_view(&out), STR("x")));
	}
	assert_false(base64_decode_url(STR("Zg=="), &out));
	assert_false(base64_decode_url(STR("Zh"), &out));
	assert_false(base64_decode_url(STR("+/8"), &out));
	assert_true(base64_decode_url(STR("-_8"), &out));
	assert_true(str_equal(buffer_view(&out), STR("x\xfb\xff")));
	buffer_clear(&out);
}

static void str_numbers_are_checked(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t value;
	} cases[] = {
		{"0", true, 0},
		{"18446744073709551615", true, UINT64_MAX},
		{"18446744073709551616", false, 0},
		{"", false, 0},
		{"1a", false, 0},
		{"-1", false, 0},
		{" 1", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		uint64_t value = 0;

		assert_int_equal(str_to_u64(str_from(cases[i].text), &value), cases[i].ok);
		assert_int_equal(value, cases[i].value);
	}
}

static void str_split_yields_every_piece(void **state)
{
	struct str rest = STR("a,,b");
	struct str piece;

	(void)state;
	assert_true(str_split(&rest, ',', &piece) && str_equal(piece, STR("a")));
	assert_true(str_split(&rest, ',', &piece) && str_equal(piece, STR("")));
	assert_true(str_split(&rest, ',', &piece) && str_equal(piece, STR("b")));
	assert_false(str_split(&rest, ',', &piece));
}

static void buffer_keeps_bytes_in_order(void **state)
{
	struct buffer buffer = {0};
	char expected = 0;
	char next = 0;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		for (int i = 0; i < 7; i++)
			buffer_append_byte(&buffer, next++);
		for (int i = 0; i < 6; i++) {
			assert_int_equal(*buffer_data(&buffer), expected++);
			buffer_consume(&buffer, 1);
		}
	}
	assert_int_equal(buffer.length, 2000);
	buffer_clear(&buffer);
	buffer_append_format(&buffer, "%s %d", "abc", 42);
	assert_true(str_equal(buffer_view(&buffer), STR("abc 42")));
	buffer_clear(&buffer);
}

static void heap_orders_and_removes(void **state)
{
	struct heap heap = {0};
	struct heap_node nodes[500] = {0};
	int64_t last = -1;
	unsigned seed = 1;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(nodes); i++)
		heap_put(&heap, &nodes[i], (int64_t)((seed = seed * 1103515245u + 12345u) >> 8));
	for (size_t i = 0; i < COUNT_OF(nodes); i += 3)
		heap_remove(&heap, &nodes[i]);
	for (size_t i = 1; i < COUNT_OF(nodes); i += 3)
		heap_put(&heap, &nodes[i], (int64_t)i);
	for (size_t left = COUNT_OF(nodes) - 167; left > 0; left--) {
		struct heap_node *first = heap_first(&heap);

		assert_true(first->key >= last);
		last = first->key;
		heap_remove(&heap, first);
		assert_false(heap_has(first));
	}
	assert_null(heap_first(&heap));
	heap_clear(&heap);
}

static void timestamps_survive_a_round(void **state)
{
	static const int64_t times[] = {0, 1, 1795163591482913, INT64_C(4102444800) * SECOND_US};
	char text[TIMESTAMP_SIZE];
	int64_t parsed;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(times); i++) {
		timestamp_format(times[i], text);
		assert_true(timestamp_parse(str_from(text), &parsed));
		assert_int_equal(parsed, times[i]);
	}
	assert_false(timestamp_parse(STR("2026-13-20T08:33:11Z"), &parsed));
	assert_false(timestamp_parse(STR("2026-11-20 08:33:11Z"), &parsed));
	assert_false(timestamp_parse(STR(""), &parsed));
}

/* From 1970 to the last second of 9999. */
static void timestamps_are_those_of_the_c_library(void **state)
{
	char expected[TIMESTAMP_HEADER_SIZE];
	char header[TIMESTAMP_HEADER_SIZE];
	char text[TIMESTAMP_SIZE];

	(void)state;
	for (int64_t second = 0; second <= INT64_C(253402300799); second += 8639997) {
		time_t time = (time_t)second;
		const struct tm *tm = gmtime(&time);

		strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%SZ", tm);
		timestamp_format_seconds(second * SECOND_US, text);
		assert_string_equal(text, expected);
		strftime(expected, sizeof expected, "%a, %d %b %Y %H:%M:%S +0000", tm);
		timestamp_format_header(second * SECOND_US, header);
		assert_string_equal(header, expected);
	}
	timestamp_format_header(INT64_MAX, header);
	assert_string_equal(header, "Fri, 31 Dec 9999 23:59:59 +0000");
}

static void times_of_rfc_3339_are_read(void **state)
{
	static const struct {
		const char *text;
		int64_t seconds; /* -1: none */
	} cases[] = {
		{"2026-11-20T08:33:11Z", 1795163591},
		{"2026-11-20t08:33:11z", 1795163591},
		{"2026-11-20T08:33:11.9999999999Z", 1795163591},
		{"2026-11-20T09:33:11+01:00", 1795163591},
		{"2026-11-20T02:03:11-06:30", 1795163591},
		{"2026-11-21T08:32:11.5+23:59", 1795163591},
		{"2028-02-29T00:00:00Z", 1835395200},
		{"1970-01-01T00:00:00Z", 0},
		{"1970-01-01T00:00:00+00:01", -1},
		{"2026-02-29T00:00:00Z", -1},
		{"2026-04-31T00:00:00Z", -1},
		{"2026-11-20T08:33:60Z", -1},
		{"2026-11-20T24:00:00Z", -1},
		{"2026-11-20T08:33:11", -1},
		{"2026-11-20T08:33:11.", -1},
		{"2026-11-20T08:33:11.Z", -1},
		{"2026-11-20T08:33:11.5", -1},
		{"2026-11-20T08:33:11,5Z", -1},
		{"2026-11-20T08:33:11+1:00", -1},
		{"2026-11-20T08:33:11+01:60", -1},
		{"2026-11-20T08:33:11+24:00", -1},
		{"2026-11-20T08:33:11*01:00", -1},
		{"2026-11-20T08:33:11ZZ", -1},
		{"2026-11-20 08:33:11Z", -1},
		{"", -1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		int64_t parsed = -SECOND_US;
		bool is_good = timestamp_parse_rfc3339(str_from(cases[i].text), &parsed);

		assert_int_equal(is_good, cases[i].seconds >= 0);
		if (is_good)
			assert_int_equal(parsed, cases[i].seconds * SECOND_US);
	}
}

static void round_times_are_ahead(void **state)
{
	(void)state;
	assert_int_equal(timestamp_until_round_us(0, 10), 10);
	assert_int_equal(timestamp_until_round_us(1, 10), 9);
	assert_int_equal(timestamp_until_round_us(9, 10), 1);
	assert_int_equal(timestamp_until_round_us(10, 10), 10);
}

static void cached_timestamps_are_the_same(void **state)
{
	static const int64_t times[] = {
		0,
		1,
		999999,
		SECOND_US,
		SECOND_US - 1,
		1795163591482913,
		1795163591000009,
		1795163591999999,
		1795163592000000,
		1795163591482913,
		-1,
		-2 * SECOND_US,
		INT64_C(253402300800000001),
		INT64_C(253402300800000002),
		INT64_MAX,
		5,
	};
	struct timestamp_cache cache = {0};
	char text[TIMESTAMP_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(times); i++) {
		timestamp_format(times[i], text);
		assert_string_equal(timestamp_format_cached(times[i], &cache), text);
	}
	timestamp_format(1795163591000009, text);
	assert_string_equal(text, "2026-11-20T08:33:11.000009Z");
}

static void mdoc_text_holds_no_requests(void **state)
{
	static const struct {
		const char *text;
		const char *expected;
	} cases[] = {
		{"plain words", "plain words\n"},
		{".Sh NAME", "\\&.Sh NAME\n"},
		{"'br", "\\&'br\n"},
		{"a .b", "a .b\n"},
		{"\\fB --json and -c, well-known", "\\efB \\-\\-json and \\-c, well-known\n"},
		{"One. Two.", "One.\nTwo.\n"},
		{"e.g. this", "e.g. this\n"},
		{"End. .Next", "End. .Next\n"},
		{"", "\n"},
	};
	struct buffer out = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		mdoc_append_text(&out, cases[i].text);
		assert_true(str_equal(buffer_view(&out), str_from(cases[i].expected)));
		buffer_reset(&out);
	}
	mdoc_append_argument(&out, STR("Fl"));
	assert_true(str_equal(buffer_view(&out), STR("\\&Fl")));
	buffer_clear(&out);
}

static void arena_memory_is_zeroed_after_reset(void **state)
{
	struct arena *arena = arena_new();

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (size_t size = 1; size < 5000; size += 97) {
			char *memory = arena_alloc(arena, size);

			for (size_t i = 0; i < size; i++)
				assert_int_equal(memory[i], 0);
			memset(memory, 0xff, size);
		}
		arena_reset(arena);
	}
	arena_free(arena);
}

/* The vectors of SipHash-2-4's authors: the key 00 01 .. 0f, the text 00 01 .. */
static void hashes_are_those_of_siphash(void **state)
{
	static const struct {
		size_t size;
		uint64_t hash;
	} cases[] = {{0, 0x726fdb47dd0e0e31},
		     {1, 0x74f839c593dc67fd},
		     {8, 0x93f5f5799a932462},
		     {15, 0xa129ca6149be45e5}};
	const struct hash_key key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
	unsigned char text[16];

	(void)state;
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (unsigned char)i;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_true(hash_keyed(key, text, cases[i].size) == cases[i].hash);
}

/* The examples of RFC 3720, B.4, and the check value of the catalogues of CRCs. */
static void checksums_are_those_of_crc_32c(void **state)
{
	unsigned char bytes[32];
	unsigned char random[300];

	(void)state;
	assert_true(checksum_extend(0, "123456789", 9) == 0xe3069283);
	assert_true(checksum_extend(0, "", 0) == 0);
	memset(bytes, 0, sizeof bytes);
	assert_true(checksum_extend(0, bytes, sizeof bytes) == 0x8a9136aa);
	memset(bytes, 0xff, sizeof bytes);
	assert_true(checksum_extend(0, bytes, sizeof bytes) == 0x62a8ab43);
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)i;
	assert_true(checksum_extend(0, bytes, sizeof bytes) == 0x46dd794e);
	for (size_t i = 0; i < sizeof random; i++)
		random[i] = (unsigned char)(i * i * 31 + i / 3);
	for (size_t from = 0; from < 9; from++) {
		for (size_t size = 0; from + size <= sizeof random; size++) {
			uint32_t whole = checksum_extend(0, random + from, size);
			uint32_t part = checksum_extend(0, random + from, size / 3);

			assert_true(whole == checksum_extend_by_table(0, random + from, size));
			assert_true(whole == checksum_extend(part, random + from + size / 3,
							     size - size / 3));
		}
	}
}

/* Each process has a key of its own, which is not the first of all. */
static void own_hashes_are_keyed(void **state)
{
	(void)state;
	assert_true(hash_own("stagepost", 9) == hash_own("stagepost", 9));
	assert_true(hash_own("stagepost", 9) !=
		    hash_keyed((struct hash_key){0, 0}, "stagepost", 9));
}

static void quoted_strings_have_a_backslash_before_what_would_end_them(void **state)
{
	static const char *const cases[][2] = {
		{"", "\"\""},
		{"INBOX", "\"INBOX\""},
		{"a \"b\" \\", "\"a \\\"b\\\" \\\\\""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer out = {0};

		quote_append(&out, str_from(cases[i][0]));
		assert_true(str_equal(buffer_view(&out), str_from(cases[i][1])));
		buffer_clear(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(str_numbers_are_checked),
		cmocka_unit_test(base64_is_what_it_stands_for),
		cmocka_unit_test(what_is_not_base64_is_refused),
		cmocka_unit_test(str_split_yields_every_piece),
		cmocka_unit_test(buffer_keeps_bytes_in_order),
		cmocka_unit_test(heap_orders_and_removes),
		cmocka_unit_test(timestamps_survive_a_round),
		cmocka_unit_test(timestamps_are_those_of_the_c_library),
		cmocka_unit_test(times_of_rfc_3339_are_read),
		cmocka_unit_test(round_times_are_ahead),
		cmocka_unit_test(cached_timestamps_are_the_same),
		cmocka_unit_test(mdoc_text_holds_no_requests),
		cmocka_unit_test(arena_memory_is_zeroed_after_reset),
		cmocka_unit_test(hashes_are_those_of_siphash),
		cmocka_unit_test(checksums_are_those_of_crc_32c),
		cmocka_unit_test(own_hashes_are_keyed),
		cmocka_unit_test(quoted_strings_have_a_backslash_before_what_would_end_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
